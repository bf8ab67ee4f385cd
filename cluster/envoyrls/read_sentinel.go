package envoyrls

import (
	"math"
	"slices"
	"strings"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.yaml.in/yaml/v3"
)

// maxCount is the largest limit that counts exactly.
const maxCount = 1 << 53

// sentinel reads the descriptors of the rule file of Sentinel's Envoy token server: each is a count per second for a
// list of keys and values. As there, the later of two for the same list is in force.
func (r *reader) sentinel(d *domain, list []*yaml.Node) {
	at := map[string]int{}
	for _, n := range list {
		made := r.sentinelRule(d, n)
		if made == nil {
			continue
		}
		if i, ok := at[made.id]; ok {
			r.warn(n, "this descriptor takes the place of the one in line %d", d.rules[i].line)
			d.rules[i] = made
		} else {
			at[made.id] = len(d.rules)
			d.rules = append(d.rules, made)
		}
		d.root.put(made)
	}
}

func (r *reader) sentinelRule(d *domain, n *yaml.Node) *rule {
	made := &rule{line: n.Line, exact: true}
	counted := false
	for _, m := range r.members(n, "a descriptor") {
		switch m.name {
		case "resources":
			made.entries = r.resources(m)
		case "count":
			counted = true
			made.limit = perSecond(r.number(m))
		case "key", "value", "rate_limit", "descriptors":
			r.refuse(m.at, "%q belongs to the other format; a file has descriptors with either resources or a key", m.name)
		default:
			r.unknown(m)
		}
	}
	if !counted {
		r.refuse(n, "count is missing")
	}
	if len(made.entries) == 0 {
		r.refuse(n, "resources are missing; a descriptor needs at least one key and value")
		return nil
	}
	made.path = pathOf(d.name, made.entries)
	made.id = idOf(d.name, made.entries)
	return made
}

// perSecond returns a limit of count hits a second. Hits are whole, so it admits count without its fraction.
func perSecond(count float64) limit {
	most := int64(min(count, maxCount))
	return newLimit(most, rls.RateLimitResponse_RateLimit_SECOND, 1, "")
}

// resources reads keys and values; they are a set in the order of the file.
func (r *reader) resources(m member) (entries []Entry) {
	for _, n := range r.elements(m.value, m.name) {
		var e Entry
		for _, m := range r.members(n, "a resource") {
			switch m.name {
			case "key":
				e.Key = r.text(m)
			case "value":
				e.Value = r.text(m)
			default:
				r.unknown(m)
			}
		}
		switch {
		case strings.TrimSpace(e.Key) == "" || strings.TrimSpace(e.Value) == "":
			r.refuse(n, "key and value of a resource must not be blank")
		case slices.Contains(entries, e):
			r.warn(n, "this resource is there twice; it counts once")
		default:
			entries = append(entries, e)
		}
	}
	return entries
}

// put makes the levels for a rule of exact values.
func (l *level) put(made *rule) {
	for i, e := range made.entries {
		if l.exact == nil {
			l.exact = map[Entry]*descriptor{}
		}
		d := l.exact[e]
		if d == nil {
			d = &descriptor{}
			l.exact[e] = d
		}
		if i == len(made.entries)-1 {
			d.rule = made
		}
		l = &d.below
	}
}

// newLimit makes a limit of so many hits per so many units.
func newLimit(most int64, u unit, multiplier uint32, name string) limit {
	length, _ := period(u, multiplier) // the caller checked it
	return limit{most: most, length: length, unit: u, current: &rls.RateLimitResponse_RateLimit{
		Name: name, RequestsPerUnit: uint32(min(most, math.MaxUint32)), Unit: u, UnitMultiplier: several(multiplier),
	}}
}
