package stat

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Exact holds the exact words of one scope: a resource over all contexts, or one node. They are made when a
// rule first asks, so a scope without limits carries one nil pointer. Every admitted call of the scope is
// counted in every word that exists, whichever rule asked for it.
type Exact struct {
	words atomic.Pointer[words]
	mu    sync.Mutex // held to change words
	gate  *Gate      // kept while no rule asks, for calls that still hold permits; guarded by mu
}

// words is immutable; the words it points to are not.
type words struct {
	window *Window   // of the node's own shape
	own    []*Window // of rules with a window of their own
	gate   *Gate
	sole   *Window // window, if it is the only word, else nil
}

// publish makes the words, nil for none, those of the scope. The caller holds mu.
func (x *Exact) publish(next *words) {
	if next != nil {
		if next.sole = next.window; next.gate != nil || len(next.own) > 0 {
			next.sole = nil
		}
	}
	x.words.Store(next)
}

// Window returns the window of the scope's shape. When it is made, seed gives the passes of each bucket that the
// scope has counted so far.
func (x *Exact) Window(shape *Shape, now int64, seed func(add func(start, pass int64))) *Window {
	if w := x.open(); w != nil {
		return w
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	next := x.copy()
	if next.window == nil {
		next.window = NewWindow(shape.length, shape.count, now)
		seed(next.window.seed)
		x.publish(next)
	}
	return next.window
}

// open returns the window of the scope's shape if it has been made.
func (x *Exact) open() *Window {
	if w := x.words.Load(); w != nil {
		return w.window
	}
	return nil
}

// OwnWindow returns the window of a rule that has an interval of its own: count buckets of length ns.
// Rules with the same shape share it.
func (x *Exact) OwnWindow(length, count, now int64) *Window {
	if w := x.words.Load(); w != nil {
		if own := w.ownOf(length, count); own != nil {
			return own
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	next := x.copy()
	own := next.ownOf(length, count)
	if own == nil {
		own = NewWindow(length, count, now)
		next.own = append(slices.Clip(next.own), own)
		x.publish(next)
	}
	return own
}

func (w *words) ownOf(length, count int64) *Window {
	for _, own := range w.own {
		if own.length == length && own.count == count {
			return own
		}
	}
	return nil
}

// Gate returns the scope's gate for calls in flight.
func (x *Exact) Gate() *Gate {
	if w := x.words.Load(); w != nil && w.gate != nil {
		return w.gate
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	next := x.copy()
	if next.gate == nil {
		if x.gate == nil {
			x.gate = &Gate{}
		}
		x.gate.settling.Store(true)
		next.gate = x.gate
		x.publish(next)
	}
	return next.gate
}

// copy returns a copy of the words to change. The caller holds mu.
func (x *Exact) copy() *words {
	if w := x.words.Load(); w != nil {
		next := *w
		return &next
	}
	return &words{}
}

// Need says which words rules still ask for.
type Need struct {
	Window bool
	Gate   bool
	Own    func(length, count int64) bool // nil: none
}

// Keep drops the words that no rule asks for any more.
func (x *Exact) Keep(need Need) {
	if x.words.Load() == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	next := x.copy()
	if !need.Window {
		next.window = nil
	}
	if !need.Gate {
		next.gate = nil
	}
	next.own = slices.DeleteFunc(slices.Clone(next.own), func(w *Window) bool {
		return need.Own == nil || !need.Own(w.length, w.count)
	})
	if next.window == nil && next.gate == nil && len(next.own) == 0 {
		next = nil
	}
	x.publish(next)
}

// dropWindow forgets the window of the scope's shape, which has changed.
func (x *Exact) dropWindow() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.words.Load() != nil {
		next := x.copy()
		next.window = nil
		x.publish(next)
	}
}

// Any says whether any word exists.
func (x *Exact) Any() bool { return x.words.Load() != nil }

// Sole returns the window of the scope's shape if it is the only word, as under rules of the usual kinds, else nil.
func (x *Exact) Sole() *Window {
	if w := x.words.Load(); w != nil {
		return w.sole
	}
	return nil
}

// Each calls f with each window and whether it is the one of the scope's shape.
func (x *Exact) Each(f func(w *Window, shaped bool)) {
	w := x.words.Load()
	if w == nil {
		return
	}
	if w.window != nil {
		f(w.window, true)
	}
	for _, own := range w.own {
		f(own, false)
	}
}

// gather makes the windows of an idle scope one word each again.
func (x *Exact) gather() { x.Each(func(w *Window, _ bool) { w.gather() }) }

// Words returns the words that exist: the window of the scope's shape, the windows of rules with one of their own,
// and the gate. Any may be nil.
func (x *Exact) Words() (shaped *Window, own []*Window, gate *Gate) {
	if w := x.words.Load(); w != nil {
		return w.window, w.own, w.gate
	}
	return nil, nil, nil
}

// seed adds passes of a bucket counted before the window existed.
func (w *Window) seed(start, pass int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	current := w.start.Load()
	if start > current {
		w.reserveAhead(start, pass)
		return
	}
	w.total.Add(pass)
	if start < current {
		w.closed[w.index(start)] += pass
		w.sum += pass
	}
}

// Busy says whether a word holds what a limit still needs to know: calls in a window, a gap that is not over, permits.
func (x *Exact) Busy(now int64) bool {
	w := x.words.Load()
	if w == nil {
		return false
	}
	busy := w.gate != nil && w.gate.held.Load() != 0
	x.Each(func(w *Window, _ bool) { busy = busy || w.busy(now) })
	return busy
}

func (w *Window) busy(now int64) bool {
	last, ever := w.Latest()
	return w.Total(now) != 0 || w.lent.Load() || ever && !GapOver(last, now, w.gap.Load())
}

// Settle lets reservations made for the bucket of time now count, as any use of the scope does.
func (x *Exact) Settle(now int64) {
	if w := x.words.Load(); w != nil && w.window != nil {
		w.window.settle(now)
	}
}
