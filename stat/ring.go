package stat

import "sync/atomic"

// bucket counts one slice of time. Eight words are one cache line, so that a call on a ring writes one
// line at entry and, within the same bucket, the same line at exit: one word each. A locked addition costs as much as
// twenty ordinary instructions, so calls in flight are not counted but derived, see ring.extra, and completions share
// a word with their response times, see done.
type bucket struct {
	start     atomic.Int64 // ns; published after the counters are cleared
	pass      atomic.Int64
	block     atomic.Int64
	exception atomic.Int64
	done      atomic.Uint64        // completions; see done.go
	wide      atomic.Pointer[wide] // completions beyond what done holds; nil: none so far
	occupied  atomic.Int64         // passes of calls that wait for a later bucket
	minRT     atomic.Int64         // ns
}

// ring is the set of buckets that one stripe of a node writes.
type ring struct {
	cur     atomic.Pointer[bucket] // the newest bucket
	base    int64                  // length of a bucket, ns
	shape   *Shape
	buckets []bucket
	// extra is the units beyond one that calls entered with, less those they completed with. What passed, less what
	// completed, less extra is the number of calls in flight. Calls of one unit, almost all, do not write it.
	extra atomic.Int64
}

func newRing(shape *Shape) *ring {
	r := &ring{shape: shape, base: shape.base, buckets: make([]bucket, shape.ring)}
	for i := range r.buckets {
		r.buckets[i].start.Store(never)
	}
	return r
}

// at returns the bucket of time now. The usual case is two loads and a compare; see Node.roll for the rest.
func (r *ring) at(n *Node, now int64) *bucket {
	if b := r.cur.Load(); b != nil && uint64(now-b.start.Load()) < uint64(r.base) {
		return b
	}
	return n.roll(r, now)
}

// lowerMin makes rt the bucket's least response time if it is.
func (b *bucket) lowerMin(rt int64) {
	for {
		least := b.minRT.Load()
		if rt >= least || b.minRT.CompareAndSwap(least, rt) {
			return
		}
	}
}
