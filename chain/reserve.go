package chain

import "github.com/tidegate-go/tidegate/stat"

// Nothing is a holder with nothing to give back.
type Nothing struct{}

// Commit does nothing.
func (Nothing) Commit(*Context, *Hold) *BlockError { return nil }

// Undo does nothing.
func (Nothing) Undo(*Context, *Hold) {}

// Release does nothing.
func (Nothing) Release(*Context, *Hold, Done) {}

type (
	windowHolder struct{ Nothing } // A: bucket
	aheadHolder  struct{ Nothing } // A: time in the bucket reserved ahead
	gapHolder    struct{ Nothing } // A: bucket, B: previous reservation
	gateHolder   struct{ Nothing } // A: permits, B: 1 if not counted as in flight yet
)

func (windowHolder) Undo(c *Context, h *Hold) { h.Ref.(*stat.Window).Undo(h.A, c.Count) }
func (aheadHolder) Undo(c *Context, h *Hold)  { h.Ref.(*stat.Window).AddAhead(h.A, -c.Count) }
func (gapHolder) Undo(c *Context, h *Hold) {
	h.Ref.(*stat.Window).UndoGap(h.A, c.Count, c.Now, h.B)
}
func (gateHolder) Undo(_ *Context, h *Hold)            { releaseGate(h) }
func (gateHolder) Release(_ *Context, h *Hold, _ Done) { releaseGate(h) }

func releaseGate(h *Hold) { h.Ref.(*stat.Gate).Release(stat.NewPermit(h.A, h.B == 1)) }

// Holds says whether the call has reserved a place in the window or a permit of the gate.
func (c *Context) Holds(ref any) bool {
	for i := 0; i < c.held; i++ {
		if c.HoldAt(i).Ref == ref {
			return true
		}
	}
	return false
}

// ReserveWindow counts the call in the window if at most room is counted already.
func (c *Context) ReserveWindow(w *stat.Window, room int64) bool {
	bucket, ok := w.Reserve(c.Now, c.Count, room)
	if ok {
		c.Hold(windowHolder{}, 0, bucket, 0, w)
	}
	return ok
}

// ReserveGap counts the call in the window if the last one admitted is at least gap ns ago.
func (c *Context) ReserveGap(w *stat.Window, gap int64) bool {
	bucket, previous, ok := w.ReserveGap(c.Now, c.Count, gap)
	if ok {
		c.Hold(gapHolder{}, 0, bucket, previous, w)
	}
	return ok
}

// OccupyWindow counts the call in a bucket yet to come and makes it wait, if that is less than timeout ns.
func (c *Context) OccupyWindow(w *stat.Window, most float64, timeout int64) bool {
	wait, ok := w.Occupy(c.Now, c.Count, most, timeout)
	if ok {
		c.Wait(wait)
		c.Borrow(c.Now + wait)
		c.Hold(aheadHolder{}, 0, c.Now+wait, 0, w)
	}
	return ok
}

// ReserveGate takes n permits if at most room are held. active returns the scope's calls in flight.
func (c *Context) ReserveGate(g *stat.Gate, n, room int64, active func() int64) bool {
	permit, ok := g.Acquire(n, room, active)
	if ok {
		c.holdPermit(g, permit)
	}
	return ok
}

func (c *Context) holdPermit(g *stat.Gate, p stat.Permit) {
	n, pending := p.Parts()
	var b int64
	if pending {
		b = 1
		c.pending = true
	}
	c.Hold(gateHolder{}, NeedRelease, n, b, g)
}

// Charge counts the admitted call in every exact word of the scope in which no check has counted it.
func (c *Context) Charge(x *stat.Exact, active func() int64) {
	shaped, own, gate := x.Words()
	if shaped != nil && !c.Holds(shaped) {
		if c.borrow != 0 {
			shaped.AddAhead(c.borrow, c.Count)
			c.Hold(aheadHolder{}, 0, c.borrow, 0, shaped)
		} else {
			c.add(shaped)
		}
	}
	for _, w := range own {
		if !c.Holds(w) {
			c.add(w)
		}
	}
	if gate != nil && !c.Holds(gate) {
		c.holdPermit(gate, gate.Take(1, active))
	}
}

func (c *Context) add(w *stat.Window) { c.Hold(windowHolder{}, 0, w.Add(c.Now, c.Count), 0, w) }

// TakePermits takes the call's permits of isolation rules without a limit.
func (c *Context) TakePermits() { c.holdPermit(c.Permits, c.Permits.Take(c.Count, c.Resource.Active)) }

// Arrived tells the gates that the scope counts the call as in flight now.
func (c *Context) Arrived() {
	if !c.pending {
		return
	}
	c.pending = false
	for i := 0; i < c.held; i++ {
		if h := c.HoldAt(i); h.B == 1 {
			if g, ok := h.Ref.(*stat.Gate); ok {
				p := stat.NewPermit(h.A, true)
				g.Arrived(&p)
				h.B = 0
			}
		}
	}
}
