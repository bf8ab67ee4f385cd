package hotspot

import (
	"math/rand/v2"

	"github.com/tidegate-go/tidegate/chain"
)

// Known says whether a value is in the table.
func (c *Controller) Known(key Key) bool {
	p := c.table.hasher.probe(&key)
	v, _ := c.table.find(&p)
	return v != nil
}

// NewDivided makes a controller that Divide acts on.
func NewDivided(rule Rule) *Controller { return newDivided(rule) }

// ValuesOf returns the values of an argument as a token server is asked for them.
func ValuesOf(arg chain.Arg) (values []chain.Arg, skipped int) { return appendValues(nil, arg) }

// IndexMismatch runs random additions and removals on one shard, with hashes that crowd, against a map, and returns
// the number of the first step after which they differ, or -1.
func IndexMismatch(r *rand.Rand, steps int) int {
	h := newHasher()
	var s shard
	there := map[int]*value{}
	crowded := func(n int) probe {
		key := intKey(int64(n))
		p := h.probe(&key)
		p.hash = uint64(n%7+1) * 3
		return p
	}
	for step := range steps {
		n := r.IntN(60)
		p := crowded(n)
		if v := there[n]; v != nil {
			s.remove(s.placeOf(v))
			delete(there, n)
		} else {
			there[n] = &value{}
			there[n].assign(&p, nil, 0, false)
			s.add(there[n])
		}
		for n := range 60 {
			p := crowded(n)
			if v, _ := s.find(&p); v != there[n] {
				return step
			}
		}
	}
	return -1
}
