package interop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;

/** Parameter values written as TYPE:VALUE. */
final class Values {
    private Values() {
    }

    static List<Object> parse(String[] parts, int from) {
        List<Object> values = new ArrayList<>();
        for (int i = from; i < parts.length; i++) {
            values.add(parse(parts[i]));
        }
        return values;
    }

    private static Object parse(String part) {
        int colon = part.indexOf(':');
        String type = part.substring(0, colon);
        String value = part.substring(colon + 1);
        return switch (type) {
            case "int" -> Integer.valueOf(value);
            case "long" -> Long.valueOf(value);
            case "byte" -> Byte.valueOf(value);
            case "short" -> Short.valueOf(value);
            case "double" -> Double.valueOf(value);
            case "float" -> Float.valueOf(value);
            case "bool" -> Boolean.valueOf(value);
            case "string" -> value;
            // Types that the protocol cannot carry.
            case "char" -> value.charAt(0);
            case "decimal" -> new BigDecimal(value);
            case "null" -> null;
            default -> throw new IllegalArgumentException("unknown type " + type);
        };
    }
}
