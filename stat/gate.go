package stat

import (
	"math"
	"sync"
	"sync/atomic"
)

// Gate counts permits held by calls in flight, exactly. Calls that entered before anybody asked for the gate
// hold no permit; until they have gone the gate is settling and counts them by its scope's calls in flight.
type Gate struct {
	held     atomic.Int64 // permits
	settling atomic.Bool

	mu      sync.Mutex   // held while settling
	calls   atomic.Int64 // calls that hold permits
	pending atomic.Int64 // of those, calls that the scope does not count as in flight yet
}

// Permit is what a call holds.
type Permit struct {
	n       int64
	pending bool
}

// NewPermit makes a permit of its parts.
func NewPermit(n int64, pending bool) Permit { return Permit{n: n, pending: pending} }

// Parts returns the permits held and whether the scope does not yet count the call as in flight.
func (p Permit) Parts() (n int64, pending bool) { return p.n, p.pending }

// Acquire takes n permits if at most room are held. active returns the scope's calls in flight.
func (g *Gate) Acquire(n, room int64, active func() int64) (Permit, bool) {
	if g.settling.Load() {
		return g.acquireSettling(n, room, active)
	}
	for {
		held := g.held.Load()
		if held > room {
			return Permit{}, false
		}
		if g.held.CompareAndSwap(held, saturatingAdd(held, n)) {
			g.calls.Add(1)
			return Permit{n: n}, true
		}
	}
}

func (g *Gate) acquireSettling(n, room int64, active func() int64) (Permit, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := max(0, active()-(g.calls.Load()-g.pending.Load())) // calls without a permit
	if before == 0 {
		g.settling.Store(false)
	}
	if g.held.Load() > room-before {
		return Permit{}, false
	}
	g.held.Add(n)
	g.calls.Add(1)
	g.pending.Add(1)
	return Permit{n: n, pending: true}, true
}

// Arrived notes that the scope counts the call as in flight now.
func (g *Gate) Arrived(p *Permit) {
	if p.pending {
		p.pending = false
		g.pending.Add(-1)
	}
}

// Release gives the permits back. The scope must count the call as in flight until after.
func (g *Gate) Release(p Permit) {
	g.Arrived(&p)
	g.calls.Add(-1)
	g.held.Add(-p.n)
}

// Take takes n permits without a limit.
func (g *Gate) Take(n int64, active func() int64) Permit {
	p, _ := g.Acquire(n, math.MaxInt64, active)
	return p
}

// Held returns the permits held and, while settling, one more for each call that entered before.
func (g *Gate) Held(active func() int64) int64 {
	held := g.held.Load()
	if g.settling.Load() {
		held += max(0, active()-g.calls.Load())
	}
	return held
}
