package rulejson

import (
	"encoding/json"
	"math"

	"github.com/tidegate-go/tidegate/chain"
)

// Common is what rules of every kind have in common, as written in JSON.
type Common struct {
	ID          int64      `json:"id,omitempty"`
	Resource    string     `json:"resource,omitempty"`
	LimitApp    string     `json:"limitApp,omitempty"`
	Regex       bool       `json:"regex,omitempty"`
	Enabled     *bool      `json:"enabled,omitempty"`
	Mode        chain.Mode `json:"mode,omitzero"`
	Description string     `json:"description,omitempty"`
	Tags        []string   `json:"tags,omitempty"`
}

// Disabled says whether the rule is written with enabled:false.
func (c Common) Disabled() bool { return c.Enabled != nil && !*c.Enabled }

// Off returns the value of Enabled for a rule that is disabled or not: nil is the default, true.
func Off(disabled bool) *bool {
	if !disabled {
		return nil
	}
	return new(bool)
}

// Named reads what every rule has that names its resource itself, by a name or a pattern.
func (o *Object) Named() Common {
	c := o.Remarks()
	o.String("resource", &c.Resource)
	o.String("limitApp", &c.LimitApp)
	o.Bool("regex", &c.Regex)
	return c
}

// Remarks reads what rules of all kinds have, those without a resource too.
func (o *Object) Remarks() Common {
	var c Common
	o.Int64("id", &c.ID)
	o.OptionalBool("enabled", &c.Enabled)
	o.String("description", &c.Description)
	o.Strings("tags", &c.Tags)
	if _, ok := o.take("mode"); ok {
		name := ""
		o.String("mode", &name)
		mode, err := chain.ParseMode(name)
		if err != nil {
			o.Refuse("mode", "%v", err)
		}
		c.Mode = mode
	}
	return c
}

// SameApp says whether two limitApp values mean the same: blank is "default".
func SameApp(a, b string) bool { return App(a) == App(b) }

// App returns the effective limitApp.
func App(name string) string {
	if blank(name) {
		return "default"
	}
	return name
}

func blank(s string) bool {
	for _, r := range s {
		if r > ' ' {
			return false
		}
	}
	return true
}

// Number is a float64 that JSON can always carry: infinity, "no limit", is written as the largest number.
type Number float64

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) {
	return json.Marshal(max(min(float64(n), math.MaxFloat64), -math.MaxFloat64))
}

// Or returns the value, or the default where it is zero.
func Or[T int | int64 | float64](value, standard T) T {
	if value == 0 {
		return standard
	}
	return value
}

// Deref returns what the pointer points to, or the default where it is nil.
func Deref[T any](value *T, standard T) T {
	if value == nil {
		return standard
	}
	return *value
}

// Copy returns a pointer to a copy, nil for nil.
func Copy[T any](value *T) *T {
	if value == nil {
		return nil
	}
	c := *value
	return &c
}

// SameValue compares what two pointers point to; nil equals only nil.
func SameValue[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
