package circuitbreaker

import (
	"math"
	"sync"
	"sync/atomic"
)

// window counts bad and all completed calls in buckets of equal length, aligned to the epoch. With one bucket
// it is a tumbling window, with more a sliding one.
//
// Counting into the newest bucket is one atomic addition to a word that holds both counts, so the two always
// belong together and the sum it returns is exact. All else happens under a mutex: starting a bucket, and calls
// that completed before the newest bucket began but are counted after. For the latter the ring has one bucket
// more than the window. A call whose bucket is no longer in the ring is not counted: nothing depends on it.
type window struct {
	length  int64 // of a bucket, in nanoseconds
	span    int64 // number of buckets that are looked at together
	current atomic.Pointer[bucket]
	ring    []bucket     // span + 1
	badAt   atomic.Int64 // start of the latest bucket with a bad call

	mu     sync.Mutex
	newest int64 // guarded by mu; start time / length of the newest bucket
}

// A bucket's start changes only under the window's mutex, after its counts were cleared. An addition that was
// about to happen meanwhile is kept, in the bucket that is there by then: it is neither lost nor counted twice.
type bucket struct {
	start  atomic.Int64
	counts atomic.Uint64 // bad calls << 32 | all calls
}

const (
	oneCall  = 1
	oneBad   = 1<<32 | oneCall
	halfFull = 1 << 31 // of the lower half of a bucket's counts

	never   = math.MinInt64 // start of a bucket that was not used yet
	longAgo = math.MinInt64 / 2
)

func (w *window) init(length int64, buckets int) {
	w.length, w.span, w.newest = length, int64(buckets), longAgo
	// Eight buckets fill two cache lines: no other object shares the lines that completions write.
	w.ring = make([]bucket, buckets+1, (buckets+1+7)/8*8)
	for i := range w.ring {
		w.ring[i].start.Store(never)
	}
	w.current.Store(&w.ring[0])
	w.badAt.Store(never)
}

// add counts one call that completed at now and returns the counts of the window that ends with now's bucket.
func (w *window) add(now int64, bad bool) (badCalls, calls int64) {
	b := w.current.Load()
	start := b.start.Load()
	if uint64(now-start) >= uint64(w.length) {
		if b = w.find(now); b == nil {
			return 0, 0
		}
		start = b.start.Load()
	}
	delta := uint64(oneCall)
	if bad {
		delta = oneBad
	}
	counts := b.counts.Add(delta)
	if counts&halfFull != 0 {
		w.halve(b)
	}
	if bad {
		w.noteBad(start)
	}
	if w.span == 1 {
		return int64(counts >> 32), int64(counts & math.MaxUint32)
	}
	if !bad && w.badAt.Load() < start-(w.span-1)*w.length {
		return 0, 1 // at least: without a bad call nobody asks how many
	}
	return w.sum(start)
}

// noteBad remembers the latest bucket with a bad call, so that calls need not add up a window without any.
func (w *window) noteBad(start int64) {
	for {
		at := w.badAt.Load()
		if at >= start || w.badAt.CompareAndSwap(at, start) {
			return
		}
	}
}

// sum adds up the window whose last bucket starts at start.
func (w *window) sum(start int64) (badCalls, calls int64) {
	first := start - (w.span-1)*w.length
	for i := range w.ring {
		if at := w.ring[i].start.Load(); at >= first && at <= start {
			counts := w.ring[i].counts.Load()
			badCalls += int64(counts >> 32)
			calls += int64(counts & math.MaxUint32)
		}
	}
	return badCalls, calls
}

// read returns the counts of the window that ends with now's bucket. ok is false if part of that window
// has been given up already.
func (w *window) read(now int64) (badCalls, calls int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	index := floorDiv(now, w.length)
	badCalls, calls = w.sum(index * w.length)
	return badCalls, calls, index >= w.newest-1
}

// clear sets all counts to zero.
func (w *window) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.ring {
		w.ring[i].counts.Store(0)
	}
}

// find returns the bucket of now, making it if need be; nil if it is no longer in the ring.
func (w *window) find(now int64) *bucket {
	w.mu.Lock()
	defer w.mu.Unlock()
	index := floorDiv(now, w.length)
	if index < w.newest-w.span {
		return nil
	}
	size := int64(len(w.ring))
	b := &w.ring[((index%size)+size)%size]
	if start := index * w.length; b.start.Load() != start {
		b.counts.Store(0)
		b.start.Store(start)
	}
	if index > w.newest {
		w.newest = index
		w.current.Store(b)
	}
	return b
}

// halve keeps a bucket's counts from overflowing: beyond 2^31 calls both become half, which leaves the ratio.
func (w *window) halve(b *bucket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if counts := b.counts.Load(); counts&halfFull != 0 {
		bad, calls := counts>>32, counts&math.MaxUint32
		b.counts.Add(-(bad/2<<32 | calls/2))
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
