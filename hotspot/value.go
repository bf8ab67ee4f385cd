package hotspot

import (
	"math"
	"sync/atomic"
)

// Special states of a value.
const (
	stateDead  = math.MinInt64     // evicted: look the value up again
	stateFresh = math.MinInt64 + 1 // no call yet, or every one undone
)

// maxHeat bounds how often a value may be passed over by eviction after its last use.
const maxHeat = 3

// A value is what the table keeps of one hot value: 128 bytes, so the allocator aligns it to two cache lines.
// All that a hit on a number or text reads and writes is in the first line: a hit costs one line, and two values
// never share one, however many cores use them.
type value struct {
	hash  uint64
	num   uint64 // as in Key; for a long text its second digest
	text  string // a copy, so that the caller's memory is not held
	state atomic.Int64
	since atomic.Int64  // bucket: time of the last refill in ms
	stat  atomic.Uint64 // passes by second, see top.go
	heat  atomic.Uint32 // use since the clock hand came by
	class class
	own   bool // has a limit of its own (exception item)

	obj   any
	limit *limit // the exception item's, if own
	size  int    // length of a long text
	place int    // position in the ring; guarded by the shard's mu
	room  int64  // bucket: units the last refill left unfilled; guarded by the shard's mu
	_     [16]byte
}

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

// key returns the value's key; of a long text it has the beginning only.
func (v *value) key() Key { return Key{class: v.class, num: v.num, text: v.text, obj: v.obj} }

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
