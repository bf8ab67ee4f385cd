package token

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// A valueTable counts the values of one parameter rule exactly, each in a sliding window of its own. It holds at most
// capacity values and forgets none that has calls in its window before it is full.
//
// It is divided into shards by hash, each with a lock that is held for some tens of nanoseconds. A request locks the
// shards of all its values, in order, so that it is charged for all or none and nobody sees half of it. What 64 cores
// do to it: on different values they meet on a lock seldom; on one value they queue for its lock, which exactness
// needs. Everything that is counted per request is counted under the lock, so there is no word that all cores write.
// Shards are made at the first value and hold no pointers, so a full table costs the garbage collector nothing.
type valueTable struct {
	keyer    *keyer
	length   int64 // of a bucket, ns
	buckets  int64
	capacity int64
	shift    uint // of a hash, to its shard

	making sync.Mutex
	shards atomic.Pointer[[]valueShard]
	_      [64]byte
	count  atomic.Int64 // values held; not written once the table is full
}

// A table has one shard for each shardSize values, at most maxShards.
const (
	shardSize = 512
	maxShards = 64
)

func newValueTable(k *keyer, sh shape, capacity int64) *valueTable {
	width := uint(0)
	for 1<<width < maxShards && shardSize<<(width+1) <= capacity {
		width++
	}
	return &valueTable{keyer: k, length: sh.length(), buckets: sh.buckets, capacity: capacity, shift: 64 - width}
}

// An outcome is what became of a request.
type outcome uint8

const (
	outcomeGranted outcome = iota
	outcomeRefused
	outcomeEnded // another table has taken over
)

// all returns the shards.
func (t *valueTable) all() []valueShard {
	if made := t.shards.Load(); made != nil {
		return *made
	}
	t.making.Lock()
	defer t.making.Unlock()
	if made := t.shards.Load(); made != nil {
		return *made
	}
	made := make([]valueShard, 1<<(64-t.shift))
	t.shards.Store(&made)
	return made
}

// charge adds n to each of the values if that keeps all of them within their limits. left is what the limit of the
// last one leaves.
func (t *valueTable) charge(now, n int64, values []wire.Value, p *paramRule) (left int64, o outcome) {
	shards, bucket := t.all(), uint32(now/t.length)
	if len(values) > 1 {
		return t.chargeAll(shards, bucket, n, values, p)
	}
	key, hash := t.keyer.key(&values[0])
	most := p.most(key)
	s := &shards[hash>>t.shift]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, outcomeEnded
	}
	left, ok := t.add(s, key, hash, bucket, n, most)
	return left, s.note(ok)
}

// chargeAll is charge for several values. It takes the locks in order of the shards.
func (t *valueTable) chargeAll(shards []valueShard, bucket uint32, n int64, values []wire.Value, p *paramRule) (left int64, o outcome) {
	var held uint64
	for i := range values {
		_, hash := t.keyer.key(&values[i])
		held |= 1 << (hash >> t.shift)
	}
	for rest := held; rest != 0; rest &= rest - 1 {
		shards[bits.TrailingZeros64(rest)].mu.Lock()
	}
	defer func() {
		for rest := held; rest != 0; rest &= rest - 1 {
			shards[bits.TrailingZeros64(rest)].mu.Unlock()
		}
	}()
	for rest := held; rest != 0; rest &= rest - 1 {
		if shards[bits.TrailingZeros64(rest)].ended {
			return 0, outcomeEnded
		}
	}
	first := &shards[bits.TrailingZeros64(held)]
	for i := range values {
		key, hash := t.keyer.key(&values[i])
		var ok bool
		if left, ok = t.add(&shards[hash>>t.shift], key, hash, bucket, n, p.most(key)); !ok {
			t.takeBack(shards, n, values[:i])
			return left, first.note(false)
		}
	}
	return left, first.note(true)
}

// add charges one value. The caller holds the shard's lock.
func (t *valueTable) add(s *valueShard, key valueKey, hash uint64, bucket uint32, n, most int64) (left int64, ok bool) {
	if n > most {
		return 0, false
	}
	r := t.record(s, key, hash, bucket)
	if r.total() > most-n && most < mostOfValue {
		return 0, false
	}
	r.add(n, t.buckets)
	return most - r.total(), true
}

// takeBack undoes what add did for the values. The caller holds the locks. A value that had to make room for another
// of the same request is gone already.
func (t *valueTable) takeBack(shards []valueShard, n int64, values []wire.Value) {
	for i := range values {
		key, hash := t.keyer.key(&values[i])
		if r := shards[hash>>t.shift].find(key, hash); r != nil {
			r.takeBack(n, t.buckets)
		}
	}
}

// record returns the value's record, made if it is not there and moved on to the bucket.
func (t *valueTable) record(s *valueShard, key valueKey, hash uint64, bucket uint32) valueRecord {
	if s.values == 0 || int32(bucket-s.newest) > 0 {
		s.newest = bucket
	}
	if r := s.find(key, hash); r != nil {
		r.roll(bucket, t.buckets)
		r.warm()
		return r
	}
	var place int
	if t.claim(s) {
		place = s.extend(recordSize(t.buckets))
	} else {
		place = s.victim(bucket, t.buckets)
		s.forget(place)
		s.gone++
	}
	r := s.record(place)
	r.renew(key, bucket)
	s.put(place, hash)
	return r
}

// claim takes one more place in the table if one is free, or if the shard has none to give in exchange.
func (t *valueTable) claim(s *valueShard) bool {
	if t.count.Load() >= t.capacity && s.values > 0 {
		return false
	}
	if t.count.Add(1) <= t.capacity || s.values == 0 {
		return true
	}
	t.count.Add(-1)
	return false
}
