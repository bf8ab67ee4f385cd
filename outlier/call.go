package outlier

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

var (
	// ErrEjected says that the address asked for is ejected, or that all are.
	ErrEjected = errors.New("ejected as an outlier")
	// ErrNoAddress says that the group has no address, or none beside those that were excepted.
	ErrNoAddress = errors.New("no address to choose from")
)

// Call is a call to one address that has begun. It must be ended once, by Done, Complete or Cancel; a second
// time does nothing, unless the value was copied. The zero value is a call of which nobody takes note.
// It is to be used by one goroutine at a time.
type Call struct {
	group   *Group
	node    *node
	address string
	ticket  circuitbreaker.Ticket
	start   int64
}

// Address returns the address that is called.
func (c *Call) Address() string { return c.address }

// Probe reports whether the call's outcome decides if the address is well again.
func (c *Call) Probe() bool { return c.ticket != circuitbreaker.Ticket{} }

// Start begins a call to an address chosen by the caller. The error, which wraps ErrEjected, says that the
// address is ejected and not due for a probe: take another one. An address that is not of the group, such as
// one that has just left it, may be called without anybody taking note.
func (g *Group) Start(address string) (Call, error) {
	now := g.time.now()
	g.maintain(now)
	n := g.current().byAddress[address]
	if n == nil {
		return Call{address: address}, nil
	}
	if c, ok := g.begin(n, now); ok {
		return c, nil
	}
	return Call{}, n.refused
}

// Pick chooses an address and begins a call to it: one that is due for a probe, else the next in turn of those that
// are available. Addresses in except are passed over, as for a second attempt elsewhere. The error
// is ErrNoAddress, or wraps ErrEjected if the addresses that are left are all ejected.
func (g *Group) Pick(except ...string) (Call, error) {
	now := g.time.now()
	g.maintain(now)
	v := g.current()
	for _, n := range v.ejected {
		if n.breaker.Check(now) == circuitbreaker.Refuse || slices.Contains(except, n.address) {
			continue
		}
		if c, ok := g.begin(n, now); ok {
			return c, nil
		}
	}
	if c, ok := g.next(v.available, except, now); ok {
		return c, nil
	}
	for _, n := range v.nodes {
		if !slices.Contains(except, n.address) {
			return Call{}, g.none
		}
	}
	return Call{}, ErrNoAddress
}

// next begins a call to the node whose turn it is. A node that was ejected since the caller looked is passed over
// unless there is no other: the call could as well have begun a moment earlier.
func (g *Group) next(nodes []*node, except []string, now int64) (c Call, ok bool) {
	if len(nodes) == 0 {
		return Call{}, false
	}
	first := g.turn.Add(1) - 1
	for i := range uint64(len(nodes)) {
		n := nodes[(first+i)%uint64(len(nodes))]
		if slices.Contains(except, n.address) {
			continue
		}
		if c, began := g.begin(n, now); began {
			return c, true
		}
		c, ok = Call{group: g, node: n, address: n.address, start: now}, true
	}
	return c, ok
}

// begin begins a call to n unless n is ejected and not due for a probe.
func (g *Group) begin(n *node, now int64) (Call, bool) {
	c := Call{group: g, node: n, address: n.address, start: now}
	switch n.breaker.Check(now) {
	case circuitbreaker.Pass:
		return c, true
	case circuitbreaker.Probe:
		var ok bool
		c.ticket, ok = n.breaker.Acquire(now)
		n.active.Store(now)
		g.settle(n, now)
		if ok {
			return c, true
		}
	case circuitbreaker.Refuse:
	}
	if n.ejected.Load() {
		return Call{}, false
	}
	n.active.Store(now)
	return c, true // failing, but there are ejected ones enough
}

// Done ends the call; it took the time since it began and failed if err is not nil. A call whose context was
// cancelled (context.Canceled) says nothing about the address and does not count; a deadline exceeded does.
func (c *Call) Done(err error) {
	switch {
	case c.node == nil:
	case errors.Is(err, context.Canceled):
		c.Cancel()
	default:
		now := c.group.time.now()
		c.end(now, time.Duration(now-c.start), err != nil)
	}
}

// Complete ends the call with a response time and an outcome that the caller has determined.
func (c *Call) Complete(rt time.Duration, failed bool) {
	if c.node != nil {
		c.end(c.group.time.now(), rt, failed)
	}
}

func (c *Call) end(now int64, rt time.Duration, failed bool) {
	g, n := c.group, c.node
	c.node = nil
	if n.failing.Load() {
		n.active.Store(now)
	}
	n.breaker.Complete(now, max(rt, 0), failed, c.ticket)
	g.settle(n, now)
}

// Cancel ends a call that was not made, or whose outcome says nothing about the address. It does not count;
// if it was a probe, the next call may be one.
func (c *Call) Cancel() {
	g, n := c.group, c.node
	if n == nil {
		return
	}
	c.node = nil
	now := g.time.now()
	n.breaker.GiveBack(c.ticket, now)
	g.settle(n, now)
}
