package stat

import (
	"sync"
	"sync/atomic"
	"time"
)

// Node counts the calls of one scope. Make it with NewNode; all methods are safe for concurrent use.
//
// What a call writes: pass and, at exit, done, in the cache line of one bucket. As long as nobody else
// writes it that is two uncontended atomic adds. When callers on several
// cores meet (a failed compare-and-swap on pass), the node is inflated: every core's entries get a ring of
// their own, chosen by the pooled entry, which tends to stay on its core. An idle node keeps one ring.
type Node struct {
	first    atomic.Pointer[ring]
	more     atomic.Pointer[[]*ring] // nil until callers met
	exact    Exact
	borrowed atomic.Pointer[borrow]
	met      atomic.Int32 // how often callers met
	dropped  atomic.Bool  // taken out of its resource's table
	scope    *Scope

	mu      sync.Mutex // held to change buckets and to read sums
	history *history   // guarded by mu
	settled int64      // passed less completed of buckets that were folded, less extra of rings that are gone; guarded by mu
	old     []oldRing  // guarded by mu
}

// oldRing is a ring that was replaced, whose counters may still move: a caller that found it before may write it.
type oldRing struct {
	*ring
	since int64 // engine time at which housekeeping first saw it, 0 before
}

// Scope holds the settings that nodes share.
type Scope struct {
	shape atomic.Pointer[Shape]
	maxRT atomic.Int64 // ns
}

// NewScope returns settings with the shape and the response time that a bucket's least one starts from, in ns.
func NewScope(shape *Shape, maxRT int64) *Scope {
	s := &Scope{}
	s.shape.Store(shape)
	s.maxRT.Store(maxRT)
	return s
}

// Shape returns the shape of the nodes' windows.
func (s *Scope) Shape() *Shape { return s.shape.Load() }

// SetShape sets the shape of nodes made from now on; see Node.Reshape for existing ones.
func (s *Scope) SetShape(shape *Shape) { s.shape.Store(shape) }

// SetMaxRT sets the response time, in ns, that a bucket's least one starts from.
func (s *Scope) SetMaxRT(ns int64) { s.maxRT.Store(ns) }

// MaxRT returns the response time, in ns, that a bucket's least one starts from.
func (s *Scope) MaxRT() int64 { return s.maxRT.Load() }

// NewNode makes a node with nothing counted.
func NewNode(scope *Scope) *Node {
	n := &Node{scope: scope}
	n.first.Store(newRing(scope.Shape()))
	return n
}

// Dropped says whether the node was taken out of its resource's table, so that calls to come count in another one.
func (n *Node) Dropped() bool { return n.dropped.Load() }

// Spread says whether callers are spread over several rings, so that their hints matter.
func (n *Node) Spread() bool { return n.more.Load() != nil }

// meetings is how often callers must meet on a node before it is inflated.
const meetings = 8

func (n *Node) ring(hint uint32) *ring {
	if more := n.more.Load(); more != nil {
		return (*more)[hint&uint32(len(*more)-1)]
	}
	return n.first.Load()
}

// Pass counts a call that was admitted. The hint spreads callers over rings; met says that another caller used the
// same one of several rings at the same time, so that the caller should take another hint from then on.
func (n *Node) Pass(hint uint32, now, count int64) (met bool) {
	r := n.ring(hint)
	b := r.cur.Load()
	if b == nil || uint64(now-b.start.Load()) >= uint64(r.base) {
		b = n.roll(r, now)
	}
	passed := b.pass.Load()
	if !b.pass.CompareAndSwap(passed, passed+count) {
		b.pass.Add(count)
		met = n.Spread()
		n.meet()
	}
	if count != 1 {
		r.extra.Add(count - 1) // after pass: see activeLocked
	}
	return met
}

// Block counts a call that was refused.
func (n *Node) Block(hint uint32, now, count int64) {
	r := n.ring(hint)
	b := r.cur.Load()
	if b == nil || uint64(now-b.start.Load()) >= uint64(r.base) {
		b = n.roll(r, now)
	}
	blocked := b.block.Load()
	if !b.block.CompareAndSwap(blocked, blocked+count) {
		b.block.Add(count)
		n.meet()
	}
}

// Complete counts the end of an admitted call: its response time in ns and whether it failed.
func (n *Node) Complete(hint uint32, now, count, rt int64, failed bool) {
	r := n.ring(hint)
	b := r.cur.Load()
	if b == nil || uint64(now-b.start.Load()) >= uint64(r.base) {
		b = n.roll(r, now)
	}
	if rt < b.minRT.Load() {
		b.lowerMin(rt)
	}
	if failed {
		b.exception.Add(count)
	}
	if count != 1 || uint64(rt) >= quickRT {
		n.completeWide(r, b, count, rt)
		return
	}
	if b.done.Add(uint64(rt)<<doneBits|1)&halfDone != 0 {
		n.spill(b)
	}
}

// Borrow counts a call that was admitted into the later bucket that holds time at.
func (n *Node) Borrow(hint uint32, now, at, count int64) {
	n.ring(hint).at(n, now).occupied.Add(count)
	n.borrow(at, count)
}

// Return takes back what Borrow counted, for a call that gave up waiting.
func (n *Node) Return(hint uint32, now, at, count int64) {
	n.ring(hint).at(n, now).occupied.Add(-count)
	n.borrow(at, -count)
}

// Arrive counts a call that borrowed as in flight.
func (n *Node) Arrive(hint uint32) { n.ring(hint).extra.Add(-1) }

// meet notes that two callers wrote the same counter at once.
func (n *Node) meet() {
	if n.more.Load() == nil && n.met.Add(1) >= meetings {
		n.inflate()
	}
}

func (n *Node) inflate() {
	size := coreStripes()
	if size < 2 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.more.Load() != nil {
		return
	}
	first := n.first.Load()
	more := make([]*ring, size)
	more[0] = first
	for i := 1; i < size; i++ {
		more[i] = newRing(first.shape)
	}
	n.more.Store(&more)
}

// roll makes the bucket of time now the ring's newest, folding what it replaces into the history.
// A caller whose time is older than what the ring still holds gets the newest bucket.
func (n *Node) roll(r *ring, now int64) *bucket {
	n.mu.Lock()
	defer n.mu.Unlock()
	start := now - now%r.shape.base
	b := &r.buckets[start/r.shape.base%int64(len(r.buckets))]
	switch have := b.start.Load(); {
	case have > start:
		return r.cur.Load()
	case have < start:
		n.fold(b)
		b.minRT.Store(n.scope.MaxRT())
		b.start.Store(start)
	}
	if cur := r.cur.Load(); cur == nil || cur.start.Load() < start {
		r.cur.Store(b)
	}
	n.touch(now)
	return b
}

// fold moves a bucket's counts into the second they belong to. The caller holds mu.
// Counts are swapped out one by one, so a straggler's add is counted in the old bucket or the next, never lost.
func (n *Node) fold(b *bucket) {
	start := b.start.Load()
	t := tally{pass: b.pass.Swap(0), block: b.block.Swap(0), exception: b.exception.Swap(0), occupied: b.occupied.Swap(0)}
	t.success, t.rt = b.takeCompleted()
	n.settled += t.pass - t.success
	t.pass += t.occupied
	if start == never || t == (tally{}) {
		return
	}
	if n.history == nil {
		n.history = &history{}
	}
	if s := n.history.slot(start - start%second); s != nil {
		s.add(t)
		if start%peakEvery < n.first.Load().base {
			s.peak = max(s.peak, n.activeLocked())
		}
	}
}

// peakEvery bounds how often windows of many short buckets add up the calls in flight.
const peakEvery = 50 * int64(time.Millisecond)

// rings returns the node's rings. The caller holds mu.
func (n *Node) rings() []*ring {
	if more := n.more.Load(); more != nil {
		return *more
	}
	return []*ring{n.first.Load()}
}

// Shape returns the geometry of the node's second-level window.
func (n *Node) Shape() *Shape { return n.scope.Shape() }

// Exact returns the exact words of the node's scope.
func (n *Node) Exact() *Exact { return &n.exact }

// Window returns the exact count of the node's admissions.
func (n *Node) Window(now int64) *Window {
	if w := n.exact.open(); w != nil {
		return w
	}
	return n.exact.Window(n.scope.Shape(), now, func(add func(start, pass int64)) { n.eachPass(now, add) })
}

// Touch lets reservations made for the bucket of time now count, as any use of the node does.
func (n *Node) Touch(now int64) {
	n.touch(now)
	n.exact.Each(func(w *Window, _ bool) { w.Touch(now) })
}

// eachPass calls f with the passes of each bucket in the window, several times for one bucket if need be, and
// with those borrowed from later ones.
func (n *Node) eachPass(now int64, f func(start, pass int64)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.touch(now)
	shape := n.first.Load().shape
	oldest := shape.oldest(now)
	for _, r := range n.rings() {
		for i := range r.buckets {
			if start := r.buckets[i].start.Load(); start >= oldest {
				f(start-start%shape.length, r.buckets[i].pass.Load())
			}
		}
	}
	n.borrowed.Load().each(now, func(l loan, ahead bool) {
		if ahead || l.touched && l.start >= oldest {
			f(l.start, l.count)
		}
	})
}

// Active returns how many admitted calls have not completed.
func (n *Node) Active() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.activeLocked()
}

// activeLocked derives the calls in flight. It reads what completions write before what entries write, and both write
// in the order that lets it see too many for a moment but never too few: gates rely on that. The caller holds mu.
func (n *Node) activeLocked() int64 {
	sum := n.settled
	n.eachRing(func(r *ring) {
		for i := range r.buckets {
			success, _ := r.buckets[i].completed()
			sum -= success
		}
	})
	n.eachRing(func(r *ring) { sum -= r.extra.Load() })
	n.eachRing(func(r *ring) {
		for i := range r.buckets {
			sum += r.buckets[i].pass.Load()
		}
	})
	return sum
}

// eachRing calls f with every ring that may still be written. The caller holds mu.
func (n *Node) eachRing(f func(*ring)) {
	if more := n.more.Load(); more != nil {
		for _, r := range *more {
			f(r)
		}
	} else {
		f(n.first.Load())
	}
	for _, r := range n.old {
		f(r.ring)
	}
}
