package proxy

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decode fills a configuration from YAML. It notes the line of every member, and every value of a wrong type, unknown
// or repeated member as a mistake.
func decode(p *problems, root *yaml.Node, into *Config) {
	d := &decoder{problems: p}
	if root != nil {
		d.value(root, reflect.ValueOf(into).Elem(), "")
	}
}

type decoder struct {
	*problems
	depth int // of aliases
}

// maxDepth bounds aliases of aliases, which may lead back to themselves.
const maxDepth = 32

func (d *decoder) value(n *yaml.Node, into reflect.Value, member string) {
	if line := d.source.lines; line[member] == 0 || member == "" {
		line[member] = n.Line
	}
	if n.Kind == yaml.AliasNode {
		if d.depth++; d.depth > maxDepth {
			d.breakAt(n.Line, member, "alias *%s leads back to itself", n.Value)
			return
		}
		d.value(n.Alias, into, member)
		d.depth--
		return
	}
	if n.Tag == "!!null" {
		return // as if it were not there
	}
	if into.Kind() == reflect.Pointer {
		to := reflect.New(into.Type().Elem())
		if d.value(n, to.Elem(), member); !d.broken[member] {
			into.Set(to)
		}
		return
	}
	switch into.Kind() { //nolint:exhaustive // the kinds of Config's members
	case reflect.Struct:
		d.object(n, into, member)
	case reflect.Slice:
		d.list(n, into, member)
	default:
		d.scalar(n, into, member)
	}
}

func (d *decoder) object(n *yaml.Node, into reflect.Value, member string) {
	if n.Kind != yaml.MappingNode {
		d.breakAt(n.Line, member, "must be members with values (%s), not %s", strings.Join(names(into.Type()), ", "), describe(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := join(member, key.Value)
		field := fieldOf(into, key.Value)
		switch {
		case !field.IsValid():
			d.addAt(key.Line, at, "unknown member; there are %s", strings.Join(names(into.Type()), ", "))
		case seen[key.Value]:
			d.addAt(key.Line, at, "is there twice")
		default:
			seen[key.Value] = true
			d.source.lines[at] = key.Line
			d.value(value, field, at)
		}
	}
}

func (d *decoder) list(n *yaml.Node, into reflect.Value, member string) {
	if n.Kind != yaml.SequenceNode {
		d.breakAt(n.Line, member, "must be a list, not %s", describe(n))
		return
	}
	list := reflect.MakeSlice(into.Type(), len(n.Content), len(n.Content))
	for i, element := range n.Content {
		d.value(element, list.Index(i), fmt.Sprintf("%s[%d]", member, i))
	}
	into.Set(list)
}

func (d *decoder) scalar(n *yaml.Node, into reflect.Value, member string) {
	if n.Kind != yaml.ScalarNode {
		d.breakAt(n.Line, member, "must be %s, not %s", want(into), describe(n))
		return
	}
	ok := false
	switch to := into.Addr().Interface().(type) {
	case *string:
		*to, ok = n.Value, n.Tag == "!!str" || n.Tag == "!!int" || n.Tag == "!!float"
	case *bool:
		ok = n.Tag == "!!bool" && n.Decode(to) == nil
	case *int:
		ok = n.Tag == "!!int" && n.Decode(to) == nil
	case *float64:
		ok = (n.Tag == "!!int" || n.Tag == "!!float") && n.Decode(to) == nil && !math.IsNaN(*to)
	case *Duration:
		span, err := time.ParseDuration(n.Value)
		*to, ok = Duration(span), err == nil
	case *Size:
		*to, ok = parseSize(n.Value)
	}
	if !ok {
		d.breakAt(n.Line, member, "must be %s, not %s", want(into), describe(n))
	}
}

// parseSize reads a number of bytes with an optional unit.
func parseSize(text string) (Size, bool) {
	digits := strings.TrimRight(text, "BKMGTibkmgt ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	shift, known := map[string]int{"": 0, "B": 0, "KIB": 10, "K": 10, "KB": 10, "MIB": 20, "M": 20, "MB": 20, "GIB": 30, "G": 30, "GB": 30}[strings.ToUpper(strings.TrimSpace(text[len(digits):]))]
	if !known || n > math.MaxInt64>>shift {
		return 0, false
	}
	return Size(n << shift), true
}

func want(into reflect.Value) string {
	switch into.Interface().(type) {
	case bool:
		return "true or false"
	case int:
		return "a whole number"
	case float64:
		return "a number"
	case Duration:
		return "a time with unit such as 500ms, 2s or 1m"
	case Size:
		return "a number of bytes such as 65536, 64KiB or 10MiB"
	}
	return "a text"
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "members with values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode, yaml.AliasNode, yaml.DocumentNode:
	}
	return strconv.Quote(n.Value)
}

// names returns the members of a struct.
func names(t reflect.Type) []string {
	var list []string
	for field := range t.Fields() {
		if name := field.Tag.Get("yaml"); name != "" {
			list = append(list, name)
		}
	}
	return list
}

func fieldOf(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" && tag == name {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

func join(member, name string) string {
	if member == "" {
		return name
	}
	return member + "." + name
}
