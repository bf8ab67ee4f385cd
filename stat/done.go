package stat

import "sync/atomic"

// A bucket's word done holds the completed units in its low bits and the sum of the response times, in ns, above: one
// addition counts a completion. When either is half full, whoever sees it moves both to the bucket's wide words. Only
// calls of one unit that took less than quickRT are added to it, so that it cannot overflow meanwhile: eight thousand
// callers would have to stop between two instructions.
const (
	doneBits = 20 // of the units; the other 44 are the response times'
	unitMask = 1<<doneBits - 1
	halfDone = 1<<63 | 1<<(doneBits-1)
	quickRT  = 1 << 30 // ns, about one second
)

// wide holds completions that left done or never were in it.
type wide struct {
	success atomic.Int64
	rt      atomic.Int64 // ns, one per completed call
}

// completed returns the completed units and the sum of their response times. It reads first what spill writes last:
// without mu, it sees too few for a moment but none twice.
func (b *bucket) completed() (success, rt int64) {
	if w := b.wide.Load(); w != nil {
		success, rt = w.success.Load(), w.rt.Load()
	}
	done := b.done.Load()
	return success + int64(done&unitMask), rt + int64(done>>doneBits)
}

// takeCompleted is completed and clears both. The caller holds the node's mu.
func (b *bucket) takeCompleted() (success, rt int64) {
	if w := b.wide.Load(); w != nil {
		success, rt = w.success.Swap(0), w.rt.Swap(0)
	}
	done := b.done.Swap(0)
	return success + int64(done&unitMask), rt + int64(done>>doneBits)
}

// widened returns the wide words, made if need be.
func (b *bucket) widened() *wide {
	if b.wide.Load() == nil {
		b.wide.CompareAndSwap(nil, &wide{})
	}
	return b.wide.Load()
}

// completeWide counts a completion that done has no room for: of any number of units, of any duration.
func (n *Node) completeWide(r *ring, b *bucket, count, rt int64) {
	w := b.widened()
	w.rt.Add(rt)
	if count != 1 {
		r.extra.Add(1 - count) // before success: see activeLocked
	}
	w.success.Add(count)
}

// spill moves what done holds to the wide words. It holds mu, so that nobody who does sees the bucket without it.
func (n *Node) spill(b *bucket) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := b.widened()
	done := b.done.Swap(0)
	w.rt.Add(int64(done >> doneBits))
	w.success.Add(int64(done & unitMask))
}
