package hotspot

import (
	"sync"
	"sync/atomic"
)

// A shard is a part of the table's index. Looking up is lock-free; mu is held to add and remove values and to refill
// their buckets. What lookups read is not in the cache line that a newcomer writes.
type shard struct {
	index atomic.Pointer[index] // nil until the first value
	_     [56]byte

	mu   sync.Mutex
	used int    // guarded by mu: values in the index
	gone uint64 // guarded by mu: values evicted so far
	_    [40]byte
}

// add puts a value into the index, where the search for it ended. Caller holds mu.
func (s *shard) add(v *value, tag, end uint32, all *store) {
	s.used++
	x := s.index.Load()
	if !x.roomFor(s.used, v.place) {
		x = s.grow(x, v.place, all)
		end = x.endOf(tag)
	}
	x.set(end, tag, v.place)
}

// grow builds an index that has room for one value more, at a place. Lookups in the old one find what was there before.
func (s *shard) grow(old *index, place uint32, all *store) *index {
	slots := minSlots
	for !fits(s.used, slots) {
		slots *= 2
	}
	x := newIndex(slots, max(place, all.slab.end.Load()))
	if old != nil {
		for i := range old.slots {
			if slot := old.slots[i].Load(); slot != 0 {
				at := old.placeOf(slot)
				tag := uint32(all.hashOf(all.slab.at(at)))
				x.set(x.endOf(tag), tag, at)
			}
		}
	}
	s.index.Store(x)
	return x
}

// remove takes a dead value out of the index. Caller holds mu.
func (s *shard) remove(v *value, tag uint32, all *store) {
	s.index.Load().remove(tag, v.place, all)
	s.used--
	s.gone++
}
