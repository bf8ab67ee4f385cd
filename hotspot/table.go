package hotspot

import (
	"sync"
	"sync/atomic"
)

// A table is divided into shards of at least shardSize values, at most maxShards of them.
const (
	shardSize = 512
	maxShards = 64
)

// A table keeps the values of one rule and resource, at most capacity of them, more only by values in flight.
//
// What 64 cores do to it: a hit takes no lock and writes one cache line, the value's own. Cores on different values
// share no written line; cores on one value share that line, which exactness needs. The miss path writes the shard's
// line under its lock, once, and count until the table is full; from then on a newcomer replaces another value of its
// shard. Shards are made at the first value, so a rule whose resource is never called costs next to nothing.
type table struct {
	hasher   hasher
	capacity int64
	bits     uint // log2 of the number of shards
	pins     bool // values may be in flight
	burst    bool // values need an extra, for its room
	useOf    useFunc

	making sync.Mutex
	made   atomic.Bool
	shards []shard // not to be read before made
	slab   slab
	_      [64]byte
	count  atomic.Int64
	full   atomic.Bool // a search for something to evict found nothing, and no call has ended since
	_      [64]byte
}

// init prepares a table.
func (t *table) init(capacity int64, pins, burst bool, useOf useFunc) {
	t.hasher, t.capacity, t.pins, t.burst, t.useOf = newHasher(), capacity, pins, burst, useOf
	for t.bits = 0; 1<<t.bits < maxShards && shardSize<<(t.bits+1) <= capacity; t.bits++ {
	}
}

// find returns the value of a key and its form, or nil. It may miss one that is being moved; put does not.
func (t *table) find(p *probe) (*value, form) { return t.indexOf(p).find(p, &t.slab) }

// indexOf returns the index that has a key, or nil. A caller that finds in it itself saves a call.
func (t *table) indexOf(p *probe) *index {
	if !t.made.Load() {
		return nil
	}
	return t.shards[t.number(p)].index.Load()
}

// number returns the number of a key's shard.
func (t *table) number(p *probe) uint32 { return uint32(p.hash >> 1 >> (63 - t.bits)) }

// all returns the shards, none before the first value.
func (t *table) all() []shard {
	if !t.made.Load() {
		return nil
	}
	return t.shards
}

func (t *table) makeShards() {
	t.making.Lock()
	defer t.making.Unlock()
	if !t.made.Load() {
		t.shards = make([]shard, 1<<t.bits)
		t.made.Store(true)
	}
}

// shardOf returns the shard of a value. Its records stay its own.
func (t *table) shardOf(v *value) *shard { return &t.shards[v.shard] }

// put returns the value of a key, adding it if it is not there. A value that was there has no reservation yet, so it
// may be dead already.
func (t *table) put(now int64, p *probe, b *birth) (v *value, f form, added bool) {
	if !t.made.Load() {
		t.makeShards()
	}
	b.burst, b.pins = t.burst, t.pins
	number := t.number(p)
	s := &t.shards[number]
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, f = s.index.Load().find(p, &t.slab); v != nil {
		return v, f, false
	}
	if !t.claim() {
		t.repay(s, now)
		if seat, victim := s.victim(&t.slab, now, t.useOf); victim != nil {
			return victim, s.replace(s.ring[seat], victim, p, b), true
		}
		s.mu.Unlock()
		t.makeRoom(s, now)
		s.mu.Lock()
		if v, f = s.index.Load().find(p, &t.slab); v != nil {
			return v, f, false
		}
		t.count.Add(1)
	}
	v, f = t.add(s, number, p, b)
	return v, f, true
}

// add puts one more value into a shard. Caller holds its mu.
func (t *table) add(s *shard, number uint32, p *probe, b *birth) (v *value, f form) {
	place, ok := s.freed()
	if !ok {
		place = t.slab.add(number)
	}
	v = t.slab.at(place)
	f = v.assign(p, b)
	s.add(place, &t.slab)
	return v, f
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

// repay evicts from s while the table is over its capacity. Caller holds the shard's mu.
func (t *table) repay(s *shard, now int64) {
	for t.count.Load() > t.capacity {
		seat, victim := s.victim(&t.slab, now, t.useOf)
		if victim == nil {
			return
		}
		s.remove(seat, victim)
		t.count.Add(-1)
	}
}

// makeRoom evicts one value from a shard other than s, all of whose values are in flight, if there is one to evict.
// If there is none it does not search again until a call ends.
func (t *table) makeRoom(s *shard, now int64) {
	if t.full.Swap(true) {
		return
	}
	for i := range t.shards {
		if other := &t.shards[i]; other != s && t.evictFrom(other, now) {
			t.full.Store(false)
			return
		}
	}
	t.full.Store(t.pins)
}

func (t *table) evictFrom(s *shard, now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seat, victim := s.victim(&t.slab, now, t.useOf)
	if victim == nil {
		return false
	}
	s.remove(seat, victim)
	t.count.Add(-1)
	return true
}

// released is called when the last call on v has ended: a table over its capacity forgets it.
func (t *table) released(v *value) {
	if t.full.Load() {
		t.full.Store(false)
	}
	if t.count.Load() <= t.capacity {
		return
	}
	s := t.shardOf(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := v.state.Load(); inFlight(state) == 0 && state != stateDead && v.state.CompareAndSwap(state, stateDead) {
		s.remove(s.seatOf(v, &t.slab), v)
		t.count.Add(-1)
	}
}

// evicted returns how many values have been evicted.
func (t *table) evicted() (n uint64) {
	shards := t.all()
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		n += s.gone
		s.mu.Unlock()
	}
	return n
}
