package hotspot

import "github.com/tidegate-go/tidegate/chain"

// Limiter makes a controller's reservations part of a call: they are given back when the call is refused later or
// its caller gives up waiting, and end with the call.
type Limiter struct{ controller *Controller }

// NewLimiter makes a limiter of the controller.
func NewLimiter(c *Controller) Limiter { return Limiter{c} }

// Controller returns the limiter's controller.
func (l *Limiter) Controller() *Controller { return l.controller }

// Reserve counts the call for one value, and makes it wait if it must. It says whether the call may pass.
func (l *Limiter) Reserve(c *chain.Context, key Key) bool { return l.reserve(c, &key) }

func (l *Limiter) reserve(c *chain.Context, key *Key) bool {
	var h Hold
	wait, ok := l.controller.reserve(c.Now, key, c.Count, &h)
	if !ok {
		return false
	}
	l.keep(c, &h)
	c.Wait(wait)
	return true
}

// ReserveAll counts the call for every value of an argument, or for none. It returns the value that refused.
func (l *Limiter) ReserveAll(c *chain.Context, arg chain.Arg) (refused Key, ok bool) {
	holds, wait, refused, ok := l.controller.Admit(c.Now, arg, c.Count, nil)
	if !ok {
		return refused, false
	}
	for i := range holds {
		l.keep(c, &holds[i])
	}
	c.Wait(wait)
	return Key{}, true
}

func (l *Limiter) keep(c *chain.Context, h *Hold) {
	if h.v == nil {
		return
	}
	var needs chain.Need
	if l.controller.Holds() {
		needs = chain.NeedRelease
	}
	c.Hold(l, needs, h.a, h.b, h.v).C = h.form
}

// holdOf returns what keep was given.
func (l *Limiter) holdOf(c *chain.Context, h *chain.Hold) Hold {
	n := c.Count
	if l.controller.Holds() {
		n = 1
	}
	return Hold{v: h.Ref.(*value), form: h.C, n: n, at: c.Now, a: h.A, b: h.B} // keep put it there
}

// Commit has nothing to confirm.
func (l *Limiter) Commit(*chain.Context, *chain.Hold) *chain.BlockError { return nil }

// Undo gives back what the call reserved.
func (l *Limiter) Undo(c *chain.Context, h *chain.Hold) { l.controller.Undo(l.holdOf(c, h)) }

// Release frees the value's place.
func (l *Limiter) Release(c *chain.Context, h *chain.Hold, _ chain.Done) {
	l.controller.Release(l.holdOf(c, h))
}
