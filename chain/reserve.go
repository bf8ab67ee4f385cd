package chain

import (
	"math"

	"github.com/tidegate-go/tidegate/stat"
)

// way is how a call is counted in a window.
type way uint8

const (
	inBucket way = iota
	moved        // in the bucket of a later time, once that begins
	ahead        // in the bucket of a later time
	afterGap     // noted as the first one after a gap, but not counted
)

// place is where a call is counted in a window.
type place struct {
	window *stat.Window
	at     int64 // bucket, or for ahead a time in it
	before int64 // afterGap: the reservation before
	way    way
}

// counts says whether it is a place in that window.
func (p *place) counts(w *stat.Window) bool { return p.window == w && p.way != afterGap }

func (p *place) undo(c *Context) {
	switch p.way {
	case inBucket:
		p.window.Undo(p.at, c.Units())
	case ahead:
		p.window.UndoAhead(p.at, c.Units())
	case moved:
		p.window.UndoMove(p.before, p.at, c.Units())
	case afterGap:
		p.window.UndoGap(c.Now, p.before)
	}
}

// permit is what a call holds of a gate.
type permit struct {
	gate *stat.Gate
	stat.Permit
}

func (p *permit) release() { p.gate.Release(p.Permit) }

// Counted says whether the call is counted in the window.
func (c *Context) Counted(w *stat.Window) bool {
	for i := range c.got.places {
		if c.places.at(i).counts(w) {
			return true
		}
	}
	return false
}

// Permitted says whether the call holds permits of the gate.
func (c *Context) Permitted(g *stat.Gate) bool {
	for i := range c.got.permits {
		if c.permits.at(i).gate == g {
			return true
		}
	}
	return false
}

func (c *Context) take(w *stat.Window, at, before int64, how way) {
	p := c.places.add(&c.got.places)
	p.window, p.at, p.before, p.way = w, at, before, how
}

// ReserveWindow counts the call in the window if at most room is counted already.
func (c *Context) ReserveWindow(w *stat.Window, room int64) bool {
	return c.ReserveWindowOf(&c.Node.Node, w, room)
}

// ReserveWindowOf is ReserveWindow for a window of which that node tells whether callers of several cores meet on it.
func (c *Context) ReserveWindowOf(n *stat.Node, w *stat.Window, room int64) bool {
	var bucket int64
	var ok bool
	if n.Spread() {
		bucket, ok = w.ReserveBy(c.Hint, c.Now, c.Units(), room)
	} else {
		bucket, ok = w.Reserve(c.Now, c.Units(), room)
	}
	if ok {
		c.take(w, bucket, 0, inBucket)
	}
	return ok
}

// ReserveGap notes the call in the window as the latest if the one before was admitted at least gap ns ago. The call
// is counted when all checks have passed.
func (c *Context) ReserveGap(w *stat.Window, gap int64) bool {
	for i := range c.got.places {
		if p := c.places.at(i); p.window == w && p.way == afterGap { // by another rule
			return stat.GapOver(p.before, c.Now, gap)
		}
	}
	previous, ok := w.ReserveGap(c.Now, gap)
	if ok {
		c.take(w, 0, previous, afterGap)
	}
	return ok
}

// OccupyWindow counts the call in a bucket yet to come and makes it wait, if that is less than timeout ns.
func (c *Context) OccupyWindow(w *stat.Window, most float64, timeout int64) bool {
	wait, ok := w.Occupy(c.Now, c.Units(), most, timeout)
	if ok {
		c.Wait(wait)
		c.Borrow(max(c.borrow, c.Now+wait))
		c.take(w, c.Now+wait, 0, ahead)
	}
	return ok
}

// MoveOn makes the places that the call took in the present, or in an earlier bucket to come, end with the bucket it
// was admitted into: it runs then.
func (c *Context) MoveOn() {
	for i := range c.got.places {
		if p := c.places.at(i); p.way != afterGap && p.at < c.borrow {
			p.window.MoveOn(p.at, c.borrow, c.Units())
			p.before, p.at, p.way = p.at, c.borrow, moved
		}
	}
}

// ReserveGate takes n permits if at most room are held. active returns the scope's calls in flight.
func (c *Context) ReserveGate(g *stat.Gate, n, room int64, active func() int64) bool {
	p, ok := g.Acquire(n, room, active)
	if ok {
		c.keep(g, p)
	}
	return ok
}

func (c *Context) keep(g *stat.Gate, taken stat.Permit) {
	p := c.permits.add(&c.got.permits)
	p.gate, p.Permit = g, taken
	if taken.Pending() {
		c.needs |= needArrived
	}
}

// Charged says, for the usual case, that the scope has one word, in which a rule's check counted the call as its i-th
// place. If it says no, ask Charge.
func (c *Context) Charged(x *stat.Exact, i int) bool {
	w := x.Sole()
	return w != nil && uint(i) < inlineHolds && i < c.got.places && c.places.items[i].counts(w)
}

// LastPlace returns the number of the last place that the call took, -1 without any.
func (c *Context) LastPlace() int { return c.got.places - 1 }

// Charge counts the admitted call in every exact word of the scope in which no check has counted it.
func (c *Context) Charge(x *stat.Exact, active func() int64) {
	shaped, own, gate := x.Words()
	if shaped != nil && !c.Counted(shaped) {
		if c.borrow != 0 {
			shaped.AddAhead(c.borrow, c.Units())
			c.take(shaped, c.borrow, 0, ahead)
		} else {
			c.ReserveWindow(shaped, math.MaxInt64)
		}
	}
	for _, w := range own {
		if !c.Counted(w) {
			c.ReserveWindow(w, math.MaxInt64)
		}
	}
	if gate != nil && !c.Permitted(gate) {
		c.keep(gate, gate.Take(1, active))
	}
}

// TakePermits takes the call's permits of isolation rules, for a call that no such rule's check took them for.
func (c *Context) TakePermits(g *stat.Gate) { c.keep(g, g.Take(c.Count, c.Resource.Active)) }

// MostUnits bounds what one call adds to a counter, so that no sum overflows. Limits compare the call's real count.
const MostUnits = 1 << 40

// Units returns what the call adds to counters.
func (c *Context) Units() int64 { return min(c.Count, MostUnits) }
