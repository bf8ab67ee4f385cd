package circuitbreaker

import (
	"sync"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/stat"
)

// Slot holds the circuit breaker rules of an engine and makes the checks of each resource. Breakers belong to a
// resource and a rule; one lives for as long as an equal rule stays loaded, also while the kind is switched off.
type Slot struct {
	set      *ruleset.Set[Rule, *definition]
	notify   func(Event)
	now      func() int64
	excluded atomic.Pointer[map[string]bool] // resources without default breakers

	mu   sync.Mutex
	gone []*Breaker // retired, their last events not delivered yet; guarded by mu
}

// definition stands for a rule for as long as equal rules stay loaded.
type definition struct{ _ byte }

// NewSlot makes a slot without rules. now returns engine time; notify is told of every change of a breaker's state.
func NewSlot(now func() int64, notify func(Event)) *Slot {
	s := &Slot{now: now, notify: notify}
	build := func(Rule) (*definition, error) { return &definition{}, nil }
	s.set = ruleset.New(chain.KindDegrade, build, ruleset.Options[Rule]{Warn: Rule.Warnings})
	return s
}

// Set returns the rules.
func (s *Slot) Set() *ruleset.Set[Rule, *definition] { return s.set }

// Exclude names the resources that get no default breaker, instead of those named before.
func (s *Slot) Exclude(resources []string) {
	set := make(map[string]bool, len(resources))
	for _, name := range resources {
		set[name] = true
	}
	s.excluded.Store(&set)
}

// breakers are a resource's breakers by rule; the lock of the resource's plan guards them.
type breakers map[*definition]*Breaker

// Checks returns a check for each rule that applies to the resource: its own rules or, without any, the default
// ones. Breakers of rules that are gone are retired.
func (s *Slot) Checks(resource *stat.Resource) []chain.Bound {
	table, known := s.set.Tables()
	kept, _ := resource.Attachment(s).(breakers)
	next, gone := ruleset.Keep(kept, s.rulesFor(known, resource), func(b *bound) *Breaker {
		return NewBreaker(b.Rule, resource.Name, s.notify)
	})
	s.retire(gone, len(next)+len(gone) > len(kept))
	if len(next) == 0 {
		resource.Attach(s, nil)
		return nil
	}
	resource.Attach(s, breakers(next))
	var checks []chain.Bound
	for _, b := range s.rulesFor(table, resource) {
		k := &check{breaker: next[b.Controller], rule: b.Rule, slot: s}
		k.err = chain.NewBlockError(chain.KindDegrade, resource.Name, b.Rule, chain.ErrCircuitOpen, k)
		order := chain.OrderBreaker
		if b.Rule.IsDefault() {
			order = chain.OrderDefaultBreaker
		}
		checks = append(checks, chain.Bound{Check: k, Observed: b.Observed, Order: order})
	}
	return checks
}

// retire ends breakers; replaced says that new ones came in their place.
func (s *Slot) retire(gone []*Breaker, replaced bool) {
	cause := CauseRuleRemoved
	if replaced {
		cause = CauseRuleChanged
	}
	for _, b := range gone {
		b.retire(cause)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = append(s.gone, gone...)
}

// Flush delivers the last events of breakers that Checks retired. No lock may be held.
func (s *Slot) Flush() {
	s.mu.Lock()
	gone := s.gone
	s.gone = nil
	s.mu.Unlock()
	for _, b := range gone {
		b.events.flush()
	}
}

type bound = ruleset.Bound[Rule, *definition]

// rulesFor returns the rules of a table that apply to the resource.
func (s *Slot) rulesFor(t *ruleset.Table[Rule, *definition], resource *stat.Resource) []*bound {
	if own := t.Applying(resource.RuleName, resource.Shared); len(own) > 0 {
		return own
	}
	if excluded := s.excluded.Load(); excluded != nil && (*excluded)[resource.RuleName] {
		return nil
	}
	return t.Plain(DefaultResource)
}

// Busy says whether a breaker of the resource, also one whose kind is switched off, is not closed or has counted calls.
func (s *Slot) Busy(resource *stat.Resource, now int64) bool {
	kept, _ := resource.Attachment(s).(breakers)
	for _, b := range kept {
		if status := b.Status(now); status.State != Closed || status.Bad > 0 {
			return true
		}
	}
	return false
}

// Status returns the state of the resource's breakers at now, in the order of their rules.
func (s *Slot) Status(resource *stat.Resource, now int64) []Status {
	kept, _ := resource.Attachment(s).(breakers)
	var list []Status
	for _, b := range s.rulesFor(s.set.Table(), resource) {
		if breaker := kept[b.Controller]; breaker != nil {
			status := breaker.Status(now)
			status.Rule = b.Rule.Clone() // equal, but it may have another id
			list = append(list, status)
		}
	}
	return list
}

// check decides by one breaker.
type check struct {
	breaker *Breaker
	rule    Rule
	slot    *Slot
	err     *chain.BlockError
}

// Check refuses calls while the breaker is open. A call that may be a probe becomes one when all checks passed.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	switch k.breaker.Check(c.Now) {
	case Pass:
		return nil
	case Probe:
		c.Hold(k, chain.NeedCommit|chain.NeedRelease, 0, 0, k.breaker)
		return nil
	case Refuse:
	}
	return k.err
}

// Plain says that any call's refusal hangs on the breaker's state alone.
func (k *check) Plain() bool { return true }

// Refuses says whether a call would be refused now.
func (k *check) Refuses(now int64) *chain.BlockError {
	if k.breaker.Check(now) == Refuse {
		return k.err
	}
	return nil
}

// Commit makes the call a probe, unless another was faster.
func (k *check) Commit(c *chain.Context, h *chain.Hold) *chain.BlockError {
	t, ok := k.breaker.Acquire(c.Now)
	if !ok {
		return k.err
	}
	h.A = int64(t.number)
	return nil
}

// Undo gives the probe's permit back.
func (k *check) Undo(c *chain.Context, h *chain.Hold) {
	k.breaker.GiveBack(Ticket{number: uint64(h.A)}, c.Now)
}

// Release takes the outcome of a probe.
func (k *check) Release(_ *chain.Context, h *chain.Hold, d chain.Done) {
	t := Ticket{number: uint64(h.A)}
	switch {
	case h.A == 0:
	case d.Outcome == chain.Ignore:
		k.breaker.GiveBack(t, d.Now)
	default:
		k.breaker.Complete(d.Now, d.RT, d.Outcome == chain.Failure, t)
	}
}

// Complete takes the outcome of any call but a probe of this breaker.
func (k *check) Complete(c *chain.Context, d chain.Done) {
	if d.Outcome == chain.Ignore || k.probed(c) {
		return
	}
	k.breaker.Complete(d.Now, d.RT, d.Outcome == chain.Failure, Ticket{})
}

func (k *check) probed(c *chain.Context) bool {
	h, held := c.Held(k.breaker)
	return held && h.A != 0
}
