package envoyrls

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// maxDepth bounds how deep descriptors are nested; a request has no more entries.
const maxDepth = maxEntries

// described is a descriptor of envoyproxy/ratelimit's format as the file has it.
type described struct {
	entry                 Entry
	limit, below          *yaml.Node
	shadow, quota, shared bool
}

// ratelimit reads the descriptors of envoyproxy/ratelimit's format.
func (r *reader) ratelimit(d *domain, list []*yaml.Node) { r.level(d, &d.root, nil, list) }

// level reads a list of descriptors below others.
func (r *reader) level(d *domain, into *level, above []Entry, list []*yaml.Node) {
	if len(above) >= maxDepth {
		r.refuse(list[0], "descriptors are nested more than %d deep", maxDepth)
		return
	}
	for _, n := range list {
		read := r.described(n)
		if read.entry.Key == "" {
			r.refuse(n, "the key of a descriptor is missing")
			continue
		}
		made := into.add(read)
		if made == nil {
			r.refuse(n, "there is a descriptor of this key and value before, at the same level")
			continue
		}
		entries := append(slices.Clip(above), read.entry)
		if read.limit != nil {
			made.rule = r.rule(d, n, entries, read)
		}
		if read.below != nil {
			if nested := r.elements(read.below, "descriptors"); len(nested) > 0 {
				r.level(d, &made.below, entries, nested)
			}
		}
	}
}

// described reads the members of a descriptor.
func (r *reader) described(n *yaml.Node) (read described) {
	for _, m := range r.members(n, "a descriptor") {
		switch m.name {
		case "key":
			read.entry.Key = r.text(m)
		case "value":
			read.entry.Value = r.text(m)
		case "rate_limit":
			read.limit = m.value
		case "descriptors":
			read.below = m.value
		case "shadow_mode":
			read.shadow = r.boolean(m)
		case "quota_mode":
			read.quota = r.boolean(m)
		case "share_threshold":
			read.shared = r.boolean(m)
		case "detailed_metric", "value_to_metric": // about names of figures
		case "resources", "count":
			r.refuse(m.at, "%q belongs to the other format; a file has descriptors with either resources or a key", m.name)
		default:
			r.unknown(m)
		}
	}
	if read.shared && !strings.HasSuffix(read.entry.Value, "*") {
		r.warn(n, "share_threshold has no effect without a value that ends in *")
	}
	return read
}

// add adds a descriptor to a level; nil if there is one of its key and value.
func (l *level) add(read described) *descriptor {
	made, e := &descriptor{}, read.entry
	prefix, wild := strings.CutSuffix(e.Value, "*")
	switch {
	case e.Value == "":
		if l.any[e.Key] != nil {
			return nil
		}
		l.any = store(l.any, e.Key, made)
	case wild:
		if slices.ContainsFunc(l.prefix[e.Key], func(w wildcard) bool { return w.prefix == prefix }) {
			return nil
		}
		if read.shared {
			made.shared = e.Value
		}
		all := append(l.prefix[e.Key], wildcard{prefix, made})
		slices.SortStableFunc(all, func(a, b wildcard) int { return len(b.prefix) - len(a.prefix) })
		l.prefix = store(l.prefix, e.Key, all)
	default:
		if l.exact[e] != nil {
			return nil
		}
		l.exact = store(l.exact, e, made)
	}
	return made
}

func store[K comparable, V any](in map[K]V, key K, value V) map[K]V {
	if in == nil {
		in = map[K]V{}
	}
	in[key] = value
	return in
}

// several is a multiplier as messages have it: not set for one.
func several(multiplier uint32) *wrapperspb.UInt32Value {
	if multiplier == 1 {
		return nil
	}
	return wrapperspb.UInt32(multiplier)
}
