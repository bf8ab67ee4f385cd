package token

import (
	"cmp"
	"math/bits"
	"slices"
)

// A table is one immutable state of the rules of all namespaces.
type table struct {
	flows  index[hotFlow]
	params index[paramRule]
}

// An index finds rules by flow id. With many rules what costs is the memory that decisions touch: where ids are close to
// each other, as those that a console counts up, they index an array; else there is a hash table (open addressing with linear
// probing, half full at most) in which neighbours have their places side by side, and a place holds the whole id, so that
// only the rule that is meant is touched.
type index[R any] struct {
	base   int64
	dense  []*R // from base on; nil: none, or shared
	places []place[R]
	shift  uint
	shared map[int64][]owned[R] // of ids that several namespaces have
}

type place[R any] struct {
	id   int64 // 0: none
	rule *R    // nil: shared
}

type owned[R any] struct {
	ns   string
	rule *R
}

// newIndex makes an index of the rules, which it sorts. If last is set a later rule replaces an earlier one of the same
// id.
func newIndex[R any](rules []*R, key func(*R) (ns string, id int64), last bool) index[R] {
	if len(rules) == 0 {
		return index[R]{}
	}
	idOf := func(r *R) int64 { _, id := key(r); return id }
	slices.SortStableFunc(rules, func(a, b *R) int { return cmp.Compare(idOf(a), idOf(b)) })
	x := index[R]{base: idOf(rules[0])}
	if span := idOf(rules[len(rules)-1]) - x.base; span < int64(4*len(rules)) {
		x.dense = make([]*R, span+1)
	} else {
		width := uint(bits.Len(uint(max(near, 2*len(rules)) - 1)))
		x.places, x.shift = make([]place[R], 1<<width), 64-width
	}
	for len(rules) > 0 {
		id, n := idOf(rules[0]), 1
		for n < len(rules) && idOf(rules[n]) == id {
			n++
		}
		if n == 1 || last {
			x.add(place[R]{id, rules[n-1]})
		} else {
			x.share(id, rules[:n], key)
		}
		rules = rules[n:]
	}
	return x
}

// near is how many neighbouring ids have neighbouring places: those that fill four cache lines.
const near = 16

// home returns the first place to look for an id.
func (x *index[R]) home(id int64) int {
	const golden = 0x9E3779B97F4A7C15 // Fibonacci hashing (Knuth, TAOCP 6.4)
	return int(uint64(id/near)*golden>>x.shift)&^(near-1) | int(id%near)
}

func (x *index[R]) add(p place[R]) {
	if x.dense != nil {
		x.dense[p.id-x.base] = p.rule
		return
	}
	i, mask := x.home(p.id), len(x.places)-1
	for x.places[i&mask].id != 0 {
		i++
	}
	x.places[i&mask] = p
}

// share adds an id that several namespaces have.
func (x *index[R]) share(id int64, rules []*R, key func(*R) (ns string, id int64)) {
	if x.shared == nil {
		x.shared = map[int64][]owned[R]{}
	}
	for _, r := range rules {
		ns, _ := key(r)
		x.shared[id] = append(x.shared[id], owned[R]{ns, r})
	}
	x.add(place[R]{id: id})
}

// find returns the rule of that id: the namespace's own, else the only one; conflict says that there are several.
func (x *index[R]) find(ns string, id int64) (rule *R, conflict bool) {
	if i := uint64(id - x.base); i < uint64(len(x.dense)) {
		if rule = x.dense[i]; rule != nil {
			return rule, false
		}
		return x.findShared(ns, id)
	}
	if len(x.places) == 0 || id == 0 {
		return nil, false
	}
	mask := len(x.places) - 1
	for i := x.home(id); ; i++ {
		switch p := &x.places[i&mask]; {
		case p.id == id && p.rule != nil:
			return p.rule, false
		case p.id == id:
			return x.findShared(ns, id)
		case p.id == 0:
			return nil, false
		}
	}
}

func (x *index[R]) findShared(ns string, id int64) (rule *R, conflict bool) {
	list := x.shared[id]
	for _, o := range list {
		if o.ns == ns {
			return o.rule, false
		}
	}
	return nil, len(list) > 0
}

// publish makes the table of all spaces. The caller holds mu.
func (s *Service) publish() {
	var flows []*hotFlow
	var params []*paramRule
	for _, sp := range s.byLoad(func(sp *space) int64 { return sp.flowLoad }) {
		for _, f := range sp.flows {
			flows = append(flows, f.hot)
		}
	}
	for _, sp := range s.byLoad(func(sp *space) int64 { return sp.paramLoad }) {
		params = append(params, sp.params...)
	}
	next := &table{
		flows:  newIndex(flows, (*hotFlow).key, s.compatible),
		params: newIndex(params, (*paramRule).key, s.compatible),
	}
	now := s.Now()
	for _, f := range s.handOver {
		f(now)
	}
	s.handOver = nil
	for _, sp := range s.spaces {
		for _, f := range sp.flows {
			f.enforce()
		}
	}
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
