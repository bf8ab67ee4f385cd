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

// An index finds rules by flow id: open addressing with linear probing, half full at most. What a decision reads of a
// flow rule is in the slot, which fills a cache line: with many rules what costs is the lines that a decision touches,
// and these are two, the slot's and the window's.
type index[R any] struct {
	slots  []slot[R]
	shift  uint
	shared map[int64][]owned[R] // of ids that several namespaces have
}

type slot[R any] struct {
	id   int64 // 0: empty; below 0: of an id that several namespaces have
	rule R
}

type owned[R any] struct {
	ns   string
	rule R
}

// newIndex makes an index of the rules. If last is set a later rule replaces an earlier one of the same id.
func newIndex[R any](rules []R, key func(*R) (ns string, id int64), last bool) index[R] {
	if len(rules) == 0 {
		return index[R]{}
	}
	width := uint(bits.Len(uint(2*len(rules) - 1)))
	x := index[R]{slots: make([]slot[R], 1<<width), shift: 64 - width}
	for i := range rules {
		rule := &rules[i]
		ns, id := key(rule)
		s := x.slot(id)
		if s.id == 0 || last {
			s.id, s.rule = id, *rule
			continue
		}
		if x.shared == nil {
			x.shared = map[int64][]owned[R]{}
		}
		if s.id > 0 {
			first, _ := key(&s.rule)
			s.id = -id
			x.shared[id] = []owned[R]{{first, s.rule}}
		}
		x.shared[id] = append(x.shared[id], owned[R]{ns, *rule})
	}
	return x
}

// slot returns the slot of an id, or the empty one where it belongs. There must be slots.
func (x *index[R]) slot(id int64) *slot[R] {
	// Fibonacci hashing (Knuth, TAOCP 6.4) of all but the lowest bits, so that neighbouring ids are neighbours.
	const golden, near = 0x9E3779B97F4A7C15, 16
	mask := len(x.slots) - 1
	for i := int(uint64(id/near)*golden>>x.shift) ^ int(id%near); ; i++ {
		if s := &x.slots[i&mask]; s.id == id || s.id == 0 || s.id == -id {
			return s
		}
	}
}

// find returns the rule of that id: the namespace's own, else the only one; conflict says that there are several.
func (x *index[R]) find(ns string, id int64) (rule *R, conflict bool) {
	if len(x.slots) == 0 {
		return nil, false
	}
	s := x.slot(id)
	switch s.id {
	case id:
		return &s.rule, false
	case 0:
		return nil, false
	}
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
