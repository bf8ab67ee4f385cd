package chain

import (
	"github.com/tidegate-go/tidegate/stat"
)

const (
	inlineHolds = 4
	inlineArgs  = 4
)

// Context is the call being decided, as checks see it. It belongs to the engine: a check must not keep it, nor
// anything it points to, after it returned. The fields are read-only for checks.
type Context struct {
	// Every call uses what comes first, which fills a cache line.

	Now         int64 // engine time at entry, ns since the Unix epoch
	Resource    *stat.Resource
	Node        *stat.ContextNode // the resource within the call's context
	OriginNode  *stat.Node        // the resource for the call's origin; nil without origin
	Count       int64             // units the call acquires
	Hint        uint32            // spreads callers over counters
	Inbound     bool
	Prioritized bool
	Group       bool
	needs       Need // of all holds
	wait        int64
	borrow      int64

	// The next line has what a call with one place in a window uses besides.

	got  Mark // how many reservations there are
	argc int
	reservations

	Origin   string
	Entrance string  // name of the context, never ""
	Request  Request // nil but for gateway calls

	argv [inlineArgs]Arg
	args []Arg

	asked
}

// Begin prepares the context for a call at that time. The engine alone calls it.
func (c *Context) Begin(now int64) {
	c.Now, c.wait, c.borrow, c.needs = now, 0, 0, 0
	c.got = Mark{}
}

// Plain says whether the call, of which no check was asked, counts one unit in its context's node and nowhere else. The
// engine alone asks it.
func (c *Context) Plain() bool {
	return c.Count == 1 && !c.Inbound && c.OriginNode == nil && !c.Node.Exact().Any() && !c.Resource.Exact().Any() && c.Resource.OpenPermits() == nil
}

// SetArgs copies the arguments into the context.
func (c *Context) SetArgs(args []Arg) {
	c.argc = len(args)
	if len(args) == 1 && args[0].kind != argRequest {
		c.argv[0] = args[0]
		c.args = c.argv[:1]
		return
	}
	to := c.argv[:0]
	for i := range args {
		if args[i].kind == argRequest {
			c.Request, _ = args[i].any.(Request)
		} else {
			to = append(to, args[i]) // beyond argv it moves to the heap
		}
	}
	c.args = to
}

// Clear drops what belongs to the caller: arguments, the request, and what checks hold because of them.
func (c *Context) Clear() {
	if c.argc == 0 {
		return
	}
	for i := range min(c.argc, inlineArgs) { // field by field: clearing whole arguments costs a bulk barrier
		a := &c.argv[i]
		a.name, a.str, a.any = "", "", nil
	}
	c.args, c.argc, c.Request = nil, 0, nil
	for i := range min(c.got.holds, inlineHolds) { // those undone are cleared already
		c.holds.items[i].Ref = nil
	}
	c.holds.more = nil
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

// Scalar returns the class, the text of an ArgString and the bits of a number of the argument at the position, counted
// from the end if negative: Arg without copying it. The class of an argument that is not there is ArgNil.
func (c *Context) Scalar(position int) (kind ArgKind, text string, bits uint64) {
	if position < 0 {
		position += len(c.args)
	}
	if position < 0 || position >= len(c.args) {
		return ArgNil, "", 0
	}
	a := &c.args[position]
	return a.kind, a.str, a.num
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
