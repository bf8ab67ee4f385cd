package token

import (
	"cmp"
	"math/bits"
	"slices"
)

// A table is one immutable state of the rules of all namespaces.
type table struct {
	flows  index[hotFlow]
	params index[*paramRule]
}

// An index finds rules by flow id. What a decision reads of the rules is side by side, in the order of the ids, and
// found through small places (open addressing with linear probing, half full at most): with many rules what costs is the
// memory that decisions touch, and neighbours in use share it.
type index[R any] struct {
	places []place
	shift  uint
	rules  []entry[R]
	shared map[int64][]owned[R] // of ids that several namespaces have
}

type place struct {
	low uint32 // half of the id
	at  uint32 // number of the entry plus 1; 0: none
}

type entry[R any] struct {
	id   int64
	rule R
}

type owned[R any] struct {
	ns   string
	rule R
}

// newIndex makes an index of the rules, which it sorts. If last is set a later rule replaces an earlier one of the same
// id.
func newIndex[R any](rules []R, key func(*R) (ns string, id int64), last bool) index[R] {
	if len(rules) == 0 {
		return index[R]{}
	}
	idOf := func(r *R) int64 { _, id := key(r); return id }
	slices.SortStableFunc(rules, func(a, b R) int { return cmp.Compare(idOf(&a), idOf(&b)) })
	width := uint(bits.Len(uint(max(near, 2*len(rules)) - 1)))
	x := index[R]{places: make([]place, 1<<width), shift: 64 - width, rules: make([]entry[R], 0, len(rules))}
	for len(rules) > 0 {
		id, n := idOf(&rules[0]), 1
		for n < len(rules) && idOf(&rules[n]) == id {
			n++
		}
		if n == 1 || last {
			x.add(id, entry[R]{id, rules[n-1]})
		} else {
			x.share(id, rules[:n], key)
		}
		rules = rules[n:]
	}
	return x
}

// near is how many neighbouring ids have neighbouring places: those that fill two cache lines.
const near = 16

// home returns the first place to look for an id.
func (x *index[R]) home(id int64) int {
	const golden = 0x9E3779B97F4A7C15 // Fibonacci hashing (Knuth, TAOCP 6.4)
	return int(uint64(id/near)*golden>>x.shift)&^(near-1) | int(id%near)
}

func (x *index[R]) add(id int64, e entry[R]) {
	x.rules = append(x.rules, e)
	i, mask := x.home(id), len(x.places)-1
	for x.places[i&mask].at != 0 {
		i++
	}
	x.places[i&mask] = place{uint32(id), uint32(len(x.rules))}
}

// share adds an id that several namespaces have.
func (x *index[R]) share(id int64, rules []R, key func(*R) (ns string, id int64)) {
	if x.shared == nil {
		x.shared = map[int64][]owned[R]{}
	}
	for i := range rules {
		ns, _ := key(&rules[i])
		x.shared[id] = append(x.shared[id], owned[R]{ns, rules[i]})
	}
	x.add(id, entry[R]{id: -id})
}

// guess returns where the rule of an id is likely to be, for check; 0 if that is not known at once.
func (x *index[R]) guess(id int64) (at uint32) {
	if len(x.places) == 0 {
		return 0
	}
	if p := x.places[x.home(id)&(len(x.places)-1)]; p.low == uint32(id) {
		return p.at
	}
	return 0
}

// check returns the rule that was guessed, nil if it is not that of the id.
func (x *index[R]) check(at uint32, id int64) *R {
	if at == 0 || x.rules[at-1].id != id {
		return nil
	}
	return &x.rules[at-1].rule
}

// find returns the rule of that id: the namespace's own, else the only one; conflict says that there are several.
func (x *index[R]) find(ns string, id int64) (rule *R, conflict bool) {
	if len(x.places) == 0 {
		return nil, false
	}
	mask := len(x.places) - 1
	for i := x.home(id); ; i++ {
		p := x.places[i&mask]
		if p.at == 0 {
			return nil, false
		}
		if p.low != uint32(id) {
			continue
		}
		switch e := &x.rules[p.at-1]; e.id {
		case id:
			return &e.rule, false
		case -id:
			return x.findShared(ns, id)
		}
	}
}

func (x *index[R]) findShared(ns string, id int64) (rule *R, conflict bool) {
	list := x.shared[id]
	for i := range list {
		if list[i].ns == ns {
			return &list[i].rule, false
		}
	}
	return nil, true
}

// publish makes the table of all spaces. The caller holds mu.
func (s *Service) publish() {
	var flows []hotFlow
	var params []*paramRule
	for _, sp := range s.byLoad(func(sp *space) int64 { return sp.flowLoad }) {
		for _, f := range sp.flows {
			flows = append(flows, f.hotFlow)
		}
	}
	for _, sp := range s.byLoad(func(sp *space) int64 { return sp.paramLoad }) {
		params = append(params, sp.params...)
	}
	next := &table{
		flows:  newIndex(flows, func(f *hotFlow) (string, int64) { return f.cold.key() }, s.compatible),
		params: newIndex(params, func(p **paramRule) (string, int64) { return (*p).key() }, s.compatible),
	}
	now := s.Now()
	for _, f := range s.handOver {
		f(now)
	}
	s.handOver = nil
	s.table.Store(next)
}

// byLoad returns the spaces, the one loaded last at the end. The caller holds mu.
func (s *Service) byLoad(load func(*space) int64) []*space {
	list := make([]*space, 0, len(s.spaces))
	for _, sp := range s.spaces {
		list = append(list, sp)
	}
	slices.SortFunc(list, func(a, b *space) int { return cmp.Compare(load(a), load(b)) })
	return list
}
