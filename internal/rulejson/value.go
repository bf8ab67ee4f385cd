package rulejson

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
)

// String reads a string.
func (o *Object) String(name string, to *string) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	if value[0] != '"' || json.Unmarshal(value, to) != nil {
		o.Refuse(name, "must be a string, not %s", Describe(value))
	}
}

// Strings reads an array of strings.
func (o *Object) Strings(name string, to *[]string) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	var elements []*string
	if json.Unmarshal(value, &elements) != nil {
		o.Refuse(name, "must be an array of strings")
		return
	}
	list := make([]string, len(elements))
	for i, element := range elements {
		if element == nil {
			o.Refuse(name, "must be an array of strings")
			return
		}
		list[i] = *element
	}
	*to = list
}

// Bool reads a boolean.
func (o *Object) Bool(name string, to *bool) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	if json.Unmarshal(value, to) != nil {
		o.Refuse(name, "must be true or false, not %s", Describe(value))
	}
}

// OptionalBool reads a boolean whose absence means something else than false.
func (o *Object) OptionalBool(name string, to **bool) {
	if _, ok := o.take(name); ok {
		value := false
		o.Bool(name, &value)
		*to = &value
	}
}

// Float reads a number.
func (o *Object) Float(name string, to *float64) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	if !isNumber(value) {
		o.Refuse(name, "must be a number, not %s", Describe(value))
	} else if json.Unmarshal(value, to) != nil {
		o.Refuse(name, "%s is out of range", value)
	}
}

// OptionalFloat reads a number whose absence means something else than zero.
func (o *Object) OptionalFloat(name string, to **float64) {
	if _, ok := o.take(name); ok {
		value := 0.0
		o.Float(name, &value)
		*to = &value
	}
}

// Int64 reads a whole number; 5.0 is one.
func (o *Object) Int64(name string, to *int64) { o.whole(name, math.MinInt64, math.MaxInt64, to) }

// OptionalInt64 reads a whole number whose absence means something else than zero.
func (o *Object) OptionalInt64(name string, to **int64) {
	if _, ok := o.take(name); ok {
		value := int64(0)
		o.Int64(name, &value)
		*to = &value
	}
}

// Int reads a whole number within 32 bits, the range of the reference's int members.
func (o *Object) Int(name string, to *int) {
	value := int64(*to)
	o.whole(name, math.MinInt32, math.MaxInt32, &value)
	*to = int(value)
}

// OptionalInt reads a whole number within 32 bits whose absence means something else than zero.
func (o *Object) OptionalInt(name string, to **int) {
	if _, ok := o.take(name); ok {
		value := 0
		o.Int(name, &value)
		*to = &value
	}
}

func (o *Object) whole(name string, least, most int64, to *int64) {
	value, ok := o.take(name)
	if !ok {
		return
	}
	if !isNumber(value) {
		o.Refuse(name, "must be a whole number, not %s", Describe(value))
		return
	}
	n, whole := exact(string(value))
	switch {
	case !whole:
		o.Refuse(name, "must be a whole number, not %s", value)
	case n == nil || !n.IsInt64() || n.Int64() < least || n.Int64() > most:
		o.Refuse(name, "%s is out of range: %d to %d", value, least, most)
	default:
		*to = n.Int64()
	}
}

// exact returns the value of a JSON number, nil if it is beyond anything that could be in range.
func exact(text string) (n *big.Int, whole bool) {
	if n, ok := new(big.Int).SetString(text, 10); ok {
		return n, true
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 && len(text)-at > 4 { // keep huge exponents from costing memory
		return nil, true
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, true
	}
	return r.Num(), r.IsInt()
}

func isNumber(value []byte) bool { return value[0] == '-' || value[0] >= '0' && value[0] <= '9' }

// Set notes an error if the member is there and its value, already read, is not above zero.
// It serves members whose Go zero value stands for the default, so that only JSON can be told the difference.
func (o *Object) Set(name string, value, standard int64) {
	if _, there := o.take(name); there && value <= 0 && o.Err() == nil {
		o.Refuse(name, "must be above 0, not %d; leave it out for the default %d", value, standard)
	}
}

// Numbered is an enum that has a number in JSON.
type Numbered interface {
	comparable
	Number() int
}

// Enum reads an enum by its number, which must be that of one of the values.
func Enum[E Numbered](o *Object, name string, to *E, values ...E) {
	if _, ok := o.take(name); !ok {
		return
	}
	number := int64(math.MinInt64)
	o.whole(name, math.MinInt32, math.MaxInt32, &number)
	if number == math.MinInt64 {
		return
	}
	for _, v := range values {
		if int64(v.Number()) == number {
			*to = v
			return
		}
	}
	o.Refuse(name, "%d is not one of %v", number, numbersOf(values))
}

// OpenEnum is Enum for a type to whose values users may add: any number from 0 to 255 is read, and validation decides.
func OpenEnum[E interface {
	~uint8
	Numbered
}](o *Object, name string, to *E, values ...E) {
	if _, ok := o.take(name); !ok {
		return
	}
	number := int64(math.MinInt64)
	o.whole(name, math.MinInt32, math.MaxInt32, &number)
	switch {
	case number == math.MinInt64:
	case number < 0 || number > math.MaxUint8:
		o.Refuse(name, "%d is not one of %v", number, numbersOf(values))
	default:
		*to = E(number)
	}
}

func numbersOf[E Numbered](values []E) []int {
	numbers := make([]int, len(values))
	for i, v := range values {
		numbers[i] = v.Number()
	}
	return numbers
}

// CheckEnum refuses a Go value that is none of the enum's.
func CheckEnum[E Numbered](name string, value E, values ...E) error {
	if slices.Contains(values, value) {
		return nil
	}
	return chain.Refuse(name, "%d is not one of %v", value.Number(), numbersOf(values))
}

// CheckCount refuses a threshold that is negative or no number.
func CheckCount(name string, count float64) error {
	if math.IsNaN(count) {
		return chain.Refuse(name, "is not a number")
	}
	if count < 0 {
		return chain.Refuse(name, "must not be negative: %v", count)
	}
	return nil
}

// CheckRange refuses a whole number outside 0 to the largest 32-bit integer.
func CheckRange(name string, value int64) error {
	if value < 0 {
		return chain.Refuse(name, "must not be negative: %d", value)
	}
	if value > math.MaxInt32 {
		return chain.Refuse(name, "%d is out of range: at most %d", value, math.MaxInt32)
	}
	return nil
}

// First returns the first error that is not nil.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Text reads a value that should be a string but is often written as a number or a boolean; there is false where it is absent.
func (o *Object) Text(name string) (text string, there bool) {
	value, ok := o.take(name)
	if !ok {
		return "", false
	}
	switch value[0] {
	case '{', '[':
		o.Refuse(name, "must be a string, not %s", Describe(value))
	case '"':
		o.String(name, &text)
	default:
		text = string(value)
	}
	return text, true
}
