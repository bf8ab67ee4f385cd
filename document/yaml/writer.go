package yaml

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// writer writes YAML nodes as JSON.
type writer struct {
	text  bytes.Buffer
	marks marks
	limit int // of the size of the text, and of the nodes visited
	steps int
}

// value writes one node; above are the aliases being followed.
func (w *writer) value(n *yaml.Node, above []*yaml.Node) error {
	if w.steps++; w.steps > w.limit || w.text.Len() > w.limit {
		return refuse(n, "aliases make the document too large")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return w.value(n.Content[0], above)
	case yaml.AliasNode:
		if slices.Contains(above, n.Alias) {
			return refuse(n, "alias %q contains itself", n.Value)
		}
		return w.value(n.Alias, append(slices.Clip(above), n.Alias))
	case yaml.MappingNode:
		return w.mapping(n, above)
	case yaml.SequenceNode:
		return w.sequence(n, above)
	case yaml.ScalarNode:
		w.marks.add(w.text.Len(), n)
		w.text.Write(scalar(n))
		return nil
	}
	return refuse(n, "unknown kind of YAML node")
}

func (w *writer) sequence(n *yaml.Node, above []*yaml.Node) error {
	w.marks.add(w.text.Len(), n)
	w.text.WriteByte('[')
	for i, element := range n.Content {
		if i > 0 {
			w.text.WriteByte(',')
		}
		if err := w.value(element, above); err != nil {
			return err
		}
	}
	w.text.WriteByte(']')
	return nil
}

// pair is a member of a mapping.
type pair struct{ key, value *yaml.Node }

func (w *writer) mapping(n *yaml.Node, above []*yaml.Node) error {
	pairs, err := w.pairs(n, above)
	if err != nil {
		return err
	}
	w.marks.add(w.text.Len(), n)
	w.text.WriteByte('{')
	for i, p := range pairs {
		if i > 0 {
			w.text.WriteByte(',')
		}
		w.text.Write(quote(p.key.Value))
		w.text.WriteByte(':')
		if err := w.value(p.value, above); err != nil {
			return err
		}
	}
	w.text.WriteByte('}')
	return nil
}

// pairs returns the members of a mapping: its own, then those merged in by << that it does not have itself.
func (w *writer) pairs(n *yaml.Node, above []*yaml.Node) ([]pair, error) {
	var own, merged []pair
	if w.steps += 1 + len(n.Content); w.steps > w.limit {
		return nil, refuse(n, "aliases make the document too large")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			more, err := w.merge(value, above)
			if err != nil {
				return nil, err
			}
			merged = append(merged, more...)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return nil, refuse(key, "a key must be a string; put it in quotes if it looks like something else")
		}
		if seen[key.Value] {
			return nil, refuse(key, "member %q is there twice", key.Value)
		}
		seen[key.Value] = true
		own = append(own, pair{key, value})
	}
	for _, p := range merged {
		if !seen[p.key.Value] {
			seen[p.key.Value] = true
			own = append(own, p)
		}
	}
	return own, nil
}

// merge returns the members that a << brings in.
func (w *writer) merge(n *yaml.Node, above []*yaml.Node) ([]pair, error) {
	switch n.Kind {
	case yaml.AliasNode:
		if slices.Contains(above, n.Alias) || len(above) > 100 {
			return nil, refuse(n, "alias %q contains itself", n.Value)
		}
		return w.merge(n.Alias, append(slices.Clip(above), n.Alias))
	case yaml.MappingNode:
		return w.pairs(n, above)
	case yaml.SequenceNode:
		var all []pair
		for _, element := range n.Content {
			more, err := w.merge(element, above)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	}
	return nil, refuse(n, "<< needs a mapping")
}

// scalar returns a scalar as JSON. What JSON has no number for, such as .inf, becomes a string, which no numeric
// member accepts.
func scalar(n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return []byte("null")
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return marshal(b)
		}
	case "!!int":
		if i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Value, "_", ""), 0); ok {
			return i.Append(nil, 10)
		}
	case "!!float":
		return float(n)
	}
	return quote(n.Value)
}

func float(n *yaml.Node) []byte {
	if json.Valid([]byte(n.Value)) { // as written, so that a number out of range stays one
		return []byte(n.Value)
	}
	var f float64
	if n.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return quote(n.Value)
	}
	return marshal(f)
}

func quote(s string) []byte { return marshal(s) }

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // strings, booleans and finite numbers can always be written
	}
	return text
}
