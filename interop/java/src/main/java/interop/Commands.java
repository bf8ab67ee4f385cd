package interop;

import com.alibaba.fastjson.JSONObject;
import com.alibaba.fastjson.serializer.SerializerFeature;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** The commands of a mode: reads lines, answers each with one line of JSON. */
final class Commands {
    /** Carries out one command. What is thrown is answered as {"error": ...}. */
    interface Handler {
        JSONObject handle(String arguments) throws Exception;
    }

    private final Map<String, Handler> handlers = new HashMap<>();

    void add(String name, Handler handler) {
        handlers.put(name, handler);
    }

    void run(InputStream in, PrintStream out) throws IOException {
        PrintStream answers = new PrintStream(out, false, StandardCharsets.UTF_8);
        answer(answers, new JSONObject().fluentPut("ready", true));
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answer(answers, handle(line));
        }
    }

    private JSONObject handle(String line) {
        String[] parts = line.split(" ", 2);
        Handler handler = handlers.get(parts[0]);
        if (handler == null) {
            return error("unknown command " + parts[0]);
        }
        try {
            return handler.handle(parts.length > 1 ? parts[1] : "");
        } catch (Exception e) {
            return error(e.toString());
        }
    }

    static JSONObject done() {
        return new JSONObject().fluentPut("done", true);
    }

    private static JSONObject error(String message) {
        return new JSONObject().fluentPut("error", message);
    }

    private static void answer(PrintStream out, JSONObject answer) {
        out.println(answer.toString(SerializerFeature.WriteMapNullValue));
        out.flush();
    }
}
