package hotspot

import (
	"fmt"
	"math/rand/v2"

	"github.com/tidegate-go/tidegate/chain"
)

// Known says whether a value is in the table.
func (c *Controller) Known(key Key) bool {
	var p probe
	c.table.hasher.prepare(&p, &key)
	v, _ := c.table.find(&p)
	return v != nil
}

// Records returns how many records the table has made.
func (c *Controller) Records() int { return int(c.table.store.Load().slab.end.Load()) - firstPlace }

// Inconsistency says what is wrong with a table that nobody uses at the moment: every living record is in the index
// once, every dead one is free, and they are counted.
func (c *Controller) Inconsistency() string {
	all := c.table.store.Load()
	living, indexed := 0, 0
	for place := uint32(firstPlace); place < all.slab.end.Load(); place++ {
		v := all.slab.at(place)
		if v.state.Load() == stateDead {
			continue
		}
		living++
		x := all.shardOf(all.hashOf(v)).index.Load()
		for i := range x.slots {
			if slot := x.slots[i].Load(); slot != 0 && x.placeOf(slot) == place {
				indexed++
			}
		}
	}
	used := 0
	for i := range all.shards {
		used += all.shards[i].used
	}
	if n := c.Len(); living != n || indexed != n || used != n || living+len(all.slab.free) != c.Records() {
		return fmt.Sprintf("%d values counted, %d living, %d in the index, %d in the shards, %d free of %d records",
			n, living, indexed, used, len(all.slab.free), c.Records())
	}
	return ""
}

// NewDivided makes a controller that Divide acts on.
func NewDivided(rule Rule) *Controller { return newDivided(rule) }

// ValuesOf returns the values of an argument as a token server is asked for them.
func ValuesOf(arg chain.Arg) (values []chain.Arg, skipped int) { return appendValues(nil, arg) }

// IndexMismatch runs random additions and removals on one shard, with hashes that crowd, against a map, and returns
// the number of the first step after which they differ, or -1.
// whole says whether slots tell where they belong.
func IndexMismatch(r *rand.Rand, steps int, whole bool) int {
	h := newHasher()
	all := &store{shards: make([]shard, 1), mixer: h.mixer}
	s := &all.shards[0]
	if !whole {
		s.index.Store(newIndex(128, 1<<28))
	}
	numbers := crowd(&h)
	there := map[int]*value{}
	for step := range steps {
		n := r.IntN(60)
		if v := there[n]; v != nil {
			all.kill(s, v, uint32(all.hashOf(v)), v.state.Load())
			all.slab.giveBack(v)
			delete(there, n)
		} else {
			p := numberProbe(&h, numbers[n])
			there[n] = all.slab.take()
			_, _, end := s.index.Load().find(&p, &all.slab)
			all.add(s, there[n], &p, end, &birth{})
		}
		for n := range 60 {
			p := numberProbe(&h, numbers[n])
			if v, _, _ := s.index.Load().find(&p, &all.slab); v != there[n] {
				return step
			}
		}
	}
	return -1
}

// crowd returns 60 numbers that belong to few slots.
func crowd(h *hasher) (numbers []uint64) {
	for n := uint64(0); len(numbers) < 60; n++ {
		if p := numberProbe(h, n); p.hash%128/3 < 7 || p.hash%128 > 124 {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

func numberProbe(h *hasher, n uint64) probe {
	var p probe
	h.ofNumber(&p, classInt, n)
	return p
}
