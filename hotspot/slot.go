package hotspot

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/stat"
)

// Slot holds the hot-parameter rules of an engine and makes the checks of each resource. What a rule knows of a
// resource's values lives for as long as an equal rule stays loaded.
type Slot struct {
	set    *ruleset.Set[Rule, *definition]
	now    func() int64
	log    *slog.Logger
	tokens *chain.Tokens
}

// definition stands for a rule for as long as equal rules stay loaded.
type definition struct {
	warned atomic.Bool // that it found no argument in a call
}

type bound = ruleset.Bound[Rule, *definition]

// NewSlot makes a slot without rules. now returns engine time in ns; tokens decide rules in cluster mode, with nil their
// fallback does.
func NewSlot(now func() int64, log *slog.Logger, tokens *chain.Tokens) *Slot {
	build := func(Rule) (*definition, error) { return &definition{}, nil }
	return &Slot{now: now, log: log, tokens: tokens, set: ruleset.New(chain.KindParam, build, ruleset.Options[Rule]{Warn: Rule.Warnings})}
}

// Set returns the rules.
func (s *Slot) Set() *ruleset.Set[Rule, *definition] { return s.set }

// tables are what rules know of a resource's values; the lock of the resource's plan guards them.
type tables map[*definition]*paramTable

// paramTable is what one rule knows of one resource.
type paramTable struct {
	controller *Controller
	matched    atomic.Bool  // an argument was found
	missed     atomic.Int64 // calls without the argument before one was found
}

// Checks returns a check for each rule that applies to the resource.
func (s *Slot) Checks(resource *stat.Resource) []chain.Bound {
	table, known := s.set.Tables()
	kept, _ := resource.Attachment(s).(tables)
	next, _ := ruleset.Keep(kept, known.Applying(resource.RuleName, resource.Shared), func(b *bound) *paramTable {
		return &paramTable{controller: NewLocal(b.Rule)}
	})
	if len(next) == 0 {
		resource.Attach(s, nil)
		return nil
	}
	resource.Attach(s, tables(next))
	var checks []chain.Bound
	for _, b := range table.Applying(resource.RuleName, resource.Shared) {
		values := next[b.Controller]
		k := &check{Limiter: NewLimiter(values.controller), slot: s, rule: b.Rule, table: values, definition: b.Controller}
		if b.Rule.ParamIdx != nil {
			k.position, k.indexed = *b.Rule.ParamIdx, true
		}
		k.err = chain.NewBlockError(chain.KindParam, resource.Name, b.Rule, chain.ErrParam, k)
		if b.Rule.ClusterMode {
			checks = append(checks, k.cluster().bound(b.Observed))
		} else {
			checks = append(checks, chain.Bound{Check: k, Observed: b.Observed})
		}
	}
	return checks
}

// Memory returns for how long after its last call, in ns, what rules know of the resource's values may still refuse one.
func (s *Slot) Memory(resource *stat.Resource) (longest int64) {
	kept, _ := resource.Attachment(s).(tables)
	for _, t := range kept {
		longest = max(longest, t.controller.Memory())
	}
	return longest
}

// Status is what a rule knows of a resource's values.
type Status struct {
	Rule    Rule
	Matched bool  // an argument of the rule's index or name was found in a call
	Missed  int64 // calls without it before the first that had it
	Skipped int64 // values that could not be compared
	Values  int   // kept
	Evicted int64
	Top     []ValueStats
}

// Status returns what each rule of the resource knows, with its k most frequent values.
func (s *Slot) Status(resource *stat.Resource, now int64, k int) []Status {
	kept, _ := resource.Attachment(s).(tables)
	var list []Status
	for _, b := range s.set.Table().Applying(resource.RuleName, resource.Shared) {
		t := kept[b.Controller]
		if t == nil {
			continue
		}
		list = append(list, Status{
			Rule: b.Rule.Clone(), Matched: t.matched.Load(), Missed: t.missed.Load(),
			Skipped: int64(t.controller.Skipped()), Values: t.controller.Len(),
			Evicted: int64(t.controller.Evicted()), Top: t.controller.Top(now, k),
		})
	}
	return list
}

// check decides by one rule about the calls of one resource.
type check struct {
	Limiter
	table    *paramTable
	position int // of the argument, if indexed; what the rule says, beside what else a call reads
	indexed  bool
	err      *chain.BlockError
	slot     *Slot
	rule     Rule
	*definition

	lastAt atomic.Int64 // when last was noted
	mu     sync.Mutex
	last   Key // refused last, for Explain; guarded by mu
}

// Check decides about a call: every value of the argument must pass.
//
// Almost every argument is a text or a whole number found by its position: those are not copied, which would cost more
// than looking the value up.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	if k.indexed && k.table.matched.Load() {
		t := &k.controller.table
		t.readAhead()
		var p probe
		switch kind, text, bits := c.Scalar(k.position); kind {
		case chain.ArgString:
			t.hasher.ofText(&p, text)
			return k.decideOne(c, &p)
		case chain.ArgInt:
			t.hasher.ofNumber(&p, classInt, bits)
			return k.decideOne(c, &p)
		default:
		}
	}
	arg, ok := k.argument(c)
	if !ok {
		return nil
	}
	return k.decide(c, arg)
}

// decide is Check for a call with that argument.
func (k *check) decide(c *chain.Context, arg chain.Arg) *chain.BlockError {
	key, scalar := ScalarKey(arg)
	if !scalar {
		return k.checkAll(c, arg)
	}
	var p probe
	k.controller.table.hasher.prepare(&p, &key)
	return k.decideOne(c, &p)
}

// decideOne decides about one value.
func (k *check) decideOne(c *chain.Context, p *probe) *chain.BlockError {
	v, f := k.controller.table.find(p)
	if v != nil {
		if g, ok := k.controller.spend(c.Now, v, f, c.Count); ok {
			if k.mayUndo(c) {
				c.Hold(&k.Limiter, 0, g.a, g.b, g.v).C = g.form
			}
			return nil
		}
	}
	if !k.reserve(c, p, v, f) {
		k.remember(c.Now, p.key())
		return k.err
	}
	return nil
}

// checkAll checks a collection or an object.
func (k *check) checkAll(c *chain.Context, arg chain.Arg) *chain.BlockError {
	if refused, ok := k.ReserveAll(c, arg); !ok {
		k.remember(c.Now, refused)
		return k.err
	}
	return nil
}

// argument returns the call's argument that the rule is about.
func (k *check) argument(c *chain.Context) (arg chain.Arg, ok bool) {
	if k.indexed {
		arg, ok = c.Arg(k.position)
	} else {
		arg, ok = c.ArgNamed(k.rule.ParamKey)
	}
	if !k.table.matched.Load() {
		k.note(ok)
	}
	return arg, ok
}

// note keeps book of whether the rule ever found its argument. A rule that did not is worth one warning, however many
// resources its pattern matches.
func (k *check) note(found bool) {
	if found {
		k.table.matched.Store(true)
		return
	}
	k.table.missed.Add(1)
	if !k.warned.Load() && k.warned.CompareAndSwap(false, true) {
		k.slot.log.Warn("a hot-parameter rule found no argument in a call; it limits nothing until one has it",
			slog.String("resource", k.err.Resource), k.wanted())
	}
}

// wanted says which argument the rule is about.
func (k *check) wanted() slog.Attr {
	if k.rule.ParamIdx != nil {
		return slog.Int("param_idx", *k.rule.ParamIdx)
	}
	return slog.String("param_key", k.rule.ParamKey)
}

// remember notes the value that was refused, at most once a millisecond, so that a flood of refusals shares nothing.
func (k *check) remember(now int64, key Key) {
	if now-k.lastAt.Load() < int64(time.Millisecond) || !k.mu.TryLock() {
		return
	}
	defer k.mu.Unlock()
	k.lastAt.Store(now)
	k.last = key
}

// Explain tells what the rule measures for a value that it refused lately.
func (k *check) Explain() chain.Explanation {
	k.mu.Lock()
	key := k.last
	k.mu.Unlock()
	e := chain.Explanation{Limit: k.controller.Threshold(key), Unit: "calls", Window: k.rule.Duration()}
	measured, most, retry := k.controller.Explain(k.slot.now(), key)
	switch {
	case k.rule.Grade == GradeConcurrency:
		e.Unit, e.Window, e.Limit = "calls in flight", 0, most
	case k.rule.ControlBehavior == Throttling:
		const ms = 1000
		e.Unit, e.Limit, measured = "ms in queue", most*ms, measured*ms
	}
	e.Measured, e.RetryAfter = measured, retry
	return e
}
