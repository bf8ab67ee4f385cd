package stat

import (
	"math"
	"sync"
	"sync/atomic"
)

// Gate counts permits held by calls in flight, exactly. Calls that entered before anybody asked for the gate
// hold no permit; until they have gone the gate is settling and counts them by its scope's calls in flight.
//
// A call of a settled gate that will never settle again writes it once at entry and once at exit. Otherwise the gate
// also has to know which calls in flight hold permits, which costs two more locked additions per call.
type Gate struct {
	held     atomic.Int64 // permits
	settling atomic.Bool
	lasting  bool // every call takes permits as long as the gate lives: once settled, it stays so

	mu    sync.Mutex   // held while settling
	calls atomic.Int64 // calls that hold permits and that the scope counts as in flight
	left  atomic.Int64 // calls that gave permits back while settling

	_ [24]byte // a whole cache line: every call of the scope writes it, so that it must hold nothing of another's
}

// Permit is what a call holds.
type Permit struct {
	n       int64
	pending bool // the gate waits for Arrived
	counted bool // among the gate's calls
}

// Pending says whether the gate is to be told when its scope counts the call as in flight.
func (p Permit) Pending() bool { return p.pending }

// Acquire takes n permits if at most room are held. active returns the scope's calls in flight.
func (g *Gate) Acquire(n, room int64, active func() int64) (Permit, bool) {
	n = min(n, 1<<40) // no sum overflows
	if g.settling.Load() {
		return g.acquireSettling(n, room, active)
	}
	return Permit{n: n, pending: !g.lasting}, g.take(n, room)
}

// take adds n if at most room are held.
func (g *Gate) take(n, room int64) bool {
	for {
		held := g.held.Load()
		if held > room {
			return false
		}
		if g.held.CompareAndSwap(held, saturatingAdd(held, n)) {
			return true
		}
	}
}

func (g *Gate) acquireSettling(n, room int64, active func() int64) (Permit, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.without(active)
	if before == 0 {
		g.settling.Store(false)
	}
	return Permit{n: n, pending: true}, g.take(n, room-before) // others may be past the settling already
}

// without returns how many calls in flight hold no permit, or more. A call that arrives while it counts is counted
// without one; if one leaves, which would make the count too small, it counts again.
func (g *Gate) without(active func() int64) int64 {
	for {
		left := g.left.Load()
		calls := g.calls.Load()
		before := max(0, active()-calls)
		if g.left.Load() == left {
			return before
		}
	}
}

// Arrived notes that the scope counts the call as in flight now.
func (g *Gate) Arrived(p *Permit) {
	if p.pending {
		p.pending, p.counted = false, true
		g.calls.Add(1)
	}
}

// Release gives the permits back. The scope must count the call as in flight until after.
func (g *Gate) Release(p Permit) {
	if p.counted {
		g.calls.Add(-1)
		if g.settling.Load() {
			g.left.Add(1) // before the scope stops counting the call
		}
	}
	g.held.Add(-p.n)
}

// Take takes n permits without a limit.
func (g *Gate) Take(n int64, active func() int64) Permit {
	p, _ := g.Acquire(n, math.MaxInt64, active)
	return p
}

// Held returns the permits held and, while settling, one more for each call that entered before.
func (g *Gate) Held(active func() int64) int64 {
	if !g.settling.Load() {
		return g.held.Load()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.without(active)
	return g.held.Load() + before
}
