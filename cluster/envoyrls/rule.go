package envoyrls

import (
	"encoding/binary"
	"sync/atomic"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// rule is a limit of a file. It does not change once it is in force.
type rule struct {
	entries   []Entry
	path      string // as envoyproxy/ratelimit names it in its figures: "domain.key_value.key"
	id        string // unambiguous; figures go from rule to rule by it when files are loaded anew
	line      int
	exact     bool // every entry has one value
	unlimited bool
	shadow    bool // never refuses
	quota     bool // refuses the descriptor, never the request
	replaces  []string
	limit
	tally *tally // set when the rule comes into force
}

// limit is how much is admitted in which period.
type limit struct {
	most    int64 // hits
	length  int64 // ns
	unit    unit
	current *rls.RateLimitResponse_RateLimit // as answers tell it; shared by all of them
}

// soft says whether the request goes on when the limit is exceeded.
func (r *rule) soft() bool { return r.shadow || r.quota }

// tally counts hits of a rule.
type tally struct {
	total, within, near, over, shadow atomic.Uint64

	overflow counter // of descriptors that no counter could be had for; guarded by table.overflowing
}

// domain is the content of a file.
type domain struct {
	name      string
	format    string
	root      level
	rules     []*rule // in the order of the file
	replacing bool    // a rule replaces others
	overrides *rule   // stands for the limits that requests bring
}

// level is a list of descriptors of a file.
type level struct {
	exact  map[Entry]*descriptor
	prefix map[string][]wildcard // by key; longest prefix first
	any    map[string]*descriptor
}

type wildcard struct {
	prefix string
	*descriptor
}

// descriptor is an entry of a file with what is below it.
type descriptor struct {
	rule   *rule // nil: none
	below  level
	shared string // the pattern that all its values are counted under; "": each value by itself
}

// find returns the descriptor for an entry, the most specific one: that of its value, that of the longest prefix of its
// value, that of its key.
func (l *level) find(key, value string) *descriptor {
	if d := l.exact[Entry{key, value}]; d != nil {
		return d
	}
	for _, w := range l.prefix[key] {
		if len(value) >= len(w.prefix) && value[:len(w.prefix)] == w.prefix {
			return w.descriptor
		}
	}
	return l.any[key]
}

// match returns the rule for the entries of a request, nil if there is none: the entries lead down the levels of the
// file one by one, without going back, and all of them must. It appends to key what the entries are counted under.
func (d *domain) match(entries []*common.RateLimitDescriptor_Entry, key []byte) (*rule, []byte) {
	at := &d.root
	for i, e := range entries {
		found := at.find(e.Key, e.Value)
		if found == nil {
			return nil, key
		}
		if found.shared != "" {
			key = appendEntry(key, e.Key, found.shared, true)
		} else {
			key = appendEntry(key, e.Key, e.Value, false)
		}
		if i == len(entries)-1 {
			return found.rule, key
		}
		at = &found.below
	}
	return nil, key
}

// appendEntry appends an entry so that different lists of entries never become the same bytes.
func appendEntry(to []byte, key, value string, pattern bool) []byte {
	size := uint64(len(value)) << 1
	if pattern {
		size |= 1
	}
	to = appendText(to, key)
	return append(binary.AppendUvarint(to, size), value...)
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}
