package chain

import "math"

// ArgKind says which class of value an argument has.
type ArgKind uint8

// The classes of values. All integers are one class and all floats another; 5 and 5.0 are two values.
const (
	ArgNil ArgKind = iota
	ArgInt
	ArgUint // an unsigned integer above the range of int64; smaller ones are ArgInt
	ArgFloat
	ArgBool
	ArgString
	ArgAny     // a slice, an object, or any other value: look at Value
	argRequest // a Request: see RequestArg
)

// Arg is one argument of a call, for rules about hot parameters: a typed value with an optional name.
// The zero value is an argument without name and value, which no rule matches.
// Making one with String, Int, Int64, Float64 or Bool allocates nothing.
type Arg struct {
	name string
	str  string
	any  any
	num  uint64
	kind ArgKind
}

// String makes a string argument. An empty name is allowed: rules then find it by position.
func String(name, value string) Arg { return Arg{name: name, kind: ArgString, str: value} }

// Int makes an integer argument.
func Int(name string, value int) Arg { return Int64(name, int64(value)) }

// Int64 makes an integer argument.
func Int64(name string, value int64) Arg {
	return Arg{name: name, kind: ArgInt, num: uint64(value)}
}

// Uint64 makes an integer argument.
func Uint64(name string, value uint64) Arg {
	kind := ArgInt
	if value > math.MaxInt64 {
		kind = ArgUint
	}
	return Arg{name: name, kind: kind, num: value}
}

// Float64 makes a floating point argument.
func Float64(name string, value float64) Arg {
	return Arg{name: name, kind: ArgFloat, num: math.Float64bits(value)}
}

// Bool makes a boolean argument.
func Bool(name string, value bool) Arg {
	a := Arg{name: name, kind: ArgBool}
	if value {
		a.num = 1
	}
	return a
}

// Any makes an argument of any value; scalars are classed as by the other functions.
// The value must not be changed before the call's entry has exited.
func Any(name string, value any) Arg {
	a := scalar(value)
	a.name = name
	return a
}

func scalar(value any) Arg {
	switch v := value.(type) {
	case nil:
		return Arg{}
	case string:
		return String("", v)
	case bool:
		return Bool("", v)
	case int:
		return Int("", v)
	case int8:
		return Int64("", int64(v))
	case int16:
		return Int64("", int64(v))
	case int32:
		return Int64("", int64(v))
	case int64:
		return Int64("", v)
	case uint:
		return Uint64("", uint64(v))
	case uint8:
		return Uint64("", uint64(v))
	case uint16:
		return Uint64("", uint64(v))
	case uint32:
		return Uint64("", uint64(v))
	case uint64:
		return Uint64("", v)
	case float32:
		return Float64("", float64(v))
	case float64:
		return Float64("", v)
	}
	return Arg{kind: ArgAny, any: value}
}

// Name returns the argument's name, "" if it has none.
func (a Arg) Name() string { return a.name }

// Kind returns the class of the value.
func (a Arg) Kind() ArgKind { return a.kind }

// Str returns the value of an ArgString, else "".
func (a Arg) Str() string { return a.str }

// Bits returns the value of a number or boolean: an integer in two's complement, a float's IEEE 754 bits, 0 or 1.
func (a Arg) Bits() uint64 { return a.num }

// Value returns the value as a Go value: nil, string, int64, uint64, float64, bool, or what Any was given.
func (a Arg) Value() any {
	switch a.kind {
	case ArgInt:
		return int64(a.num)
	case ArgUint:
		return a.num
	case ArgFloat:
		return math.Float64frombits(a.num)
	case ArgBool:
		return a.num == 1
	case ArgString:
		return a.str
	case ArgNil, ArgAny, argRequest:
	}
	return a.any
}
