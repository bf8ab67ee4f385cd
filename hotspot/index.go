package hotspot

import "sync/atomic"

// An index finds values by hash: linear probing, at most two thirds full. One goroutine at a time changes it; any number
// look values up meanwhile without a lock. A lookup during a removal may miss a value that is there; whoever misses
// looks again under the shard's lock.
type index struct {
	slots []slot
}

// A slot holds a value's hash beside it, so that probing touches no values but the one wanted: most of the cost of a
// lookup is the cache lines it touches.
type slot struct {
	hash  atomic.Uint64 // 0: empty
	value atomic.Pointer[value]
}

const minSlots = 8

func newIndex(slots int) *index { return &index{make([]slot, slots)} }

// roomFor says whether n values leave a third of the slots free.
func roomFor(n, slots int) bool { return 3*n <= 2*slots }

func (x *index) find(p *probe) (*value, form) {
	slots := x.slots
	mask := uint64(len(slots) - 1)
	for i := p.hash; ; i++ {
		s := &slots[i&mask]
		switch s.hash.Load() {
		case 0:
			return nil, 0
		case p.hash: // the slot may just be changing to another value
			if v := s.value.Load(); v != nil {
				if f, same := p.matches(v); same {
					return v, f
				}
			}
		}
	}
}

func (x *index) add(hash uint64, v *value) {
	mask := uint64(len(x.slots) - 1)
	i := hash & mask
	for x.slots[i].hash.Load() != 0 {
		i = (i + 1) & mask
	}
	x.slots[i].set(hash, v)
}

func (s *slot) set(hash uint64, v *value) {
	s.value.Store(v)
	s.hash.Store(hash)
}

// remove takes v out and moves later values of the run forward (Knuth, TAOCP 6.4, algorithm R), so that no
// tombstones collect.
func (x *index) remove(hash uint64, v *value) {
	mask := uint64(len(x.slots) - 1)
	hole := hash & mask
	for x.slots[hole].value.Load() != v {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; ; i = (i + 1) & mask {
		next := x.slots[i].hash.Load()
		if next == 0 {
			break
		}
		if (i-next)&mask >= (i-hole)&mask { // its home is at or before the hole
			x.slots[hole].set(next, x.slots[i].value.Load())
			hole = i
		}
	}
	x.slots[hole].hash.Store(0)
	x.slots[hole].value.Store(nil)
}
