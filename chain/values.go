package chain

import "reflect"

// A ParamKeyer is an object that names the value by which rules shall tell it from others, such as an identifier.
// The value is taken at the time of the check and treated like an argument: it may be a collection.
// A key that is itself a ParamKeyer is compared as it is. If ParamKey panics the argument is skipped and counted, and the call goes on.
type ParamKeyer interface{ ParamKey() any }

// Each hands the values that the argument stands for to yield, in order, until yield returns false. Each is a scalar, in
// the type in which the caller gave it, or an ArgAny that holds a comparable object, equal to itself.
//
//   - A scalar, a struct, or any other comparable value is one value. A pointer to a scalar stands for the scalar; any
//     other pointer, channel or interface is compared by identity.
//   - A slice or array, also []byte, is a collection: one value per element; elements that are nil are left out. Two
//     exceptions: an array of bytes (an identifier such as a UUID) is one value, and so is an array as an element.
//   - nil, a typed nil pointer, map, slice or function: no value.
//   - A map, a function, a slice as an element, a struct holding one of them or holding NaN: cannot be compared, so
//     it is counted in skipped.
//
// It never panics, and allocates nothing for scalars, for slices of scalars and for comparable values.
func (a Arg) Each(yield func(Arg) bool) (skipped int) {
	if a.kind != ArgAny {
		if a.kind != ArgNil && a.kind != argRequest {
			yield(a)
		}
		return 0
	}
	value := a.any
	if keyer, ok := value.(ParamKeyer); ok && !isNil(reflect.ValueOf(value)) {
		if value, ok = askKey(keyer); !ok {
			return 1
		}
	}
	return eachOf(value, yield)
}

// eachOf yields a value's elements if it is a collection, else itself.
func eachOf(value any, yield func(Arg) bool) (skipped int) {
	if list, ok := value.([]string); ok {
		for _, text := range list {
			if !yield(String("", text)) {
				return 0
			}
		}
		return 0
	}
	v := reflect.ValueOf(value)
	if !isCollection(v) {
		one, fate := single(v)
		if fate == fateValue {
			yield(one)
		}
		return fate.skips()
	}
	for i := range v.Len() {
		one, fate := element(v.Index(i))
		skipped += fate.skips()
		if fate == fateValue && !yield(one) {
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
	fateValue fate = iota // rules see it
	fateNone              // it is nil
	fateSkip              // it cannot be compared
)

func (f fate) skips() int {
	if f == fateSkip {
		return 1
	}
	return 0
}

// element is single for an element of a collection, whose ParamKey is honoured too.
func element(v reflect.Value) (Arg, fate) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || isNil(v) {
		return Arg{}, fateNone
	}
	if v.Type().NumMethod() > 0 {
		if keyer, ok := reflect.TypeAssert[ParamKeyer](v); ok {
			value, ok := askKey(keyer)
			if !ok {
				return Arg{}, fateSkip
			}
			v = reflect.ValueOf(value)
		}
	}
	return single(v)
}

// single returns a value that is not to be taken apart.
func single(v reflect.Value) (Arg, fate) {
	if !v.IsValid() || isNil(v) {
		return Arg{}, fateNone
	}
	if one, ok := scalarOf(v); ok {
		return one, fateValue
	}
	if v.Kind() == reflect.Pointer {
		if one, ok := scalarOf(v.Elem()); ok {
			return one, fateValue
		}
	}
	if !v.Type().Comparable() {
		return Arg{}, fateSkip
	}
	obj := v.Interface()
	if !equal(obj, obj) { // NaN inside
		return Arg{}, fateSkip
	}
	return Arg{kind: ArgAny, any: obj}, fateValue
}

// scalarOf is scalar for named types as well.
func scalarOf(v reflect.Value) (Arg, bool) {
	switch kind := v.Kind(); kind {
	case reflect.String:
		return String("", v.String()), true
	case reflect.Bool:
		return Bool("", v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Int64("", v.Int()).as(widthOf(kind)), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Uint64("", v.Uint()).as(widthOf(kind)), true
	case reflect.Float32, reflect.Float64:
		return Float64("", v.Float()).as(widthOf(kind)), true
	default:
		return Arg{}, false
	}
}

// widthOf returns the type of a number, as Any does.
func widthOf(kind reflect.Kind) ArgWidth {
	switch kind {
	case reflect.Int8:
		return Width8
	case reflect.Int16:
		return Width16
	case reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Float32:
		return Width32
	case reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float64:
		return Width64
	default:
		return WidthNone
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
