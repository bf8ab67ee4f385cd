package hotspot

import (
	"math"
	"sync/atomic"
)

// Special states of a value.
const (
	stateDead  = math.MinInt64     // evicted, or not in use: look the value up again
	stateFresh = math.MinInt64 + 1 // no call yet, or every one undone
)

// maxHeat bounds how often a value may be passed over by eviction after its last use.
const maxHeat = 3

// A value is what the table keeps of one hot value: 64 bytes, a cache line. A hit touches this line and one of the index,
// nothing else; two values never share a line, however many cores use them.
//
// A record is used again for another key when its value is evicted, so a table at its capacity allocates nothing for
// new values. Callers find a record without a lock, so they may hold one that becomes another value's meanwhile. They
// see it by form, which changes with every use of the record: whoever has reserved looks at it again and, if it has
// changed, starts anew. What such a caller may have taken from the other value, if its state happened to be the same
// between a load and a compare-and-swap, is a token or a place: never is too much admitted. Calls in flight, which
// would be held for ever, have the form in their state.
type value struct {
	bits  [2]atomic.Uint64 // see probe
	state atomic.Int64
	since atomic.Int64  // bucket: time of the last refill in ms
	stat  atomic.Uint64 // passes, see top.go and spent.go
	form  atomic.Uint32
	heat  atomic.Uint32 // use since the clock hand came by
	place uint32        // its own; does not change
	_     [3]uint32
}

// A form is the kind of a record's key and how often the record was used before.
type form = uint32

const (
	classBits = 4 // class of the key
	sizeBits  = 5 // length of a text kept in bits
	kindMask  = 1<<(classBits+sizeBits) - 1
	ownForm   = 1 << (classBits + sizeBits) // the extra has a limit
	nextForm  = ownForm << 1
)

func kindOf(c class, size int) form { return form(size)<<classBits | form(c) }

func classOf(f form) class { return class(f & (1<<classBits - 1)) }

// An extra is what not every value needs. The slab keeps it beside the records.
type extra struct {
	obj   any    // as in Key; does not change
	limit *limit // the exception item's; does not change

	// Guarded by the shard's mu:
	room int64         // burst: units the last refill left unfilled
	size int           // length of a text not kept in bits
	text [maxText]byte // its beginning
	kept uint8         // how much of text is in use
}

// fixed says that the extra belongs to one key and cannot be another's.
func (x *extra) fixed() bool { return x != nil && (x.obj != nil || x.limit != nil) }

// touch notes a use. It writes only after the hand has come by, so the line of a hot value is not written for it.
func (v *value) touch() {
	if h := v.heat.Load(); h < maxHeat {
		v.heat.Store(h + 1)
	}
}

// cool takes one use back and says whether there was none.
func (v *value) cool() bool {
	h := v.heat.Load()
	if h > 0 {
		v.heat.Store(h - 1)
	}
	return h == 0
}

// is says whether the record still is the value that it was when it had that form.
func (v *value) is(f form) bool { return v.form.Load() == f }

// A birth is what a new value begins with: the state after its first call, which always passes.
type birth struct {
	own   *limit // the exception item's, or nil
	state int64  // concurrency: without the form
	since int64
	stat  uint64
	burst bool // it needs an extra, for its room
	pins  bool // concurrency
}

// assign makes the record that of a key and returns its form. Caller holds the shard's mu and alone has the record, which
// is dead. The form comes after all by which the record is found, the state last: who sees a state that is not dead and the
// form that the record had before and has now, has seen one value only. Each atomic store costs about 20 cycles, which
// is most of what a new value costs: it stores nothing twice, and nothing that is there already.
func (v *value) assign(p *probe, b *birth, records *slab) form {
	next := v.form.Load()&^(nextForm-1) + nextForm + p.kind
	if b.own != nil {
		next |= ownForm
	}
	v.bits[0].Store(p.bits[0])
	if v.bits[1].Load() != p.bits[1] {
		v.bits[1].Store(p.bits[1])
	}
	v.assignExtra(p, b, records)
	if v.since.Load() != b.since {
		v.since.Store(b.since)
	}
	if v.stat.Load() != b.stat {
		v.stat.Store(b.stat)
	}
	if v.heat.Load() != 0 {
		v.heat.Store(0)
	}
	v.form.Store(next)
	state := b.state
	if b.pins {
		state += flight(next)
	}
	v.state.Store(state)
	return next
}

// assignExtra sets what the key needs beside the record, in the record's own extra if that can be.
func (v *value) assignExtra(p *probe, b *birth, records *slab) {
	old, long := records.extraOf(v), p.long()
	if old == nil && !long && !b.burst && b.own == nil && p.obj == nil {
		return
	}
	x := old
	switch {
	case b.own != nil || p.obj != nil:
		x = &extra{obj: p.obj, limit: b.own}
	case x.fixed():
		x = nil
	}
	if x == nil && (long || b.burst) {
		x = &extra{}
	}
	if x != nil {
		x.room, x.size, x.kept = 0, len(p.text), 0
		if long {
			x.kept = uint8(copy(x.text[:], beginning(p.text)))
		}
	}
	if x != old {
		records.setExtra(v, x)
	}
}

// keyOf returns a value's key; of a long text it has the beginning only. Caller holds the shard's mu.
func (s *slab) keyOf(v *value) Key {
	f := v.form.Load()
	k := Key{class: classOf(f)}
	switch k.class {
	case classText:
		k.text = unpack(v.bits[0].Load(), v.bits[1].Load(), int(f&kindMask>>classBits))
	case classLong:
		x := s.extraOf(v)
		k.text = string(x.text[:x.kept])
		if x.size == len(k.text) {
			k.class = classText
		}
	case classOther:
		k.obj = s.extraOf(v).obj
	default:
		k.num = v.bits[0].Load()
	}
	return k
}

// A useFunc says how much is lost if v, whose state was just read, is forgotten. The state it judges is the one that
// eviction then swaps for stateDead, so that no call can come between.
type useFunc func(v *value, state, now int64) use

// A use says how much is lost if a value is forgotten.
type use uint8

const (
	useIdle   use = iota // forgetting it changes no decision
	useRecent            // forgetting it forgets spent tokens
	useQueued            // calls wait in its queue
	useFlight            // calls are in flight: must not be forgotten
)
