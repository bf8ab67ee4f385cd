package hotspot

import (
	"math/bits"
	"sync/atomic"
)

// An index finds a shard's values by hash: linear probing, at most half full. One goroutine at a time changes it;
// any number look values up meanwhile without a lock. A lookup during a removal may miss a value that is there; whoever
// misses looks again under the shard's lock.
//
// Most of the cost of a lookup is the cache lines it touches. A slot has 4 bytes: the value's place below, in as many
// bits as the largest place needs, and as many bits of the hash as are left above, so that probing touches few values
// but the one wanted and a removal none; 0 if empty. So the index of 20,000 values takes 256 KiB, which stays in a
// core's second cache while their records and the callers' texts pass through: a newcomer touches two lines of it,
// its own and its victim's. (Two thirds full it took half of that, and newcomers 5 to 10 % longer: of a long run of slots
// nobody can foretell where it ends, and removals move values in it.)
type index struct {
	slots []atomic.Uint32
	shift uint // bits of a place
	whole bool // the rest of a slot tells where it belongs
}

const minSlots = 8

// newIndex makes an index for places up to largest. slots is a power of two.
func newIndex(slots int, largest uint32) *index {
	shift := bits.Len32(largest)
	return &index{slots: make([]atomic.Uint32, slots), shift: uint(shift), whole: shift+bits.Len(uint(slots-1)) <= 32}
}

// roomFor says whether n values, the last of them at a place, fit and leave half of the slots free.
func (x *index) roomFor(n int, place uint32) bool {
	return x != nil && fits(n, len(x.slots)) && place>>x.shift == 0
}

func fits(n, slots int) bool { return 2*n <= slots }

func (x *index) slotOf(tag, place uint32) uint32 { return tag<<(x.shift&31) | place }

// placeOf returns the place that a slot has.
func (x *index) placeOf(slot uint32) uint32 { return slot & (1<<(x.shift&31) - 1) }

// touch reads the line where a search for that hash begins.
func (x *index) touch(tag uint32) {
	if x != nil {
		x.slots[tag&uint32(len(x.slots)-1)].Load()
	}
}

// find returns the value of a key and its form, or nil, and the slot where the search ended.
func (x *index) find(p *probe, records *slab) (v *value, f form, end uint32) {
	if x == nil || len(x.slots) == 0 {
		return nil, 0, 0
	}
	slots, places := x.slots, uint32(1)<<(x.shift&31)-1
	mask, want := uint32(len(slots)-1), uint32(p.hash)<<(x.shift&31)
	for i := uint32(p.hash) & mask; ; i = (i + 1) & mask {
		slot := slots[i].Load()
		if slot == 0 {
			return nil, 0, i
		}
		if rest := slot ^ want; rest <= places { // it may just be changing to another value
			v := records.at(rest)
			if f := v.form.Load(); p.matches(v, f) && !p.isOther(v, records) {
				return v, f, i
			}
		}
	}
}

// endOf returns the empty slot where a search for a hash that is not there ends.
func (x *index) endOf(tag uint32) uint32 {
	mask := uint32(len(x.slots) - 1)
	i := tag & mask
	for x.slots[i].Load() != 0 {
		i = (i + 1) & mask
	}
	return i
}

// set fills an empty slot.
func (x *index) set(slot, tag, place uint32) { x.slots[slot].Store(x.slotOf(tag, place)) }

// remove takes a value out and moves later ones of the run forward (Knuth, TAOCP 6.4, algorithm R), so that no
// tombstones collect.
func (x *index) remove(tag, place uint32, s *store) {
	slots, mask := x.slots, uint32(len(x.slots)-1)
	hole, gone := tag&mask, x.slotOf(tag, place)
	for slots[hole].Load() != gone {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; ; i = (i + 1) & mask {
		slot := slots[i].Load()
		if slot == 0 {
			break
		}
		home := slot >> (x.shift & 31)
		if !x.whole {
			home = uint32(s.hashOf(s.slab.at(x.placeOf(slot))))
		}
		if (i-home)&mask >= (i-hole)&mask {
			slots[hole].Store(slot)
			hole = i
		}
	}
	slots[hole].Store(0)
}
