package replay

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/tidegate-go/tidegate"
)

// deepest is how many lists may stand inside each other.
const deepest = 16

// argOf makes an argument of a decoded value.
func argOf(value any) tidegate.Arg { return tidegate.Any("", value) }

// decodeArg reads a typed value such as {"t":"int","v":5}.
func decodeArg(text json.RawMessage, depth int) (value any, err error) {
	if depth > deepest {
		return nil, errors.New("lists are nested too deeply")
	}
	m, err := membersOf(text)
	if err != nil {
		return nil, err
	}
	var kind string
	m.need("t", &kind)
	value = decodeTyped(m, kind, depth)
	return value, m.done()
}

func decodeTyped(m *members, kind string, depth int) any {
	switch kind {
	case "int":
		return needed[int](m)
	case "long":
		return needed[int64](m)
	case "short":
		return needed[int16](m)
	case "byte":
		return needed[int8](m)
	case "double":
		return needed[float64](m)
	case "float":
		return needed[float32](m)
	case "boolean":
		return needed[bool](m)
	case "string":
		return needed[string](m)
	case "int[]":
		return needed[[]int](m)
	case "char":
		c := needed[string](m)
		if utf8.RuneCountInString(c) != 1 {
			m.fail("char %q is not one character", c)
		}
		return c
	case "null":
		if text, ok := m.left["v"]; ok && string(text) == "null" {
			delete(m.left, "v")
		}
		return nil
	case "list", "array":
		return decodeList(m, depth)
	}
	m.fail("unknown type %q", kind)
	return nil
}

func needed[T any](m *members) (value T) {
	m.need("v", &value)
	return value
}

func decodeList(m *members, depth int) any {
	var elements []json.RawMessage
	m.need("v", &elements)
	list := []any{}
	for i, text := range elements {
		value, err := decodeArg(text, depth+1)
		if err != nil {
			m.fail("element %d: %w", i, err)
		}
		list = append(list, value)
	}
	return list
}
