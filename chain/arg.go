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

// ArgWidth says which type of a number a caller gave, for those to whom it matters: a token server counts Java's
// int 5 and long 5 as two values. Rules decided here compare numbers by value and do not look at it.
type ArgWidth uint8

// The widths of numbers.
const (
	WidthNone ArgWidth = iota // Go's int and uint, and whatever is not a number
	Width8                    // int8
	Width16                   // int16
	Width32                   // int32, uint8, uint16; float32
	Width64                   // int64, uint32, uint64; float64
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
	wide ArgWidth
}

// String makes a string argument. An empty name is allowed: rules then find it by position.
func String(name, value string) Arg { return Arg{name: name, kind: ArgString, str: value} }

// Int makes an integer argument.
func Int(name string, value int) Arg {
	return Arg{name: name, kind: ArgInt, num: uint64(value)}
}

// Int64 makes an integer argument. To rules decided here it is the same value as one made by Int; Java's token
// servers know it as a long, and one made by Int as an int if it fits.
func Int64(name string, value int64) Arg {
	return Arg{name: name, kind: ArgInt, num: uint64(value), wide: Width64}
}

// Uint64 makes an integer argument.
func Uint64(name string, value uint64) Arg {
	kind := ArgInt
	if value > math.MaxInt64 {
		kind = ArgUint
	}
	return Arg{name: name, kind: kind, num: value, wide: Width64}
}

// Float64 makes a floating point argument.
func Float64(name string, value float64) Arg {
	return Arg{name: name, kind: ArgFloat, num: math.Float64bits(value), wide: Width64}
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
		return Int64("", int64(v)).as(Width8)
	case int16:
		return Int64("", int64(v)).as(Width16)
	case int32:
		return Int64("", int64(v)).as(Width32)
	case int64:
		return Int64("", v)
	case uint:
		return Uint64("", uint64(v)).as(WidthNone)
	case uint8:
		return Uint64("", uint64(v)).as(Width32)
	case uint16:
		return Uint64("", uint64(v)).as(Width32)
	case uint32:
		return Uint64("", uint64(v))
	case uint64:
		return Uint64("", v)
	case float32:
		return Float64("", float64(v)).as(Width32)
	case float64:
		return Float64("", v)
	}
	return Arg{kind: ArgAny, any: value}
}

func (a Arg) as(w ArgWidth) Arg {
	a.wide = w
	return a
}

// Name returns the argument's name, "" if it has none.
func (a Arg) Name() string { return a.name }

// Kind returns the class of the value.
func (a Arg) Kind() ArgKind { return a.kind }

// WithWidth returns the argument as given in that type; its value stays.
func (a Arg) WithWidth(w ArgWidth) Arg { return a.as(w) }

// Width returns which type of a number the value was given as.
func (a Arg) Width() ArgWidth { return a.wide }

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
