package tidegate

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/stat"
)

// plan is what a call of one resource goes through: the checks that apply, in order. It is immutable but for
// refusing.
type plan struct {
	refusing   atomic.Bool // the latest call was refused by one of refusers; written only when that changes
	asks       bool        // there are checks or last ones
	refusers   []chain.Refuser
	checks     []chain.Check
	last       []chain.Check // asked when all others have passed: they take what cannot be given back
	completers []chain.Completer
}

// complete ends what the call holds, and tells the checks that ask for it how the call ended.
func (p *plan) complete(c *chain.Context, done chain.Done) {
	if c.Holding() {
		c.Release(done)
	}
	for _, k := range p.completers {
		k.Complete(c, done)
	}
}

// resource is a stat.Resource with its plan.
type resource struct {
	plan atomic.Pointer[plan]
	gone atomic.Bool // forgotten by housekeeping
	stat.Resource
	created int64
	mu      sync.Mutex // held to compile the plan
}

// compile makes the resource's plan from the rules in force. Whoever publishes rules compiles afterwards, and so
// does whoever publishes a resource; both under the resource's lock, so the last plan has seen the last rules.
func (e *Engine) compile(r *resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var bounds []chain.Bound
	for _, k := range e.kinds {
		for _, b := range k.checks(&r.Resource) {
			if b.Order == 0 {
				b.Order = k.order
			}
			bounds = append(bounds, b)
		}
	}
	for _, own := range e.config.checks {
		bounds = append(bounds, chain.Bound{Check: &customCheck{engine: e, own: own, resource: r.Name}, Order: own.order})
	}
	slices.SortStableFunc(bounds, func(a, b chain.Bound) int { return a.Order - b.Order })
	p := &plan{}
	first, last := lastOf(bounds)
	for _, b := range first {
		if done, ok := b.Check.(chain.Completer); ok {
			p.completers = append(p.completers, done)
		}
		p.checks = append(p.checks, e.observing(b))
	}
	for _, b := range last {
		p.last = append(p.last, e.observing(b))
	}
	if k := len(p.checks) - 1; k >= 0 && len(p.last) == 0 {
		if end, ok := p.checks[k].(chain.Ender); ok {
			end.ComesLast()
		}
	}
	p.asks = len(bounds) > 0
	p.refusers = refusers(p.checks)
	r.plan.Store(p)
}

// observing returns the check, as one that only observes if its rule or the engine does.
func (e *Engine) observing(b chain.Bound) chain.Check {
	if b.Observed || e.observe.Load() {
		return &observedCheck{check: b.Check, engine: e}
	}
	return b.Check
}

// compileAll compiles every resource's plan.
func (e *Engine) compileAll() {
	e.resources.Range(func(_ string, r *resource) bool { e.compile(r); return true })
	e.overflow.Range(func(key string, r *resource) bool {
		if e.overflowKey(r.RuleName) == key {
			e.compile(r)
		} else { // other patterns match its names now
			e.overflow.Delete(key, func(have *resource) bool { return have == r })
			r.gone.Store(true)
			r.Detach()
		}
		return true
	})
}

// compileNamed compiles the plans of the resources of those names that exist.
func (e *Engine) compileNamed(names []string) {
	for _, name := range names {
		if r, ok := e.resources.Get(name); ok {
			e.compile(r)
		}
	}
}

// observedCheck lets pass what its check refuses, and counts it.
type observedCheck struct {
	check  chain.Check
	engine *Engine
}

// Check always returns nil.
func (o *observedCheck) Check(c *chain.Context) *BlockError {
	mark, waiting, borrowed := c.Mark(), c.Waiting(), c.Borrowed()
	err := o.check.Check(c)
	c.SetWaiting(waiting)
	if err != nil {
		c.UndoTo(mark)
		if !c.Left() { // else no rule refused: its caller left
			o.engine.observed(c)(err)
		}
		return nil
	}
	if c.Borrowed() != borrowed { // it would have had to wait for a later bucket; it passes in this one
		c.UndoTo(mark)
		c.Borrow(borrowed)
	}
	c.ObserveFrom(mark)
	return nil
}

// observed returns what counts a call that a rule would have refused if it did not only observe.
func (e *Engine) observed(c *chain.Context) func(*BlockError) {
	return func(err *BlockError) {
		c.Resource.Observe()
		if len(e.config.callbacks) > 0 {
			e.tellObserve(c, err)
		}
	}
}
