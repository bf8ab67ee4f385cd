package convert

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/document/internal/golang"
)

// list is an array being written, one rule per line.
type list struct{ rules [][]byte }

func (l *list) add(rule []byte) {
	var line bytes.Buffer
	if json.Compact(&line, rule) == nil {
		l.rules = append(l.rules, line.Bytes())
	}
}

func (l *list) array() []byte { return append(l.indented(""), '\n') }

func (l *list) indented(indent string) []byte {
	if len(l.rules) == 0 {
		return []byte("[]")
	}
	text := []byte("[\n" + indent + "  ")
	text = append(text, bytes.Join(l.rules, []byte(",\n"+indent+"  "))...)
	return append(text, "\n"+indent+"]"...)
}

// marshal writes JSON without escaping the characters <, > and &.
func marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSpace(text.Bytes()), err
}

// with returns the object with more members at its end.
func with(object []byte, more []document.Member) []byte {
	text := bytes.TrimSuffix(object, []byte("}"))
	for _, m := range more {
		if len(text) > 1 {
			text = append(text, ',')
		}
		name, _ := marshal(m.Name) // a string can always be written
		text = append(text, name...)
		text = append(text, ':')
		text = append(text, m.Value...)
	}
	return append(text, '}')
}

// unknown returns the members of an object that are not in the list.
func unknown(object []byte, known []string) []document.Member {
	var more []document.Member
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return more
		}
		if name, _ := key.(string); !slices.Contains(known, name) {
			more = slices.DeleteFunc(more, func(m document.Member) bool { return m.Name == name })
			more = append(more, document.Member{Name: name, Value: value})
		}
	}
	return more
}

// sentinelMembers returns the members of a kind's rules that the rule type holds, but those that are remarks only: these
// are kept like unknown ones.
func sentinelMembers(kind chain.Kind) []string {
	var schema struct {
		Defs map[string]struct {
			Items struct {
				Ref string `json:"$ref"`
			} `json:"items"`
			Properties map[string]json.RawMessage `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(document.Schema(), &schema); err != nil {
		return nil
	}
	const prefix = "#/$defs/"
	rule := schema.Defs[document.SectionName(kind)].Items.Ref
	var names []string
	for name := range schema.Defs[rule[min(len(prefix), len(rule)):]].Properties {
		if name != "description" && name != "tags" {
			names = append(names, name)
		}
	}
	if kind == chain.KindSystem {
		names = append(names, "resource", "limitApp", "regex")
	}
	return names
}

func golangMembers(kind chain.Kind) []string { return golang.Members(kind) }

// valKind returns sentinel-golang's number for a class of values.
func valKind(kind chain.ArgKind) int {
	switch kind {
	case chain.ArgInt, chain.ArgUint:
		return 0
	case chain.ArgBool:
		return 2
	case chain.ArgFloat:
		return 3
	case chain.ArgNil, chain.ArgString, chain.ArgAny:
	}
	return 1
}
