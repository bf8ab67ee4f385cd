package hotspot

import (
	"math"
	"reflect"

	"github.com/tidegate-go/tidegate/chain"
)

// appendValues appends the values of an argument as a token server is asked for them: those that KeysOf finds, in the
// types in which the caller gave them. It allocates nothing where KeysOf does not, if to has room.
func appendValues(to []chain.Arg, arg chain.Arg) (values []chain.Arg, skipped int) {
	if _, ok := ScalarKey(arg); ok {
		return append(to, arg), 0
	}
	skipped = widths(arg, func(key Key, width chain.ArgWidth) bool {
		to = append(to, key.arg(width))
		return true
	})
	return to, skipped
}

// arg returns the key's value as an argument.
func (k Key) arg(width chain.ArgWidth) chain.Arg {
	switch k.class {
	case classInt:
		return chain.Int64("", int64(k.num)).WithWidth(width)
	case classUint:
		return chain.Uint64("", k.num).WithWidth(width)
	case classFloat:
		return chain.Float64("", math.Float64frombits(k.num)).WithWidth(width)
	case classBool:
		return chain.Bool("", k.num == 1)
	case classText, classLong:
		return chain.String("", k.text)
	case classNone, classOther:
	}
	return chain.Any("", k.obj)
}

// widthOf returns the type of a number, as chain.Any does.
func widthOf(kind reflect.Kind) chain.ArgWidth {
	switch kind {
	case reflect.Int8:
		return chain.Width8
	case reflect.Int16:
		return chain.Width16
	case reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Float32:
		return chain.Width32
	case reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float64:
		return chain.Width64
	default:
		return chain.WidthNone
	}
}
