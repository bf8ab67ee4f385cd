package hotspot

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A shard is a part of the table. Looking up is lock-free; mu is held to add and remove values and to refill buckets.
type shard struct {
	mu    sync.Mutex
	index atomic.Pointer[index] // nil until the first value
	ring  []uint32              // guarded by mu: places of all values, in the order of the clock hand
	free  []uint32              // guarded by mu: places of dead values
	hand  int                   // guarded by mu
	gone  uint64                // guarded by mu: values evicted so far
	_     [48]byte              // to 128 bytes: no two locks within a pair of cache lines
}

// add puts a value into the shard, at a place that is not in the ring. Caller holds mu.
func (s *shard) add(place uint32, records *slab) {
	s.ring = append(s.ring, place)
	x := s.index.Load()
	if x == nil || !roomFor(len(s.ring), len(x.slots)) {
		s.grow(records)
		return
	}
	x.add(records.at(place).tag, place)
}

// grow builds an index of twice the size from the ring. Lookups in the old one find what was there before.
func (s *shard) grow(records *slab) {
	slots := minSlots
	for !roomFor(len(s.ring), slots) {
		slots *= 2
	}
	x := newIndex(slots)
	for _, place := range s.ring {
		x.add(records.at(place).tag, place)
	}
	s.index.Store(x)
}

// freed returns a place that the shard does not use any more. Caller holds mu.
func (s *shard) freed() (place uint32, ok bool) {
	last := len(s.free) - 1
	if last < 0 {
		return 0, false
	}
	place, s.free = s.free[last], s.free[:last]
	return place, true
}

// replace makes the record of a victim that of another key. Caller holds mu.
func (s *shard) replace(place uint32, v *value, p *probe, b *birth) form {
	x := s.index.Load()
	x.remove(v.tag, place)
	s.gone++
	f := v.assign(p, b)
	x.add(v.tag, place)
	return f
}

// remove takes a dead value out. Caller holds mu.
func (s *shard) remove(seat int, v *value) {
	place, last := s.ring[seat], len(s.ring)-1
	s.index.Load().remove(v.tag, place)
	s.ring[seat] = s.ring[last]
	s.ring = s.ring[:last]
	s.free = append(s.free, place)
	s.gone++
}

// seatOf returns the seat of a value in the ring. It looks at all of them. Caller holds mu.
func (s *shard) seatOf(v *value, records *slab) int {
	return slices.IndexFunc(s.ring, func(place uint32) bool { return records.at(place) == v })
}

// victim finds the seat of the value to evict and marks the value dead: generalized CLOCK (A. J. Smith, "Sequentiality and prefetching
// in database systems", 1978). The hand goes round; it takes a value that is idle, or one without a use since it last
// came by, and takes one of at most maxHeat noted uses from the others. A value that comes once is gone after one
// round at the latest, one that comes again within a round stays, however many others come once; unlike with SIEVE or
// a small first queue, a newcomer has a whole round to show that it comes again. Values with calls in flight are never
// taken, values with calls queued only if there are no others. Caller holds mu.
func (s *shard) victim(records *slab, now int64, useOf useFunc) (seat int, v *value) {
	for range maxHeat + 1 {
		candidates := false
		for range len(s.ring) {
			seat, v := s.next(records)
			state := v.state.Load()
			u := useOf(v, state, now)
			candidates = candidates || u < useQueued
			if (u == useIdle || u == useRecent && v.cool()) && v.state.CompareAndSwap(state, stateDead) {
				return seat, v
			}
		}
		if !candidates {
			break
		}
	}
	for range len(s.ring) {
		seat, v := s.next(records)
		if state := v.state.Load(); useOf(v, state, now) <= useQueued && v.state.CompareAndSwap(state, stateDead) {
			return seat, v
		}
	}
	return 0, nil
}

// next moves the hand on.
func (s *shard) next(records *slab) (seat int, v *value) {
	if s.hand >= len(s.ring) {
		s.hand = 0
	}
	s.hand++
	return s.hand - 1, records.at(s.ring[s.hand-1])
}
