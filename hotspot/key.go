package hotspot

import (
	"fmt"
	"math"
	"reflect"
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

// A ParamKeyer is an object that names the value by which rules shall tell it from others, such as an identifier.
// The value is taken at the time of the check and treated like an argument: it may be a collection.
// A key that is itself a ParamKeyer is compared as it is. If ParamKey panics the argument is skipped and counted, and the call goes on.
type ParamKeyer interface{ ParamKey() any }

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

// KeysOf hands the keys of an argument to yield, in order, until yield returns false.
//
//   - A scalar, a struct, or any other comparable value is one key. A pointer to a scalar stands for the scalar; any
//     other pointer, channel or interface is compared by identity and kept in the table, so give large objects a
//     ParamKey.
//   - A slice or array, also []byte, is a collection: one key per element; elements that are nil are left out. Two
//     exceptions: an array of bytes (an identifier such as a UUID) is one value, and so is an array as an element.
//   - nil, a typed nil pointer, map, slice or function: no key, so the rule does not apply.
//   - A map, a function, a slice as an element, a struct holding one of them or holding NaN: cannot be compared, so
//     it is skipped, the rule does not apply to it, and it is counted in skipped.
//
// It never panics, and allocates nothing for scalars, for slices of scalars and for comparable values.
func KeysOf(arg chain.Arg, yield func(Key) bool) (skipped int) {
	if key, ok := ScalarKey(arg); ok {
		yield(key)
		return 0
	}
	return widths(arg, func(key Key, _ chain.ArgWidth) bool { return yield(key) })
}

// widths is KeysOf for an argument that is no scalar, with the type of each number.
func widths(arg chain.Arg, yield func(Key, chain.ArgWidth) bool) (skipped int) {
	value := arg.Value()
	if keyer, ok := value.(ParamKeyer); ok && !isNil(reflect.ValueOf(value)) {
		if value, ok = askKey(keyer); !ok {
			return 1
		}
	}
	return expand(value, yield)
}

// expand yields the keys of a value: of its elements if it is a collection, else of itself.
func expand(value any, yield func(Key, chain.ArgWidth) bool) (skipped int) {
	switch list := value.(type) {
	case nil:
		return 0
	case []string:
		for _, text := range list {
			if !yield(textKey(text), chain.WidthNone) {
				return 0
			}
		}
		return 0
	}
	v := reflect.ValueOf(value)
	if !isCollection(v) {
		key, width, fate := keyOf(v)
		if fate == fateKey {
			yield(key, width)
		}
		return fate.skips()
	}
	for i := range v.Len() {
		key, width, fate := elementKey(v.Index(i))
		skipped += fate.skips()
		if fate == fateKey && !yield(key, width) {
			break
		}
	}
	return skipped
}

func isCollection(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		return true
	case reflect.Array:
		return v.Type().Elem().Kind() != reflect.Uint8
	default:
		return false
	}
}

// A fate says what becomes of a value.
type fate uint8

const (
	fateKey  fate = iota // it has a key
	fateNone             // it is nil
	fateSkip             // it cannot be compared
)

func (f fate) skips() int {
	if f == fateSkip {
		return 1
	}
	return 0
}

// elementKey is keyOf for an element of a collection, whose ParamKey is honoured too.
func elementKey(v reflect.Value) (Key, chain.ArgWidth, fate) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || isNil(v) {
		return Key{}, chain.WidthNone, fateNone
	}
	if v.Type().NumMethod() > 0 {
		if keyer, ok := reflect.TypeAssert[ParamKeyer](v); ok {
			value, ok := askKey(keyer)
			if !ok {
				return Key{}, chain.WidthNone, fateSkip
			}
			v = reflect.ValueOf(value)
		}
	}
	return keyOf(v)
}

// keyOf returns the key of a value that is not to be taken apart.
func keyOf(v reflect.Value) (Key, chain.ArgWidth, fate) {
	if key, ok := scalarOf(v); ok {
		return key, widthOf(v.Kind()), fateKey
	}
	if !v.IsValid() || isNil(v) {
		return Key{}, chain.WidthNone, fateNone
	}
	if v.Kind() == reflect.Pointer {
		if key, ok := scalarOf(v.Elem()); ok {
			return key, widthOf(v.Elem().Kind()), fateKey
		}
	}
	if !v.Type().Comparable() {
		return Key{}, chain.WidthNone, fateSkip
	}
	obj := v.Interface()
	if !equal(obj, obj) { // NaN inside
		return Key{}, chain.WidthNone, fateSkip
	}
	return Key{class: classOther, obj: obj}, chain.WidthNone, fateKey
}

func scalarOf(v reflect.Value) (Key, bool) {
	switch v.Kind() {
	case reflect.String:
		return textKey(v.String()), true
	case reflect.Bool:
		return boolKey(v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intKey(v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return uintKey(v.Uint()), true
	case reflect.Float32, reflect.Float64:
		return floatKey(v.Float()), true
	default:
		return Key{}, false
	}
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return v.IsNil()
	default:
		return false
	}
}

// askKey calls ParamKey, which is the user's code: ok is false if it panics.
func askKey(keyer ParamKeyer) (value any, ok bool) {
	defer func() {
		if recover() != nil {
			value, ok = nil, false
		}
	}()
	return keyer.ParamKey(), true
}

// equal compares two objects of a comparable type; false if an interface inside holds one that is not.
func equal(a, b any) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}

func textKey(text string) Key { return Key{class: classText, text: text} }
func intKey(value int64) Key  { return Key{class: classInt, num: uint64(value)} }

func uintKey(value uint64) Key {
	if value > math.MaxInt64 {
		return Key{class: classUint, num: value}
	}
	return Key{class: classInt, num: value}
}

func boolKey(value bool) Key {
	if value {
		return Key{class: classBool, num: 1}
	}
	return Key{class: classBool}
}

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
