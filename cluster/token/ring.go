package token

// A ring is Sentinel's LeapArray: buckets aligned to the epoch, each reset when it is first touched in a new period. A
// bucket counts while its start is not more than the interval before now.
type ring[B any] struct {
	interval int64 // ms
	length   int64 // of a bucket, ms
	slots    []ringSlot[B]
	latest   int64 // ms; time does not go back
}

type ringSlot[B any] struct {
	start  int64
	made   bool
	bucket B
}

func newRing[B any](sh shape) ring[B] {
	return ring[B]{interval: sh.interval, length: sh.interval / sh.buckets, slots: make([]ringSlot[B], sh.buckets)}
}

// current moves on to time ms and returns its bucket; stale says that the bucket still has what it counted in a period
// before. One that was never used is not stale.
func (r *ring[B]) current(ms int64) (b *B, stale bool) {
	r.latest = max(r.latest, ms)
	s, start := r.slot(r.latest), r.latest-r.latest%r.length
	stale = s.made && s.start != start
	s.made, s.start = true, start
	return &s.bucket, stale
}

func (r *ring[B]) slot(ms int64) *ringSlot[B] { return &r.slots[ms/r.length%int64(len(r.slots))] }

// counts says whether a bucket counts at the latest time.
func (r *ring[B]) counts(s *ringSlot[B]) bool { return s.made && r.latest-s.start <= r.interval }

// head returns the bucket that is reset next, nil if it does not count.
func (r *ring[B]) head() *B {
	if s := r.slot(r.latest + r.length); r.counts(s) {
		return &s.bucket
	}
	return nil
}

// inherit calls f with each bucket of old that begins in r's window, and the one of r in which it began.
func (r *ring[B]) inherit(old *ring[B], f func(to, from *B)) {
	r.latest = old.latest
	for i := range old.slots {
		from := &old.slots[i]
		if !from.made || from.start <= old.latest-min(old.interval, r.interval) {
			continue
		}
		to := r.slot(from.start)
		to.made, to.start = true, from.start-from.start%r.length
		f(&to.bucket, &from.bucket)
	}
}
