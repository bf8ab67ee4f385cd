package tidegate

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/stat"
)

// Enter asks to let a call into the resource. If the rules let it in, the returned entry must be exited. If they
// refuse, err is a *BlockError. A call that must wait, waits here; if ctx ends meanwhile, err is a *BlockError
// whose cause is the context's error. The call acquires nothing when it is not let in.
//
// The context gives entrance, origin and parent where call does not; a nil context is like Background.
func (e *Engine) Enter(ctx context.Context, name string, call Call) (Entry, error) {
	if name == "" {
		return Entry{}, ErrNoResource
	}
	if call.Count < 0 {
		return Entry{}, ErrNegativeCount
	}
	if e == nil || !e.enabled.Load() {
		return Entry{}, nil
	}
	var now int64
	if e.machine != nil {
		now = e.machine.now()
	} else {
		now = e.clock.now()
	}
	if flooded := e.flooded.Load(); flooded != nil && flooded.Name == name {
		if err := e.refuseAgain(ctx, flooded, nil, now, &call); err != nil {
			return Entry{}, err
		}
	}
	r := e.records.Get().(*record)
	owner := r.owner // of the last call on this core, which often was of the same resource
	if owner == nil || owner.Name != name || owner.gone.Load() {
		owner = e.resourceOf(name, call.Type)
	}
	p := owner.plan.Load()
	if p.refusing.Load() {
		if err := e.refuseAgain(ctx, owner, r, now, &call); err != nil {
			r.of(owner)
			e.records.Put(r)
			return Entry{}, err
		}
	}
	c := &r.call
	c.Begin(now)
	c.Inbound, r.waited = call.Inbound, 0
	if s := scopeOf(ctx); s != nil || !r.plain || r.owner != owner || uint(call.Count) > 1 ||
		call.Free || call.Prioritized || call.Group || call.Entrance != "" || call.Origin != "" {
		r.describe(owner, s, &call) // else a plain call follows a plain one of the same resource: most does not change
	}
	if len(call.Args) > 0 {
		c.SetArgs(call.Args)
	}
	switch {
	case p.asks:
		if err := e.decide(ctx, r, p); err != nil {
			r.free()
			return Entry{}, err
		}
	case c.Plain() && len(e.config.callbacks) == 0: // as most calls without rules: what is below, in short
		if c.Node.Pass(c.Hint, now, 1) {
			e.part(c)
		}
	default:
		e.charge(c)
		e.pass(c, now)
	}
	return r.open(), nil
}

// describe fills the record with what tells the call from others.
func (r *record) describe(owner *resource, s *callScope, call *Call) {
	c := &r.call
	c.Prioritized, c.Group = call.Prioritized, call.Group
	c.Count = int64(call.Count)
	switch {
	case call.Free:
		c.Count = 0
	case call.Count == 0:
		c.Count = 1
	}
	r.of(owner)
	r.locate(s, call)
	r.plain = r.usual && c.Count == 1 && !c.Prioritized && !c.Group
}

// of makes the record one of a call of that resource.
func (r *record) of(owner *resource) {
	if r.owner != owner {
		r.owner, r.call.Resource, r.plain, r.usual, r.found = owner, &owner.Resource, false, false, false
	}
}

// locate finds the nodes of the call. A usual call is one without context, origin and parent of its own; of two usual
// ones of a resource the second finds all as the first left it, which spares it a dozen writes with their barriers.
// So does one with the names of the call before: comparing them costs a fifth of looking both up.
func (r *record) locate(s *callScope, call *Call) {
	if s == nil && call.Entrance == "" && call.Origin == "" {
		if r.usual {
			return
		}
		s, r.usual = &noScope, true
	} else {
		r.usual = false
		if s == nil {
			s = &noScope
		}
		if r.found && r.same(s, call) {
			return
		}
	}
	r.found = true
	r.setEntrance(call.Entrance, s)
	r.setOrigin(call.Origin, s)
}

// same says whether the record's nodes are those of the call's names, and still in their tables.
func (r *record) same(s *callScope, call *Call) bool {
	c, entrance, origin := &r.call, call.Entrance, call.Origin
	if entrance == "" {
		if entrance = s.entrance; entrance == "" {
			entrance = stat.DefaultEntrance
		}
	}
	if origin == "" {
		origin = s.origin
	}
	return c.Origin == origin && c.Entrance == entrance && !c.Node.Dropped() && (c.OriginNode == nil || !c.OriginNode.Dropped())
}

// setEntrance finds the node of the call's context. The context keeps a name of the engine's own, so that the
// caller's need not outlive the call.
func (r *record) setEntrance(name string, s *callScope) {
	c := &r.call
	parent := s.parent
	if parent != nil && !parent.In(r.engine.tree) {
		parent = nil // the call around this one is another engine's
	}
	switch {
	case name != "":
		c.Node = r.owner.Node(name, parent)
		if c.Entrance = c.Node.Entrance().Name; c.Entrance != name { // beyond the cap on contexts
			c.Entrance = strings.Clone(name)
		}
	case s.entrance != "":
		c.Node, c.Entrance = r.owner.Node(s.entrance, parent), s.entrance
	default:
		c.Node, c.Entrance = r.owner.Node("", parent), stat.DefaultEntrance
		return
	}
	r.found = c.Node.Entrance().Name == c.Entrance
}

// setOrigin finds the node of the call's origin, likewise.
func (r *record) setOrigin(origin string, s *callScope) {
	c := &r.call
	if origin == "" {
		origin = s.origin
	}
	if origin == "" {
		c.Origin, c.OriginNode = "", nil
		return
	}
	var overflowed bool
	c.OriginNode, c.Origin, overflowed = r.engine.originNode(r.owner, origin)
	r.found = r.found && !overflowed
}

func (e *Engine) originNode(owner *resource, origin string) (n *stat.Node, own string, overflowed bool) {
	n, own, overflowed = owner.Origin(origin, e.config.maxOrigins)
	if overflowed && e.flow.Names(&owner.Resource, origin) { // a rule names it: it is counted by itself
		n, own, overflowed = owner.Origin(origin, math.MaxInt)
	}
	if overflowed {
		e.counters.originOverflow.Add(1)
		if !e.crowded.Load() && !e.crowded.Swap(true) {
			e.log.warn("too many origins of one resource; further ones share a node", "resource", owner.Name)
		}
	}
	return n, own, overflowed
}

// decide runs the checks, commits what they reserved, waits, and counts the call as passed or blocked.
func (e *Engine) decide(ctx context.Context, r *record, p *plan) error {
	c := &r.call
	var err *BlockError
	if c.Request == nil {
		err = e.check(c, p)
	} else {
		err = e.checkSafely(c, p)
	}
	if err == nil && len(p.last) > 0 {
		err = e.ask(ctx, c, p.last)
	}
	if err != nil {
		p.refused(c.Now, err)
		c.UndoAll()
		e.block(c, err)
		return err
	}
	e.charge(c)
	if c.Borrowed() != 0 {
		c.MoveOn()
	}
	if d := c.Waiting(); d > 0 {
		return e.wait(ctx, r, d)
	}
	e.pass(c, c.Now)
	return nil
}

func (e *Engine) check(c *chain.Context, p *plan) *BlockError {
	for _, k := range p.checks {
		if err := k.Check(c); err != nil {
			return err
		}
	}
	if c.NeedsCommit() {
		return c.Commit(e.observed(c))
	}
	return nil
}

// checkSafely is check for a call with a request, which is the user's, so that its methods may panic.
func (e *Engine) checkSafely(c *chain.Context, p *plan) (blocked *BlockError) {
	defer func() {
		if p := recover(); p != nil {
			e.failed("request", fmt.Errorf("panic: %v", p))
			c.UndoAll()
			blocked = nil
		}
	}()
	return e.check(c, p)
}

// charge counts the call in the exact words of its scopes that no check has counted it in.
func (e *Engine) charge(c *chain.Context) {
	if x := c.Resource.Exact(); x.Any() && !c.Charged(x, c.LastPlace()) {
		c.Charge(x, c.Resource.Active)
	}
	if x := c.Node.Exact(); x.Any() {
		c.Charge(x, c.Node.Active)
	}
	if c.OriginNode != nil && c.OriginNode.Exact().Any() {
		c.Charge(c.OriginNode.Exact(), c.OriginNode.Active)
	}
	if c.Inbound {
		if x := e.inbound.Exact(); x.Any() && !c.Charged(x, 0) { // system rules come first
			c.Charge(x, e.inbound.Active)
		}
	}
	if g := c.Resource.OpenPermits(); g != nil && !c.Permitted(g) {
		c.TakePermits(g)
	}
}

// wait makes a call that has its places wait for the latest of them.
func (e *Engine) wait(ctx context.Context, r *record, d int64) error {
	c := &r.call
	at := c.Borrowed()
	if at != 0 {
		e.borrowing.Store(true)
		e.eachNode(c, func(n *stat.Node) { n.Borrow(c.Hint, c.Now, at, c.Units()) })
	}
	if ctx == nil {
		ctx = context.Background()
	}
	waited := false
	defer func() {
		if !waited { // an injected clock panicked or ended the goroutine
			if at != 0 {
				e.eachNode(c, func(n *stat.Node) { n.Return(c.Hint, c.Now, at, c.Units()) })
			}
			c.UndoTo(chain.Mark{})
		}
	}()
	err := e.clock.wait(ctx, time.Duration(d))
	waited = true
	if err != nil {
		if at != 0 {
			e.eachNode(c, func(n *stat.Node) { n.Return(c.Hint, c.Now, at, c.Units()) })
		}
		c.UndoTo(chain.Mark{})
		blocked := e.gaveUp(c, err)
		e.block(c, blocked)
		return blocked
	}
	r.waited = d
	e.charge(c) // also in words that rules have asked for meanwhile
	if at != 0 {
		e.eachNode(c, func(n *stat.Node) { n.Arrive(c.Hint) })
		e.arrived(c)
		return nil
	}
	e.pass(c, e.clock.now())
	return nil
}

// gaveUp is the refusal of a call whose caller left while it waited.
func (e *Engine) gaveUp(c *chain.Context, cause error) *BlockError {
	return chain.NewBlockError(chain.KindFlow, c.Resource.Name, nil, cause, nil)
}

func (e *Engine) pass(c *chain.Context, now int64) {
	units := c.Units()
	met := c.Node.Pass(c.Hint, now, units)
	if c.OriginNode != nil && c.OriginNode.Pass(c.Hint, now, units) {
		met = true
	}
	if c.Inbound && e.inbound.Pass(c.Hint, now, units) {
		met = true
	}
	if met {
		e.part(c)
	}
	if c.Arriving() || len(e.config.callbacks) > 0 {
		e.arrived(c)
	}
}

// part gives a record whose calls met those of another core counters of its own: a hint whose last bit is the other one
// leads to another ring also where there are only two.
func (e *Engine) part(c *chain.Context) {
	for hint := c.Hint; c.Hint&1 == hint&1; {
		c.Hint = e.stripes.Add(1)
	}
}

func (e *Engine) arrived(c *chain.Context) {
	if c.Arriving() {
		c.Arrived()
	}
	if len(e.config.callbacks) > 0 {
		e.tellPass(c)
	}
}

func (e *Engine) block(c *chain.Context, err *BlockError) {
	c.Node.Block(c.Hint, c.Now, c.Units())
	if c.OriginNode != nil {
		c.OriginNode.Block(c.Hint, c.Now, c.Units())
	}
	if c.Inbound {
		e.inbound.Block(c.Hint, c.Now, c.Units())
	}
	if e.borrowing.Load() {
		e.settle(c, c.Now)
	}
	if len(e.config.callbacks) > 0 {
		e.tellBlock(c, err)
	}
}

// settle lets reservations for the bucket of time now count in the exact words of the call's scopes, as they do in the
// nodes that the call has just used.
func (e *Engine) settle(c *chain.Context, now int64) {
	c.Resource.Exact().Settle(now)
	e.eachNode(c, func(n *stat.Node) { n.Exact().Settle(now) })
}

func (e *Engine) eachNode(c *chain.Context, f func(*stat.Node)) {
	f(&c.Node.Node)
	if c.OriginNode != nil {
		f(c.OriginNode)
	}
	if c.Inbound {
		f(e.inbound)
	}
}
