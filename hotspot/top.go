package hotspot

import (
	"cmp"
	"slices"
	"time"
)

// The passes of a value are counted in one word, but for those that spent.go counts: the current second (20 bits, so it wraps after 12 days), the passes
// of the second before and of the current one (22 bits each; more are counted as 4,194,303).
const (
	statBits = 22
	statMax  = 1<<statBits - 1
	secMask  = 1<<20 - 1

	// statGuard is left free by the plain addition for callers that add at the same time.
	statGuard = 1 << 16
)

// ValueStats tells about one hot value.
type ValueStats struct {
	Value     any     // as Key.Value; of a text over 48 bytes the first 32
	Text      string  // the same as text, with "…" after a text that was cut
	QPS       float64 // passed counts per second, over the last second
	InFlight  int64   // concurrency rules: calls in flight
	Threshold float64 // the exception item's count or the rule's
}

// noted counts n passes at now. Between two seconds it is one atomic addition.
func (v *value) noted(now, n int64) {
	sec := uint64(now/int64(time.Second)) & secMask
	for {
		w := v.stat.Load()
		if n == 1 && w>>(2*statBits) == sec && w&statMax < statMax-statGuard {
			v.stat.Add(1)
			return
		}
		before, current := statAt(w, sec)
		current = min(statMax, current+uint64(min(n, statMax)))
		if v.stat.CompareAndSwap(w, packStat(sec, before, current)) {
			return
		}
	}
}

// firstStat is what noted makes of the word of a new value.
func firstStat(now, n int64) uint64 {
	return packStat(uint64(now/int64(time.Second))&secMask, 0, uint64(min(n, statMax)))
}

// unnoted takes back n passes noted at at.
func (v *value) unnoted(at, n int64) {
	sec := uint64(at/int64(time.Second)) & secMask
	for {
		w := v.stat.Load()
		shift := uint(0)
		switch (w>>(2*statBits) - sec) & secMask {
		case 0:
		case 1:
			shift = statBits
		default:
			return
		}
		counted := w >> shift & statMax
		if v.stat.CompareAndSwap(w, w-min(counted, uint64(n))<<shift) {
			return
		}
	}
}

func packStat(sec, before, current uint64) uint64 {
	return sec<<(2*statBits) | before<<statBits | current
}

// statAt returns the counts of the second before sec and of sec.
func statAt(w, sec uint64) (before, current uint64) {
	switch (sec - w>>(2*statBits)) & secMask {
	case 0:
		return w >> statBits & statMax, w & statMax
	case 1:
		return w & statMax, 0
	}
	return 0, 0
}

// rate returns the passes of the last second: of the current second all, of the one before the share that is not yet
// a second ago.
func (v *value) rate(now int64) float64 {
	second := int64(time.Second)
	before, current := statAt(v.stat.Load(), uint64(now/second)&secMask)
	return float64(current) + float64(before)*(1-float64(now%second)/float64(second))
}

// Top returns the k values with the highest QPS, highest first; values without a pass in the last second and without
// calls in flight are left out. It is for tools: it looks at every value and holds a shard's lock for a moment each time.
func (c *Controller) Top(now int64, k int) []ValueStats {
	if k <= 0 {
		return nil
	}
	all := c.table.store.Load()
	if all == nil {
		return nil
	}
	var top []ValueStats
	for place := range all.slab.end.Load() {
		if place >= firstPlace {
			top = c.rankAt(top, all, all.slab.at(place), now, k)
		}
	}
	return top
}

func (c *Controller) rankAt(top []ValueStats, all *store, v *value, now int64, k int) []ValueStats {
	s, _ := all.lock(v, v.form.Load())
	if s == nil {
		return top
	}
	defer s.mu.Unlock()
	return c.rank(top, &all.slab, v, now, k)
}

// rate returns the passes of a value in the last second. Caller holds the shard's mu.
func (c *Controller) rate(v *value, now int64) float64 {
	if c.spent {
		return c.spentRate(v, now)
	}
	return v.rate(now)
}

// rank puts v into top, which is sorted and has at most k values. Caller holds the shard's mu.
func (c *Controller) rank(top []ValueStats, records *slab, v *value, now int64, k int) []ValueStats {
	qps, flying := c.rate(v, now), int64(0)
	if c.way == wayConcurrency {
		flying = inFlight(v.state.Load())
	}
	if qps == 0 && flying == 0 || len(top) == k && before(top[k-1], qps, flying) {
		return top
	}
	at, _ := slices.BinarySearchFunc(top, 0, func(s ValueStats, _ int) int {
		if before(s, qps, flying) {
			return -1
		}
		return 1
	})
	if len(top) == k {
		top = top[:k-1]
	}
	key := records.keyOf(v)
	stats := ValueStats{Value: key.Value(), Text: key.String(), QPS: qps, InFlight: flying, Threshold: c.limitOf(v, v.form.Load()).count}
	if key.class == classLong {
		stats.Text += "…"
	}
	return slices.Insert(top, at, stats)
}

// before says that s ranks no lower than a value with these figures.
func before(s ValueStats, qps float64, flying int64) bool {
	return cmp.Or(cmp.Compare(s.QPS, qps), cmp.Compare(s.InFlight, flying)) >= 0
}
