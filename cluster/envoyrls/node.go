package envoyrls

import (
	"math"

	"go.yaml.in/yaml/v3"
)

// member is a member of a YAML mapping.
type member struct {
	name      string
	at, value *yaml.Node
}

// follow leads from an alias to what it stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// pairs returns the members of a mapping, with those that << merges in, and none of what is no mapping. Members that are
// null are as if they were not there.
func pairs(n *yaml.Node) (all []member) {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		return nil
	}
	seen := map[string]bool{}
	add := func(m member) {
		if !seen[m.name] {
			seen[m.name] = true
			if m.value.ShortTag() != "!!null" {
				all = append(all, m)
			}
		}
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Tag == "!!merge" {
			merged = append(merged, n.Content[i+1])
		} else {
			add(member{key.Value, key, follow(n.Content[i+1])})
		}
	}
	for _, from := range merged {
		sources := []*yaml.Node{from}
		if list := follow(from); list.Kind == yaml.SequenceNode {
			sources = list.Content
		}
		for _, source := range sources {
			for _, m := range pairs(source) {
				add(m)
			}
		}
	}
	return all
}

// members returns the members of what must be a mapping.
func (r *reader) members(n *yaml.Node, what string) []member {
	if follow(n).Kind != yaml.MappingNode {
		r.refuse(n, "%s must have members, as in \"name: value\"", what)
		return nil
	}
	return pairs(n)
}

// elements returns the elements of what must be a list.
func (r *reader) elements(n *yaml.Node, what string) []*yaml.Node {
	if n = follow(n); n.Kind != yaml.SequenceNode {
		r.refuse(n, "%s must be a list", what)
		return nil
	}
	all := make([]*yaml.Node, len(n.Content))
	for i, element := range n.Content {
		all[i] = follow(element)
	}
	return all
}

// text returns a scalar as it stands there, quoted or not, so that 010 stays 010.
func (r *reader) text(m member) string {
	if m.value.Kind != yaml.ScalarNode {
		r.refuse(m.at, "%s must be a text", m.name)
		return ""
	}
	return m.value.Value
}

func (r *reader) boolean(m member) (b bool) {
	if m.value.Kind != yaml.ScalarNode || m.value.ShortTag() != "!!bool" || m.value.Decode(&b) != nil {
		r.refuse(m.at, "%s must be true or false", m.name)
	}
	return b
}

// whole returns a number from 0 to 4294967295.
func (r *reader) whole(m member) (n uint32) {
	if m.value.Kind != yaml.ScalarNode || m.value.ShortTag() != "!!int" || m.value.Decode(&n) != nil {
		r.refuse(m.at, "%s must be a whole number from 0 to %d", m.name, uint32(math.MaxUint32))
		return 0
	}
	return n
}

// number returns a finite number that is not negative.
func (r *reader) number(m member) (f float64) {
	tag := m.value.ShortTag()
	if m.value.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" || m.value.Decode(&f) != nil ||
		math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		r.refuse(m.at, "%s must be a number, 0 or more", m.name)
		return 0
	}
	return f
}
