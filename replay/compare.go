package replay

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

const tolerance = 1e-9

// differing returns the names of the fields in which the outcomes differ, in order.
func (o outcome) differing(other outcome) []string {
	names := map[string]bool{}
	for name := range maps.Keys(o) {
		names[name] = !same(o[name], other[name])
	}
	for name := range maps.Keys(other) {
		names[name] = !same(o[name], other[name])
	}
	maps.DeleteFunc(names, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(names))
}

// same compares two JSON values, numbers with a tolerance. nil, for a field that is absent, is only like itself.
func same(a, b any) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && (a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(a)))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	}
	return a == b
}

// show writes a value for people.
func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "none"
	case string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(value)
}
