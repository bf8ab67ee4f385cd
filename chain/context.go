package chain

import (
	"github.com/tidegate-go/tidegate/stat"
)

const (
	inlineHolds = 6
	inlineArgs  = 4
)

// Context is the call being decided, as checks see it. It belongs to the engine: a check must not keep it, nor
// anything it points to, after it returned. The fields are read-only for checks.
type Context struct {
	Now         int64 // engine time at entry, ns since the Unix epoch
	Resource    *stat.Resource
	Node        *stat.ContextNode // the resource within the call's context
	OriginNode  *stat.Node        // the resource for the call's origin; nil without origin
	Origin      string
	Entrance    string // name of the context, never ""
	Count       int64  // units the call acquires
	Inbound     bool
	Prioritized bool
	Group       bool
	Request     Request // nil but for gateway calls

	Permits *stat.Gate // of isolation rules, nil without; every admitted call takes its count

	Hint    uint32 // spreads callers over counters
	wait    int64
	borrow  int64
	held    int
	pending bool // a gate waits for Arrived
	holds   [inlineHolds]Hold
	more    []Hold
	argc    int
	argv    [inlineArgs]Arg
	args    []Arg
}

// Reset prepares the context for a call. The engine alone calls it.
func (c *Context) Reset() {
	c.wait, c.borrow, c.held, c.pending = 0, 0, 0, false
}

// SetArgs copies the arguments into the context.
func (c *Context) SetArgs(args []Arg) {
	c.argc = len(args)
	if len(args) <= inlineArgs {
		copy(c.argv[:], args)
		c.args = c.argv[:len(args)]
		return
	}
	c.args = append([]Arg(nil), args...)
}

// Clear drops what belongs to the caller: arguments and what reservations point to.
func (c *Context) Clear() {
	if c.held > inlineHolds {
		clear(c.more)
		c.more = c.more[:0]
	}
	if c.argc > 0 {
		clear(c.argv[:min(c.argc, inlineArgs)])
		c.args, c.argc = nil, 0
		for i := range min(c.held, inlineHolds) {
			c.holds[i].Ref = nil
		}
	}
	c.Permits = nil
	c.Request = nil
}

// Args returns the call's arguments.
func (c *Context) Args() []Arg { return c.args }

// Arg returns the argument at the position, counted from the end if negative.
func (c *Context) Arg(position int) (Arg, bool) {
	if position < 0 {
		position += len(c.args)
	}
	if position < 0 || position >= len(c.args) {
		return Arg{}, false
	}
	return c.args[position], true
}

// ArgNamed returns the first argument of that name.
func (c *Context) ArgNamed(name string) (Arg, bool) {
	for _, a := range c.args {
		if a.name == name {
			return a, true
		}
	}
	return Arg{}, false
}

// Wait makes the call wait for at least d ns after all checks have passed. The longest of all waits counts.
func (c *Context) Wait(d int64) { c.wait = max(c.wait, d) }

// Waiting returns how long the call will wait, in ns.
func (c *Context) Waiting() int64 { return c.wait }

// SetWaiting sets how long the call will wait; the engine alone uses it.
func (c *Context) SetWaiting(d int64) { c.wait = d }

// Borrow says that the call was admitted into the window's bucket at that time, which is yet to come.
func (c *Context) Borrow(at int64) { c.borrow = at }

// Borrowed returns what Borrow was told, 0 if nothing.
func (c *Context) Borrowed() int64 { return c.borrow }

// Hold reports a reservation.
func (c *Context) Hold(by Holder, needs Need, a, b int64, ref any) {
	h := Hold{By: by, Needs: needs, A: a, B: b, Ref: ref}
	if c.held < inlineHolds {
		c.holds[c.held] = h
	} else {
		c.more = append(c.more, h)
	}
	c.held++
}

// Held returns how many reservations the call holds.
func (c *Context) Held() int { return c.held }

// HoldAt returns the i-th reservation.
func (c *Context) HoldAt(i int) *Hold {
	if i < inlineHolds {
		return &c.holds[i]
	}
	return &c.more[i-inlineHolds]
}

// UndoTo gives back the reservations made since Held returned keep, latest first.
func (c *Context) UndoTo(keep int) {
	for i := c.held - 1; i >= keep; i-- {
		h := c.HoldAt(i)
		h.By.Undo(c, h)
		*h = Hold{}
	}
	if keep < inlineHolds {
		c.more = c.more[:0]
	} else {
		c.more = c.more[:keep-inlineHolds]
	}
	c.held = keep
}

// Commit confirms the reservations. It returns the error of the first holder that refuses; holders that only
// observe are undone instead, by the function given.
func (c *Context) Commit(observed func(*BlockError)) *BlockError {
	for i := 0; i < c.held; i++ {
		h := c.HoldAt(i)
		if h.Needs&NeedCommit == 0 {
			continue
		}
		err := h.By.Commit(c, h)
		switch {
		case err == nil:
		case h.observed:
			h.By.Undo(c, h)
			*h = Hold{By: Nothing{}}
			observed(err)
		default:
			return err
		}
	}
	return nil
}

// ObserveFrom marks the reservations made since Held returned from as made by a rule that only observes.
func (c *Context) ObserveFrom(from int) {
	for i := from; i < c.held; i++ {
		c.HoldAt(i).observed = true
	}
}

// Release ends the reservations at the call's exit.
func (c *Context) Release(d Done) {
	for i := 0; i < c.held; i++ {
		if h := c.HoldAt(i); h.Needs&NeedRelease != 0 {
			h.By.Release(c, h, d)
		}
	}
}
