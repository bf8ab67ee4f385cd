package envoyrls

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// limited is a rate_limit block as the file has it.
type limited struct {
	per        *uint32
	unit       string
	multiplier uint32
	unlimited  bool
	name       string
	replaces   []string
}

// rule reads the limit of a descriptor and adds the rule to the domain.
func (r *reader) rule(d *domain, n *yaml.Node, entries []Entry, from described) *rule {
	read := r.limited(from.limit)
	made := &rule{
		entries: entries, line: n.Line, path: pathOf(d.name, entries), id: idOf(d.name, entries), exact: true,
		unlimited: read.unlimited, shadow: from.shadow, quota: from.quota, replaces: read.replaces,
	}
	for _, e := range entries {
		made.exact = made.exact && e.Value != "" && !strings.HasSuffix(e.Value, "*")
	}
	d.replacing = d.replacing || len(made.replaces) > 0
	made.limit = r.amount(from.limit, read)
	d.rules = append(d.rules, made)
	return made
}

// amount checks what a rate_limit block says.
func (r *reader) amount(n *yaml.Node, read limited) limit {
	if read.unlimited {
		if read.unit != "" {
			r.refuse(n, "an unlimited rate_limit has no unit")
		}
		return newLimit(0, 0, 1, read.name)
	}
	u, ok := parseUnit(read.unit)
	switch {
	case !ok:
		r.refuse(n, "unit is %q; it must be second, minute, hour, day, week, month or year", read.unit)
		return limit{}
	case read.per == nil:
		r.refuse(n, "requests_per_unit is missing")
		return limit{}
	}
	if _, ok := period(u, read.multiplier); !ok {
		r.refuse(n, "unit_multiplier must be at least 1, and the period at most 100 years")
		return limit{}
	}
	return newLimit(int64(*read.per), u, read.multiplier, read.name)
}

// limited reads the members of a rate_limit block.
func (r *reader) limited(n *yaml.Node) limited {
	read := limited{multiplier: 1}
	var replaces []*yaml.Node
	for _, m := range r.members(n, "rate_limit") {
		switch m.name {
		case "requests_per_unit":
			per := r.whole(m)
			read.per = &per
		case "unit":
			read.unit = r.text(m)
		case "unit_multiplier":
			read.multiplier = r.whole(m)
		case "unlimited":
			read.unlimited = r.boolean(m)
		case "name":
			read.name = r.text(m)
		case "replaces":
			replaces = r.elements(m.value, m.name)
		default:
			r.unknown(m)
		}
	}
	for _, n := range replaces {
		read.replaces = append(read.replaces, r.replaced(n, read.name))
	}
	return read
}

// replaced reads the name of a limit that another one replaces.
func (r *reader) replaced(n *yaml.Node, by string) (name string) {
	for _, m := range r.members(n, "what is replaced") {
		if m.name == "name" {
			name = r.text(m)
		} else {
			r.unknown(m)
		}
	}
	switch name {
	case "":
		r.refuse(n, "the name of what is replaced is missing")
	case by:
		r.refuse(n, "%q cannot replace itself", name)
	}
	return name
}

// pathOf names a rule as envoyproxy/ratelimit's figures do.
func pathOf(domain string, entries []Entry) string {
	var path strings.Builder
	path.WriteString(domain)
	for _, e := range entries {
		path.WriteString("." + e.Key)
		if e.Value != "" {
			path.WriteString("_" + e.Value)
		}
	}
	return path.String()
}

// idOf names a rule so that no other has the name.
func idOf(domain string, entries []Entry) string {
	id := appendText(nil, domain)
	for _, e := range entries {
		id = appendEntry(id, e.Key, e.Value, false)
	}
	return string(id)
}
