package hotspot

import (
	"fmt"
	"math"
	"strconv"

	"github.com/tidegate-go/tidegate/chain"
)

// class says how a key's value is compared. Values of different classes are never equal.
type class uint8

const (
	classNone  class = iota
	classInt         // an integer within the range of int64
	classUint        // an integer above it
	classFloat       // float64, or float32 widened; -0.0 is 0.0 and all NaN are one value
	classBool
	classText
	classOther // compared by Go's ==
	classLong  // a long text as the table keeps it; never the class of a Key
)

// canonicalNaN stands for every NaN, so that NaN is one value and not a new one per call.
const canonicalNaN = 0x7FF8000000000001

// A Key is the canonical form of one argument value; two values are the same hot value if their keys are ==.
// Integers compare by value across all widths and signs, floats likewise; integers, floats, texts and booleans
// stay apart, so 5, 5.0 and "5" are three values. Named types count as their underlying kind.
// The zero Key stands for no value.
type Key struct {
	class class
	num   uint64 // the bits of a number or boolean
	text  string
	obj   any // always comparable, and equal to itself
}

// A ParamKeyer is an object that names the value by which rules shall tell it from others.
type ParamKeyer = chain.ParamKeyer

// ScalarKey returns the key of an integer, float, boolean or string argument. It allocates nothing.
// For any other argument ok is false; use KeysOf.
func ScalarKey(arg chain.Arg) (key Key, ok bool) {
	switch arg.Kind() {
	case chain.ArgInt:
		return Key{class: classInt, num: arg.Bits()}, true
	case chain.ArgUint:
		return Key{class: classUint, num: arg.Bits()}, true
	case chain.ArgFloat:
		return floatKey(math.Float64frombits(arg.Bits())), true
	case chain.ArgBool:
		return Key{class: classBool, num: arg.Bits()}, true
	case chain.ArgString:
		return textKey(arg.Str()), true
	case chain.ArgNil, chain.ArgAny:
	}
	return Key{}, false
}

// KeysOf hands the keys of the values that an argument stands for to yield, in order, until yield returns false:
// chain.Arg.Each says which these are, and what is skipped. An object is kept in the table: give large ones a ParamKey.
func KeysOf(arg chain.Arg, yield func(Key) bool) (skipped int) {
	return arg.Each(func(one chain.Arg) bool {
		key, scalar := ScalarKey(one)
		if !scalar {
			key = Key{class: classOther, obj: one.Value()}
		}
		return yield(key)
	})
}

func textKey(text string) Key { return Key{class: classText, text: text} }

func floatKey(value float64) Key {
	switch {
	case value == 0: // -0.0 too
		return Key{class: classFloat}
	case math.IsNaN(value):
		return Key{class: classFloat, num: canonicalNaN}
	}
	return Key{class: classFloat, num: math.Float64bits(value)}
}

// Value returns the value as a Go value: int64, uint64 (above the range of int64), float64, bool, string, or the
// object itself; nil for the zero Key.
func (k Key) Value() any {
	switch k.class {
	case classInt:
		return int64(k.num)
	case classUint:
		return k.num
	case classFloat:
		return math.Float64frombits(k.num)
	case classBool:
		return k.num == 1
	case classText, classLong:
		return k.text
	case classNone, classOther:
	}
	return k.obj
}

// String returns the value's text, for messages and logs.
func (k Key) String() string {
	switch k.class {
	case classText, classLong:
		return k.text
	case classInt:
		return strconv.FormatInt(int64(k.num), 10)
	case classNone, classUint, classFloat, classBool, classOther:
	}
	return fmt.Sprint(k.Value())
}

// TextKey returns the key of a string.
func TextKey(text string) Key { return textKey(text) }
