package envoyrls

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxShards = 64
	minShard  = 1024 // counters per shard, before there is a second one
	idle      = int64(time.Minute)
)

// table keeps the counters by the descriptors they count. A request locks the shards of all its descriptors, in the
// order of their numbers, so that what it takes it takes at once.
type table struct {
	seed   maphash.Seed
	shards []shard

	overflowing sync.Mutex // guards the tallies' overflow counters; taken after shards

	forgotten atomic.Uint64 // counters dropped while their window went on
	overflow  atomic.Uint64 // decisions without a counter of their own
}

// shard is a part of the counters. Lists 2u and 2u+1 hold those of unit u, used up to the limit the odd one: a counter
// that is used up is never dropped before its window ends, because that would open the window again.
type shard struct {
	mu       sync.Mutex
	most     int
	counters map[string]*counter
	lists    [2 * units]list
}

func newTable(most int) *table {
	n := 1
	for n < maxShards && most/(2*n) >= minShard {
		n *= 2
	}
	t := &table{seed: maphash.MakeSeed(), shards: make([]shard, n)}
	for i := range t.shards {
		t.shards[i].most = max(1, most/n)
		t.shards[i].counters = map[string]*counter{}
	}
	return t
}

// shardOf returns the number of the shard of a key.
func (t *table) shardOf(key []byte) uint8 {
	return uint8(maphash.Bytes(t.seed, key) & uint64(len(t.shards)-1)) // at most 64
}

// lock locks the shards whose bits are set.
func (t *table) lock(set uint64) {
	for ; set != 0; set &= set - 1 {
		t.shards[bits.TrailingZeros64(set)].mu.Lock()
	}
}

func (t *table) unlock(set uint64) {
	for ; set != 0; set &= set - 1 {
		t.shards[bits.TrailingZeros64(set)].mu.Unlock()
	}
}

// get returns the counter of a key, a new one if there was none, nil if the shard is full of counters that are used up.
// Caller holds the shard.
func (t *table) get(s *shard, key []byte, l limit, now int64) *counter {
	if c := s.counters[string(key)]; c != nil {
		return c
	}
	s.drop(now, idle) // two, so that they become fewer
	s.drop(now, idle)
	if len(s.counters) >= s.most && !s.drop(now, 0) {
		if !s.forget() {
			return nil
		}
		t.forgotten.Add(1)
	}
	c := &counter{key: string(key), start: now - now%l.length, length: l.length}
	s.counters[c.key] = c
	return c
}

// place puts a counter at the front of its list. Caller holds the shard.
func (s *shard) place(c *counter, l limit) {
	c.unlink()
	c.class = uint8(l.unit) << 1
	if c.used >= l.most {
		c.class |= 1
	}
	s.lists[c.class].push(c)
}

// drop removes a counter whose window ended that long ago; false if there is none at the end of a list.
func (s *shard) drop(now, ago int64) bool {
	for i := range s.lists {
		if c := s.lists[i].oldest(); c != nil && c.ended(now, ago) {
			s.remove(c)
			return true
		}
	}
	return false
}

// forget removes the counter that is not used up and was asked for longest ago, among those of the shortest unit; false
// if all are used up.
func (s *shard) forget() bool {
	for i := 0; i < len(s.lists); i += 2 {
		if c := s.lists[i].oldest(); c != nil {
			s.remove(c)
			return true
		}
	}
	return false
}

func (s *shard) remove(c *counter) {
	c.unlink()
	delete(s.counters, c.key)
}

// size returns how many counters there are.
func (t *table) size() (n int) {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		n += len(s.counters)
		s.mu.Unlock()
	}
	return n
}
