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
	ring  []*value              // guarded by mu: all values, in the order of the clock hand
	hand  int                   // guarded by mu
	gone  uint64                // guarded by mu: values evicted so far
	_     [72]byte              // to 128 bytes: no two locks within a pair of cache lines
}

func (s *shard) find(p *probe) (*value, form) {
	if x := s.index.Load(); x != nil {
		return x.find(p)
	}
	return nil, 0
}

// add puts a new value into the shard. Caller holds mu.
func (s *shard) add(v *value) {
	s.ring = append(s.ring, v)
	x := s.index.Load()
	if x == nil || !roomFor(len(s.ring), len(x.slots)) {
		s.grow()
		return
	}
	x.add(v.hash.Load(), v)
}

// grow builds an index of twice the size from the ring. Lookups in the old one find what was there before.
func (s *shard) grow() {
	slots := minSlots
	for !roomFor(len(s.ring), slots) {
		slots *= 2
	}
	x := newIndex(slots)
	for _, v := range s.ring {
		x.add(v.hash.Load(), v)
	}
	s.index.Store(x)
}

// leave takes a victim's record out of the index, to be that of another key; enter puts it back. Caller holds mu.
func (s *shard) leave(place int) *value {
	v := s.ring[place]
	s.index.Load().remove(v.hash.Load(), v)
	s.gone++
	return v
}

func (s *shard) enter(v *value) { s.index.Load().add(v.hash.Load(), v) }

// remove takes a victim out. Caller holds mu.
func (s *shard) remove(place int) {
	victim := s.ring[place]
	s.index.Load().remove(victim.hash.Load(), victim)
	last := len(s.ring) - 1
	s.ring[place], s.ring[last] = s.ring[last], nil
	s.ring = s.ring[:last]
	s.gone++
}

// placeOf returns the seat of a value in the shard. It looks at all of them. Caller holds mu.
func (s *shard) placeOf(v *value) int {
	return slices.Index(s.ring, v)
}

// victim finds the seat of the value to evict and marks the value dead: generalized CLOCK (A. J. Smith, "Sequentiality and prefetching
// in database systems", 1978). The hand goes round; it takes a value that is idle, or one without a use since it last
// came by, and takes one of at most maxHeat noted uses from the others. A value that comes once is gone after one
// round at the latest, one that comes again within a round stays, however many others come once; unlike with SIEVE or
// a small first queue, a newcomer has a whole round to show that it comes again. Values with calls in flight are never
// taken, values with calls queued only if there are no others. Caller holds mu.
func (s *shard) victim(now int64, useOf useFunc) (place int, ok bool) {
	for range maxHeat + 1 {
		candidates := false
		for range len(s.ring) {
			place, v := s.next()
			u := useOf(v, v.state.Load(), now)
			candidates = candidates || u < useQueued
			if u == useIdle || u == useRecent && v.cool() {
				if v.kill(useOf, now, useRecent) {
					return place, true
				}
			}
		}
		if !candidates {
			break
		}
	}
	for range len(s.ring) {
		if place, v := s.next(); v.kill(useOf, now, useQueued) {
			return place, true
		}
	}
	return 0, false
}

// next moves the hand on.
func (s *shard) next() (place int, v *value) {
	if s.hand >= len(s.ring) {
		s.hand = 0
	}
	s.hand++
	return s.hand - 1, s.ring[s.hand-1]
}

// kill marks v dead if no more than worst is lost by it. Caller holds the shard's mu.
func (v *value) kill(useOf useFunc, now int64, worst use) bool {
	state := v.state.Load()
	for state != stateDead && useOf(v, state, now) <= worst {
		if v.state.CompareAndSwap(state, stateDead) {
			return true
		}
		state = v.state.Load()
	}
	return false
}
