package convert

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// settings are the members of the single document that are no rules, by name, as written.
type settings struct {
	order  []string
	values map[string]json.RawMessage
}

// addSettings takes over, or lists as lost, what a document says besides its rules.
func (c *conversion) addSettings(d *document.Document) {
	for _, err := range d.Errors {
		if err.Index < 0 && !isSection(err.Section) { // rules and sections are listed with their kind
			c.lose(chain.KindCustom, 0, "", "", "%v", err)
		}
	}
	for _, m := range members(d) {
		if c.form == Single {
			c.set(m)
			continue
		}
		switch m.Name {
		case "sentinelEnabled":
			if d.Enabled != nil && !*d.Enabled {
				c.lose(chain.KindCustom, 0, "", m.Name, "arrays have no master switch: these rules would be enforced")
			}
		case "mode", "slots", "revision": // are applied to the rules; the last is the text's own
		default:
			c.lose(chain.KindCustom, 0, "", m.Name, "arrays hold rules only")
		}
	}
}

func isSection(name string) bool {
	return slices.ContainsFunc(document.Kinds(), func(k chain.Kind) bool { return document.SectionName(k) == name })
}

// members returns what a document says besides its rules.
func members(d *document.Document) []document.Member {
	var list []document.Member
	add := func(name string, value any) {
		if text, err := marshal(value); err == nil {
			list = append(list, document.Member{Name: name, Value: text})
		}
	}
	if d.RevisionGiven {
		add("revision", d.Revision)
	}
	if d.Enabled != nil {
		add("sentinelEnabled", *d.Enabled)
	}
	if d.Mode != nil {
		add("mode", *d.Mode)
	}
	if len(d.Slots) > 0 {
		slots := map[string]bool{}
		for kind, on := range d.Slots {
			slots[kind.String()] = on
		}
		add("slots", slots)
	}
	if d.Cluster != nil {
		list = append(list, document.Member{Name: "cluster", Value: d.Cluster})
	}
	return append(list, d.Unknown()...)
}

// set takes a setting over; where documents disagree the first one counts.
func (c *conversion) set(m document.Member) {
	s := &c.settings
	if s.values == nil {
		s.values = map[string]json.RawMessage{}
	}
	var text bytes.Buffer
	if json.Compact(&text, m.Value) != nil {
		return
	}
	if old, there := s.values[m.Name]; there {
		if !bytes.Equal(old, text.Bytes()) {
			c.lose(chain.KindCustom, 0, "", m.Name, "an earlier document says %s, which stays", old)
		}
		return
	}
	s.order = append(s.order, m.Name)
	s.values[m.Name] = text.Bytes()
}

// single writes the single document: settings, sections, cluster, unknown members.
func (c *conversion) single() []byte {
	s := c.settings
	text := []byte("{\n  \"schemaVersion\": 1")
	add := func(name string, value []byte) {
		quoted, _ := marshal(name) // a string can always be written
		text = append(text, ",\n  "...)
		text = append(text, quoted...)
		text = append(text, ": "...)
		text = append(text, value...)
	}
	first := []string{"revision", "sentinelEnabled", "mode", "slots"}
	for _, name := range first {
		if value, there := s.values[name]; there {
			add(name, value)
		}
	}
	for _, name := range c.names {
		add(name, c.lists[name].indented("  "))
	}
	for _, name := range s.order {
		if !slices.Contains(first, name) {
			add(name, s.values[name])
		}
	}
	return append(text, "\n}\n"...)
}
