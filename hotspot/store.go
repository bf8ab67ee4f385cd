package hotspot

import "sync/atomic"

// A store has a table's values: their records, an index of them in shards, and the clock hand.
type store struct {
	mask   uint32 // number of shards - 1
	shards []shard
	mixer  mixer
	slab   slab
	_      [64]byte
	hand   atomic.Uint32 // place that it came to last
	_      [60]byte
}

// shardOf returns the shard of a hash.
func (s *store) shardOf(hash uint64) *shard { return &s.shards[uint32(hash>>32)&s.mask] }

// hashOf returns the hash of a value's key. It is that of no key if the record is about to become another value's.
func (s *store) hashOf(v *value) uint64 {
	return s.mixer.mix(v.bits[0].Load(), v.bits[1].Load(), v.form.Load()&kindMask)
}

// lock locks the shard of a value and returns it if the value still has that form, and the place of the value's hash in
// it. While the lock is held the value is neither evicted nor refilled.
//
// The order of the loads matters: the record is dead while its bits change, and has another form when it lives again, so
// a state that is not dead before a form that is the same says that the bits were the value's.
func (s *store) lock(v *value, f form) (of *shard, tag uint32) {
	hash := s.hashOf(v)
	of = s.shardOf(hash)
	of.mu.Lock()
	if v.state.Load() != stateDead && v.is(f) {
		return of, uint32(hash)
	}
	of.mu.Unlock()
	return nil, 0
}

// add makes a record that nobody uses that of a key, the search for which ended at end. Caller holds the mu of the
// key's shard.
func (s *store) add(of *shard, v *value, p *probe, end uint32, b *birth) form {
	f := v.assign(p, b, &s.slab)
	of.add(v, uint32(p.hash), end, s)
	return f
}

// kill marks a value dead and takes it out of its shard, if its state is still that. Caller has got of and tag of lock.
func (s *store) kill(of *shard, v *value, tag uint32, state int64) bool {
	if !v.state.CompareAndSwap(state, stateDead) {
		return false
	}
	of.remove(v, tag, s)
	return true
}

// victim evicts a value and returns its record, or nil if there is none to evict: generalized CLOCK (A. J. Smith,
// "Sequentiality and prefetching in database systems", 1978). The hand goes round; it takes a value that is idle, or one
// without a use since it last came by, and takes one of at most maxHeat noted uses from the others. A value that comes
// once is gone after one round at the latest, one that comes again within a round stays, however many others come once;
// unlike with SIEVE or a small first queue, a newcomer has a whole round to show that it comes again. Values with calls
// in flight are never taken, values with calls queued only if there are no others.
func (s *store) victim(t *table, now int64) *value {
	for range maxHeat + 1 {
		candidates := false
		for range s.slab.end.Load() {
			v := s.next()
			f, state := v.form.Load(), v.state.Load()
			if state == stateDead {
				continue
			}
			u := useRecent
			if t.waits || v.heat.Load() > 0 { // else nothing depends on whether it is idle
				u = t.useOf(v, state, now)
			}
			candidates = candidates || u < useQueued
			if (u == useIdle || u == useRecent && v.cool()) && s.evict(v, f, state) {
				return v
			}
		}
		if !candidates {
			break
		}
	}
	for range s.slab.end.Load() {
		v := s.next()
		f, state := v.form.Load(), v.state.Load()
		if state != stateDead && t.useOf(v, state, now) <= useQueued && s.evict(v, f, state) {
			return v
		}
	}
	return nil
}

// evict evicts a value if its form and state are still those.
func (s *store) evict(v *value, f form, state int64) bool {
	of, tag := s.lock(v, f)
	if of == nil {
		return false
	}
	killed := s.kill(of, v, tag, state)
	of.mu.Unlock()
	return killed
}

// next moves the hand on.
func (s *store) next() *value {
	place := s.hand.Add(1)
	if place < firstPlace || place >= s.slab.end.Load() {
		place = firstPlace
		s.hand.Store(place)
	}
	return s.slab.at(place)
}

// readAhead touches the lines that the next eviction needs. A caller whose text is not in the cache waits for it much
// longer, and for these meanwhile.
func (s *store) readAhead() {
	if place := s.hand.Load() + 1; place >= firstPlace && place < s.slab.end.Load() {
		hash := s.hashOf(s.slab.at(place))
		s.shardOf(hash).index.Load().touch(uint32(hash))
	}
}
