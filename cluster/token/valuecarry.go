package token

// takeOver makes t, which is new, go on with what old counts and ends old. Each bucket of old is added to the one of
// t in which it began.
func (t *valueTable) takeOver(old *valueTable, now int64) {
	shards := old.all()
	for i := range shards {
		s := &shards[i]
		s.mu.Lock()
		s.ended = true
		for place := range s.values {
			t.inherit(old, s.record(place), now)
		}
		t.inheritCounters(s)
		s.mu.Unlock()
	}
}

// inherit adds the buckets of one record of old. The caller holds the lock of its shard.
func (t *valueTable) inherit(old *valueTable, r valueRecord, now int64) {
	latest := now / old.length
	if r.late(uint32(latest)) { // others are ahead of now
		latest += int64(r[wordBucket] - uint32(latest))
	}
	r.roll(uint32(latest), old.buckets)
	oldest := latest*old.length/t.length - t.buckets + 1
	if r.total() == 0 {
		return
	}
	key := r.key()
	hash := t.keyer.hash(key)
	to := &t.all()[hash>>t.shift]
	to.mu.Lock()
	defer to.mu.Unlock()
	for b := latest - old.buckets + 1; b <= latest; b++ {
		count := *r.count(uint32(b), old.buckets)
		if bucket := b * old.length / t.length; count > 0 && bucket >= oldest {
			t.record(to, key, hash, uint32(bucket)).add(int64(count), t.buckets)
		}
	}
}

// inheritCounters adds the counters of a shard to the first of t.
func (t *valueTable) inheritCounters(from *valueShard) {
	to := &t.all()[0]
	to.mu.Lock()
	defer to.mu.Unlock()
	to.granted += from.granted
	to.refused += from.refused
	to.gone += from.gone
}

// sweep gives back the memory of shards whose values are all without calls in their window.
func (t *valueTable) sweep(now int64) {
	made := t.shards.Load()
	if made == nil {
		return
	}
	for i := range *made {
		s := &(*made)[i]
		s.mu.Lock()
		if s.values > 0 && !s.ended && int64(int32(uint32(now/t.length)-s.newest)) >= t.buckets {
			t.count.Add(-int64(s.values))
			s.reset()
		}
		s.mu.Unlock()
	}
}

// tally returns the table's counters.
func (t *valueTable) tally() (granted, refused, gone uint64, values int64) {
	made := t.shards.Load()
	if made == nil {
		return 0, 0, 0, 0
	}
	for i := range *made {
		s := &(*made)[i]
		s.mu.Lock()
		granted, refused, gone = granted+s.granted, refused+s.refused, gone+s.gone
		values += int64(s.values)
		s.mu.Unlock()
	}
	return granted, refused, gone, values
}
