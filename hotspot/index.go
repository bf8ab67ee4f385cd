package hotspot

import (
	"math"
	"sync/atomic"
)

// An index finds a shard's values by hash: linear probing, at most two thirds full. One goroutine at a time changes it;
// any number look values up meanwhile without a lock. A lookup during a removal may miss a value that is there; whoever
// misses looks again under the shard's lock.
//
// Most of the cost of a lookup is the cache lines it touches. A slot has 8 bytes, no pointer: the low half of the hash
// above, so that probing touches no values but the one wanted and a removal none, and the value's place plus 1 below; 0
// if empty. So the index of 10,000 values takes 128 KiB, which stays in a core's cache while their 640 KB pass through.
type index struct{ slots []atomic.Uint64 }

const (
	minSlots = 8
	tagShift = 32
)

func newIndex(slots int) *index { return &index{make([]atomic.Uint64, slots)} }

// roomFor says whether n values leave a third of the slots free.
func roomFor(n, slots int) bool { return 3*n <= 2*slots }

func slotOf(tag, place uint32) uint64 { return uint64(tag)<<tagShift | uint64(place+1) }

// find returns the value of a key and its form, or nil, which it finds in a nil index.
func (x *index) find(p *probe, records *slab) (*value, form) {
	if x == nil {
		return nil, 0
	}
	slots, tag := x.slots, p.hash&math.MaxUint32
	mask := uint64(len(slots) - 1)
	for i := tag; ; i++ {
		slot := slots[i&mask].Load()
		if slot == 0 {
			return nil, 0
		}
		if slot>>tagShift == tag { // it may just be changing to another value
			v := records.at(uint32(slot) - 1)
			if f := v.form.Load(); p.matches(v, f) && !p.isOther(v) {
				return v, f
			}
		}
	}
}

func (x *index) add(tag, place uint32) {
	mask := uint32(len(x.slots) - 1)
	i := tag & mask
	for x.slots[i].Load() != 0 {
		i = (i + 1) & mask
	}
	x.slots[i].Store(slotOf(tag, place))
}

// remove takes a place out and moves later ones of the run forward (Knuth, TAOCP 6.4, algorithm R), so that no
// tombstones collect.
func (x *index) remove(tag, place uint32) {
	mask := uint32(len(x.slots) - 1)
	hole, gone := tag&mask, slotOf(tag, place)
	for x.slots[hole].Load() != gone {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; ; i = (i + 1) & mask {
		slot := x.slots[i].Load()
		if slot == 0 {
			break
		}
		if home := uint32(slot >> tagShift); (i-home)&mask >= (i-hole)&mask {
			x.slots[hole].Store(slot)
			hole = i
		}
	}
	x.slots[hole].Store(0)
}
