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
// line under its lock, and count until the table is full; from then on a newcomer replaces another value of its shard.
// Shards are made at the first value, so a rule whose resource is never called costs next to nothing.
type table struct {
	hasher   hasher
	capacity int64
	bits     uint  // log2 of the number of shards
	start    int64 // state of a new value
	pins     bool  // values may be in flight
	burst    bool  // values need an extra, for its room
	useOf    useFunc

	making sync.Mutex
	shards atomic.Pointer[[]shard]
	_      [64]byte
	count  atomic.Int64
	full   atomic.Bool // a search for something to evict found nothing, and no call has ended since
	_      [64]byte
}

// init prepares a table.
func (t *table) init(capacity, start int64, burst bool, useOf useFunc) {
	t.hasher, t.capacity, t.start, t.burst, t.useOf = newHasher(), capacity, start, burst, useOf
	t.pins = start == 0
	for t.bits = 0; 1<<t.bits < maxShards && shardSize<<(t.bits+1) <= capacity; t.bits++ {
	}
}

// find returns the value of a key and its form, or nil. It may miss one that is being moved; put does not.
func (t *table) find(p *probe) (*value, form) {
	shards := t.shards.Load()
	if shards == nil {
		return nil, 0
	}
	return (*shards)[p.hash>>1>>(63-t.bits)].find(p)
}

func (t *table) shardOf(hash uint64) *shard {
	shards := t.shards.Load()
	if shards == nil {
		shards = t.makeShards()
	}
	return &(*shards)[hash>>1>>(63-t.bits)]
}

func (t *table) makeShards() *[]shard {
	t.making.Lock()
	defer t.making.Unlock()
	if t.shards.Load() == nil {
		made := make([]shard, 1<<t.bits)
		t.shards.Store(&made)
	}
	return t.shards.Load()
}

// put returns the value of a key, adding it if it is not there. It has no reservation yet, so it may be dead already.
func (t *table) put(now int64, p *probe, own *limit) (*value, form) {
	s := t.shardOf(p.hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, f := s.find(p); v != nil {
		return v, f
	}
	if t.claim() {
		return t.add(s, p, own)
	}
	t.repay(s, now)
	if victim, ok := s.victim(now, t.useOf); ok {
		v := s.leave(victim)
		v.assign(p, own, t.start, t.burst)
		s.enter(v)
		return v, v.form.Load()
	}
	s.mu.Unlock()
	t.makeRoom(s, now)
	s.mu.Lock()
	if v, f := s.find(p); v != nil {
		return v, f
	}
	t.count.Add(1)
	return t.add(s, p, own)
}

// add puts a new record into the shard. Caller holds its mu.
func (t *table) add(s *shard, p *probe, own *limit) (*value, form) {
	v := &value{}
	v.assign(p, own, t.start, t.burst)
	s.add(v)
	return v, v.form.Load()
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
		victim, ok := s.victim(now, t.useOf)
		if !ok {
			return
		}
		s.remove(victim)
		t.count.Add(-1)
	}
}

// makeRoom evicts one value from a shard other than s, all of whose values are in flight, if there is one to evict.
// If there is none it does not search again until a call ends.
func (t *table) makeRoom(s *shard, now int64) {
	if t.full.Swap(true) {
		return
	}
	shards := *t.shards.Load()
	for i := range shards {
		if other := &shards[i]; other != s && t.evictFrom(other, now) {
			t.full.Store(false)
			return
		}
	}
	t.full.Store(t.pins)
}

func (t *table) evictFrom(s *shard, now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	victim, ok := s.victim(now, t.useOf)
	if !ok {
		return false
	}
	s.remove(victim)
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
	s := t.shardOf(v.hash.Load())
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := v.state.Load(); inFlight(state) == 0 && state != stateDead && v.state.CompareAndSwap(state, stateDead) {
		s.remove(s.placeOf(v))
		t.count.Add(-1)
	}
}

// evicted returns how many values have been evicted.
func (t *table) evicted() (n uint64) {
	shards := t.shards.Load()
	if shards == nil {
		return 0
	}
	for i := range *shards {
		s := &(*shards)[i]
		s.mu.Lock()
		n += s.gone
		s.mu.Unlock()
	}
	return n
}
