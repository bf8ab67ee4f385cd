package hotspot

import "github.com/tidegate-go/tidegate/chain"

// Limiter makes a controller's reservations part of a call: they are given back when the call is refused later or
// its caller gives up waiting, and end with the call.
type Limiter struct {
	controller *Controller
	last       bool // no check comes after this one
}

// NewLimiter makes a limiter of the controller.
func NewLimiter(c *Controller) Limiter { return Limiter{controller: c} }

// ComesLast is told once, before any call, that the limiter's check is the last one that calls are asked by: what a call
// has taken there for good need not be remembered.
func (l *Limiter) ComesLast() { l.last = true }

// Controller returns the limiter's controller.
func (l *Limiter) Controller() *Controller { return l.controller }

// Reserve counts the call for one value, and makes it wait if it must. It says whether the call may pass.
func (l *Limiter) Reserve(c *chain.Context, key Key) bool {
	var p probe
	l.controller.table.hasher.prepare(&p, &key)
	v, f := l.controller.table.find(&p)
	return l.reserve(c, &p, v, f)
}

// reserve is Reserve for a probe that has found v, or nil.
func (l *Limiter) reserve(c *chain.Context, p *probe, v *value, f form) bool {
	g, wait, ok := l.controller.reserve(c.Now, p, v, f, c.Count)
	if !ok {
		return false
	}
	if wait > 0 {
		c.Wait(wait)
	}
	if g.v != nil && (l.controller.Holds() || l.mayUndo(c)) {
		l.keep(c, g)
	}
	return true
}

// mayUndo says whether the call may still be refused, or its caller leave, so that what it has reserved is given back.
func (l *Limiter) mayUndo(c *chain.Context) bool {
	return !l.last || c.Waiting() > 0 || c.NeedsCommit()
}

// ReserveAll counts the call for every value of an argument, or for none. It returns the value that refused.
func (l *Limiter) ReserveAll(c *chain.Context, arg chain.Arg) (refused Key, ok bool) {
	holds, wait, refused, ok := l.controller.Admit(c.Now, arg, c.Count, nil)
	if !ok {
		return refused, false
	}
	for i := range holds {
		l.keep(c, holds[i].grant)
	}
	c.Wait(wait)
	return Key{}, true
}

func (l *Limiter) keep(c *chain.Context, g grant) {
	var needs chain.Need
	if l.controller.Holds() {
		needs = chain.NeedRelease
	}
	c.Hold(l, needs, g.a, g.b, g.v).C = g.form
}

// holdOf returns what keep was given.
func (l *Limiter) holdOf(c *chain.Context, h *chain.Hold) Hold {
	g := grant{v: h.Ref.(*value), form: h.C, a: h.A, b: h.B} // keep put it there
	return l.controller.holdOf(g, c.Now, c.Count)
}

// Commit has nothing to confirm.
func (l *Limiter) Commit(*chain.Context, *chain.Hold) *chain.BlockError { return nil }

// Undo gives back what the call reserved.
func (l *Limiter) Undo(c *chain.Context, h *chain.Hold) { l.controller.Undo(l.holdOf(c, h)) }

// Release frees the value's place.
func (l *Limiter) Release(c *chain.Context, h *chain.Hold, _ chain.Done) {
	l.controller.Release(l.holdOf(c, h))
}
