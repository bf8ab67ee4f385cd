package chain

// Holder is who made a reservation and can confirm, undo or release it.
type Holder interface {
	// Commit confirms a reservation after every check has passed, before any wait. It returns an error to
	// refuse the call after all. It is called for holds made with NeedCommit.
	Commit(c *Context, h *Hold) *BlockError
	// Undo gives the reservation back: the call was refused or its caller gave up waiting.
	Undo(c *Context, h *Hold)
	// Release ends a reservation at the exit of the call. It is called for holds made with NeedRelease.
	Release(c *Context, h *Hold, d Done)
}

// Need says which steps a hold takes part in.
type Need uint8

// What a hold needs.
const (
	NeedCommit Need = 1 << iota
	NeedRelease
	needArrived // a permit waits for Arrived
)

// Hold is one reservation of a call. What A, B, C and Ref mean is its holder's affair.
type Hold struct {
	By       Holder
	Ref      any
	A, B     int64
	C        uint32
	Needs    Need
	observed bool // made by a rule in observe mode
}

// nobody is the holder of a reservation that was undone before the others.
type nobody struct{}

func (nobody) Commit(*Context, *Hold) *BlockError { return nil }
func (nobody) Undo(*Context, *Hold)               {}
func (nobody) Release(*Context, *Hold, Done)      {}

// list is a short list that spills to the heap. Its length is kept elsewhere, in Context.got: a call that reserves
// nothing then touches none of the lists' cache lines, and appending writes no header but the length.
type list[T any] struct {
	items [inlineHolds]T
	more  []T
}

// add makes room for one item more than n, which it raises.
func (l *list[T]) add(n *int) *T {
	*n++
	if *n <= inlineHolds {
		return &l.items[*n-1]
	}
	for len(l.more) < *n-inlineHolds {
		var zero T
		l.more = append(l.more, zero)
	}
	return &l.more[*n-inlineHolds-1]
}

func (l *list[T]) at(i int) *T {
	if i < inlineHolds {
		return &l.items[i]
	}
	return &l.more[i-inlineHolds]
}

// reservations are what a call holds: places in windows, permits of gates, and what kinds hold by themselves. The
// first two are lists of their own because almost every call has them and they need no holder.
type reservations struct {
	places  list[place]
	permits list[permit]
	holds   list[Hold]
}

// Hold reports a reservation, and returns it for its holder to add to before the check returns.
func (c *Context) Hold(by Holder, needs Need, a, b int64, ref any) *Hold {
	h := c.holds.add(&c.got.holds)
	h.By, h.Needs, h.A, h.B, h.C, h.Ref, h.observed = by, needs, a, b, 0, ref, false
	c.needs |= needs
	return h
}

// Held returns the reservation that refers to ref and whether there is one.
func (c *Context) Held(ref any) (*Hold, bool) {
	for i := range c.got.holds {
		if h := c.holds.at(i); h.Ref == ref {
			return h, true
		}
	}
	return nil, false
}

// Mark is how far a call's reservations go at some moment.
type Mark struct{ places, permits, holds int }

// Mark returns how far the reservations go now. The zero Mark is before any.
func (c *Context) Mark() Mark { return c.got }

// UndoTo gives back the reservations made since the mark.
func (c *Context) UndoTo(m Mark) {
	for i := c.got.holds - 1; i >= m.holds; i-- {
		h := c.holds.at(i)
		h.By.Undo(c, h)
		*h = Hold{}
	}
	for i := c.got.permits - 1; i >= m.permits; i-- {
		c.permits.at(i).release()
	}
	for i := c.got.places - 1; i >= m.places; i-- {
		c.places.at(i).undo(c)
	}
	c.got = m
}

// UndoAll gives back all reservations.
func (c *Context) UndoAll() {
	if c.Holding() || c.got.places > 0 {
		c.UndoTo(Mark{})
	}
}

// Holding says whether the call holds something that its end gives back: permits or reservations of a kind's own.
func (c *Context) Holding() bool { return c.got.permits|c.got.holds != 0 }

// ObserveFrom marks the reservations made since the mark as made by a rule that only observes.
func (c *Context) ObserveFrom(m Mark) {
	for i := m.holds; i < c.got.holds; i++ {
		c.holds.at(i).observed = true
	}
}

// NeedsCommit says whether a reservation waits for Commit.
func (c *Context) NeedsCommit() bool { return c.needs&NeedCommit != 0 }

// Arriving says whether a gate is to be told that its scope counts the call as in flight.
func (c *Context) Arriving() bool { return c.needs&needArrived != 0 }

// Commit confirms the reservations. It returns the error of the first holder that refuses; holders that only
// observe are undone instead and observed is told.
func (c *Context) Commit(observed func(*BlockError)) *BlockError {
	for i := range c.got.holds {
		h := c.holds.at(i)
		if h.Needs&NeedCommit == 0 {
			continue
		}
		err := h.By.Commit(c, h)
		switch {
		case err == nil:
		case h.observed:
			h.By.Undo(c, h)
			*h = Hold{By: nobody{}}
			observed(err)
		default:
			return err
		}
	}
	return nil
}

// Release ends the reservations at the call's exit.
func (c *Context) Release(d Done) {
	if c.needs&NeedRelease != 0 {
		for i := range c.got.holds {
			if h := c.holds.at(i); h.Needs&NeedRelease != 0 {
				h.By.Release(c, h, d)
			}
		}
	}
	for i := range c.got.permits {
		c.permits.at(i).release()
	}
}

// Arrived tells the gates that their scopes count the call as in flight now.
func (c *Context) Arrived() {
	for i := range c.got.permits {
		p := c.permits.at(i)
		p.gate.Arrived(&p.Permit)
	}
}
