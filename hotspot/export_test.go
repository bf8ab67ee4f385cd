package hotspot

import (
	"math/rand/v2"

	"github.com/tidegate-go/tidegate/chain"
)

// Known says whether a value is in the table.
func (c *Controller) Known(key Key) bool {
	p := probe{key: &key}
	c.table.hasher.prepare(&p)
	v, _ := c.table.find(&p)
	return v != nil
}

// Records returns how many records the table has made.
func (c *Controller) Records() int { return int(c.table.slab.places) }

// NewDivided makes a controller that Divide acts on.
func NewDivided(rule Rule) *Controller { return newDivided(rule) }

// ValuesOf returns the values of an argument as a token server is asked for them.
func ValuesOf(arg chain.Arg) (values []chain.Arg, skipped int) { return appendValues(nil, arg) }

// IndexMismatch runs random additions and removals on one shard, with hashes that crowd, against a map, and returns
// the number of the first step after which they differ, or -1.
func IndexMismatch(r *rand.Rand, steps int) int {
	h := newHasher()
	var t table
	s := &shard{}
	there := map[int]*value{}
	crowded := func(n int) probe {
		key := intKey(int64(n))
		p := probe{key: &key}
		h.prepare(&p)
		p.hash = uint64(n%7+1) * 3
		return p
	}
	for step := range steps {
		n := r.IntN(60)
		p := crowded(n)
		if v := there[n]; v != nil {
			v.state.Store(stateDead)
			s.remove(s.seatOf(v, &t.slab), v)
			delete(there, n)
		} else {
			there[n], _ = t.add(s, 0, &p, &birth{})
		}
		for n := range 60 {
			p := crowded(n)
			if v, _ := s.index.Load().find(&p, &t.slab); v != there[n] {
				return step
			}
		}
	}
	return -1
}
