package hotspot

import (
	"sync"
	"sync/atomic"
)

// A table is divided into shards of at least shardSize values, at most maxShards of them.
const (
	shardSize = 1024
	maxShards = 64
)

// A table keeps the values of one rule and resource, at most capacity of them, more only by values in flight.
//
// What 64 cores do to it: a hit takes no lock and writes one cache line, the value's own. Cores on different values
// share no written line; cores on one value share that line, which exactness needs. A newcomer writes the line of its
// shard and, if the table is full, that of its victim's, each under its lock and briefly, and moves the hand; before
// that it writes count. The store is made at the first value, so a rule whose resource is never called costs next to
// nothing.
type table struct {
	hasher   hasher
	capacity int64
	useOf    useFunc
	pins     bool // values may be in flight
	waits    bool // values may be in flight or have calls queued
	burst    bool // values need an extra, for its room

	store  atomic.Pointer[store]
	making sync.Mutex
	_      [64]byte
	count  atomic.Int64
	full   atomic.Bool // a search for something to evict found nothing, and no call has ended since
	_      [64]byte
}

// init prepares a table.
func (t *table) init(capacity int64, waits, pins, burst bool, useOf useFunc) {
	t.hasher, t.capacity, t.useOf = newHasher(), capacity, useOf
	t.waits, t.pins, t.burst = waits, pins, burst
}

// find returns the value of a key and its form, or nil. It may miss one that is being moved; put does not.
func (t *table) find(p *probe) (*value, form) {
	s := t.store.Load()
	if s == nil {
		return nil, 0
	}
	v, f, _ := s.shardOf(p.hash).index.Load().find(p, &s.slab)
	return v, f
}

// readAhead prepares for a newcomer before its key is known, if it will need another's place.
func (t *table) readAhead() {
	if t.count.Load() >= t.capacity {
		if s := t.store.Load(); s != nil {
			s.readAhead()
		}
	}
}

func (t *table) makeStore() *store {
	t.making.Lock()
	defer t.making.Unlock()
	s := t.store.Load()
	if s == nil {
		shards := 1
		for shards < maxShards && shardSize*2*int64(shards) <= t.capacity {
			shards *= 2
		}
		s = &store{shards: make([]shard, shards), mask: uint32(shards - 1), mixer: t.hasher.mixer}
		t.store.Store(s)
	}
	return s
}

// lock is the store's, of a value that a caller holds.
func (t *table) lock(v *value, f form) *shard {
	s, _ := t.store.Load().lock(v, f)
	return s
}

// extraOf returns what a value needs beside its record, nil if nothing.
func (t *table) extraOf(v *value) *extra { return t.store.Load().slab.extraOf(v) }

// put returns the value of a key, adding it if it is not there. A value that was there has no reservation yet, so it
// may be dead already. Room is made before the second look, since no two locks are ever held: of callers who bring one
// key at once each takes room, and all but one give it back.
func (t *table) put(now int64, p *probe, b *birth) (v *value, f form, added bool) {
	all := t.store.Load()
	if all == nil {
		all = t.makeStore()
	}
	b.burst, b.pins = t.burst, t.pins
	mine := t.room(all, now)
	s := all.shardOf(p.hash)
	s.mu.Lock()
	v, f, end := s.index.Load().find(p, &all.slab)
	if v != nil {
		s.mu.Unlock()
		t.drop(all, mine)
		return v, f, false
	}
	f = all.add(s, mine, p, end, b)
	s.mu.Unlock()
	return mine, f, true
}

// room returns a record for one value more, that of another value if the table is full.
func (t *table) room(all *store, now int64) *value {
	if t.claim() {
		return all.slab.take()
	}
	for t.count.Load() > t.capacity {
		v := t.victim(all, now)
		if v == nil {
			break
		}
		t.drop(all, v)
	}
	if v := t.victim(all, now); v != nil {
		return v
	}
	t.count.Add(1)
	return all.slab.take()
}

// victim evicts a value and returns its record, or nil. If all values are in flight it does not search again until a
// call ends.
func (t *table) victim(all *store, now int64) *value {
	if t.full.Load() {
		return nil
	}
	v := all.victim(t, now)
	if v == nil && t.pins {
		t.full.Store(true)
	}
	return v
}

// drop gives up a dead value's record and its share of the capacity.
func (t *table) drop(all *store, v *value) {
	all.slab.giveBack(v)
	t.count.Add(-1)
}

// claim takes a place in the table if one is free.
func (t *table) claim() bool {
	if t.count.Load() >= t.capacity {
		return false
	}
	if t.count.Add(1) <= t.capacity {
		return true
	}
	t.count.Add(-1)
	return false
}

// released is called when the last call on v, which had that form, has ended: a table over its capacity forgets it.
func (t *table) released(v *value, f form) {
	if t.count.Load() <= t.capacity {
		if t.full.Load() {
			t.full.Store(false)
		}
		return
	}
	all := t.store.Load()
	s, tag := all.lock(v, f)
	if s == nil {
		return
	}
	state := v.state.Load()
	killed := inFlight(state) == 0 && all.kill(s, v, tag, state)
	s.mu.Unlock()
	if killed {
		t.drop(all, v)
	}
}

// evicted returns how many values have been evicted.
func (t *table) evicted() (n uint64) {
	all := t.store.Load()
	if all == nil {
		return 0
	}
	for i := range all.shards {
		s := &all.shards[i]
		s.mu.Lock()
		n += s.gone
		s.mu.Unlock()
	}
	return n
}
