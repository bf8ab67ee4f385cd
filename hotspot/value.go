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

// A value is what the table keeps of one hot value: 64 bytes, so the allocator aligns it to a cache line. A hit on a
// number touches this line and one of the index, a hit on a text its bytes too; two values never share a line, however
// many cores use them.
type value struct {
	num   uint64 // as in Key; for a long text its second digest
	text  string // a copy, so that the caller's memory is not held
	more  *extra // nil for most
	state atomic.Int64
	since atomic.Int64  // bucket: time of the last refill in ms
	stat  atomic.Uint64 // passes by second, see top.go
	heat  atomic.Uint32 // use since the clock hand came by
	class class
	own   bool // more has a limit
}

// An extra is what few values need.
type extra struct {
	obj   any    // as in Key
	limit *limit // the exception item's
	hash  uint64 // of a long text
	size  int    // length of a long text
	room  int64  // burst: units the last refill left unfilled; guarded by the shard's mu
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
func (v *value) key() Key {
	k := Key{class: v.class, num: v.num, text: v.text}
	if v.class == classOther {
		k.obj = v.more.obj
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
