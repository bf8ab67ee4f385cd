package flow

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/stat"
)

// Settings are what flow rules need to know of their engine.
type Settings struct {
	Scope         *stat.Scope
	ColdFactor    int
	OccupyTimeout *atomic.Int64                     // ns
	Now           func() int64                      // engine time, ns
	Related       func(name string) *stat.Resource  // the resource of that name, nil if nobody called it
	Memory        func() (inUse uint64, known bool) // bytes that memory-adaptive rules compare
	MemoryTotal   func() (bytes uint64, known bool) // of the machine or the control group; nil: not checked
	Behaviors     map[ControlBehavior]Factory       // of the user's
	Failed        func(what string, err error)      // told of a user's function that panicked
	Tokens        *chain.Tokens                     // decide rules in cluster mode; nil: their fallback does
	Log           *slog.Logger                      // nil: silent
}

// Slot holds the flow rules of an engine and makes the checks of each resource.
type Slot struct {
	set      *ruleset.Set[Rule, *shaper]
	settings Settings
	derived  atomic.Pointer[derived]
}

// NewSlot makes a slot without rules.
func NewSlot(settings Settings) *Slot {
	s := &Slot{settings: settings}
	build := func(r Rule) (*shaper, error) { return newShaper(r, settings) }
	s.set = ruleset.New(chain.KindFlow, build, ruleset.Options[Rule]{Validate: s.validate, Warn: Rule.Warnings})
	return s
}

// Set returns the rules.
func (s *Slot) Set() *ruleset.Set[Rule, *shaper] { return s.set }

func (s *Slot) related(name string) *stat.Resource { return s.settings.Related(name) }

// NamesEntrance says whether a chain rule names the entrance.
func (s *Slot) NamesEntrance(name string) bool { return s.derive().chains[name] }

// NeedsMemory says whether a rule in force follows the memory in use.
func (s *Slot) NeedsMemory() bool { return s.derive().memory && len(s.set.Table().All()) > 0 }

// Checks returns a check for each rule that applies to the resource: rules without cluster mode first and, within
// each part, those for named origins before those for all.
func (s *Slot) Checks(resource *stat.Resource) []chain.Bound {
	bounds := slices.Clone(s.set.Table().Applying(resource.RuleName, resource.Shared))
	slices.SortStableFunc(bounds, func(a, b *bound) int { return rank(a.Rule) - rank(b.Rule) })
	p := &peers{}
	checks := make([]chain.Bound, len(bounds))
	for i, b := range bounds {
		k := &check{slot: s, rule: b.Rule, app: b.Rule.Origin(), shaper: b.Controller, peers: p, reserves: true, whole: &scope{resource: resource}}
		k.err = chain.NewBlockError(chain.KindFlow, resource.Name, b.Rule, chain.ErrFlow, k)
		k.prepare()
		if checks[i] = (chain.Bound{Check: k, Observed: b.Observed}); k.cluster != nil {
			checks[i] = k.cluster.bound(b.Observed)
		}
		p.checks = append(p.checks, k)
	}
	p.markStrictest(bounds)
	for _, k := range p.checks {
		k.simplify()
	}
	s.keepWords(resource)
	return checks
}

type bound = ruleset.Bound[Rule, *shaper]

func rank(r Rule) int {
	n := 0
	if r.ClusterMode {
		n = 2
	}
	if r.Origin() == "default" {
		n++
	}
	return n
}

// keepWords drops the exact words of the resource that no rule asks for any more.
// While the kind is switched off they stay.
func (s *Slot) keepWords(resource *stat.Resource) {
	var whole, context, origin stat.Need
	for _, b := range s.set.Known().Applying(resource.RuleName, resource.Shared) {
		need := &whole
		switch {
		case b.Rule.Strategy == StrategyChain:
			need = &context
		case b.Rule.Origin() != "default":
			need = &origin
		}
		if b.Rule.Grade == GradeConcurrency {
			need.Gate = true
		} else {
			need.Window = true
		}
	}
	all := s.derive()
	own := func(length, count int64) bool { return all.own[[2]int64{length, count}] }
	whole.Own, context.Own, origin.Own = own, own, own
	whole.Window = whole.Window || all.related[resource.Name]
	resource.Keep(whole, context, origin)
}

// derived holds what follows from all flow rules together.
type derived struct {
	of      *ruleset.Table[Rule, *shaper]
	own     map[[2]int64]bool // length and number of buckets of rules' own windows
	chains  map[string]bool   // entrances that chain rules name
	related map[string]bool   // resources that relate rules read
	memory  bool              // a rule follows memory
}

func (s *Slot) derive() *derived {
	table := s.set.Known()
	if d := s.derived.Load(); d != nil && d.of == table {
		return d
	}
	d := &derived{of: table, own: map[[2]int64]bool{}, related: map[string]bool{}, chains: map[string]bool{}}
	for _, b := range table.All() {
		if interval, buckets := b.Rule.Window(); buckets > 0 {
			d.own[[2]int64{int64(interval) / int64(buckets), int64(buckets)}] = true
		}
		d.memory = d.memory || b.Rule.MemoryAdaptive()
		if b.Rule.Strategy == StrategyChain {
			d.chains[b.Rule.RefResource] = true
		}
		if b.Rule.Strategy == StrategyRelate {
			d.related[b.Rule.RefResource] = true
		}
	}
	s.derived.Store(d)
	return d
}

// Names says whether a rule of the resource names the origin.
func (s *Slot) Names(resource *stat.Resource, origin string) bool {
	for _, b := range s.set.Table().Applying(resource.RuleName, resource.Shared) {
		if b.Rule.Origin() == origin {
			return true
		}
	}
	return false
}

// peers are the checks of one resource.
type peers struct{ checks []*check }

// named says whether a rule of the resource names the origin. The words "default" and "other" count as names of
// origins that are called so.
func (p *peers) named(origin string) bool {
	for _, k := range p.checks {
		if k.app == origin {
			return true
		}
	}
	return false
}

// markStrictest leaves the reservation to the rule with the least count among rules that reject on the same
// scope; the others only compare. So a call that one of them refuses takes no place from another call.
func (p *peers) markStrictest(bounds []*bound) {
	for i, k := range p.checks {
		for j, other := range p.checks {
			if i != j && k.sameWord(other) && !bounds[j].Observed && stricter(other, k, j < i || other.shaper.warm != nil) {
				k.reserves = false
			}
		}
	}
}

func stricter(a, b *check, first bool) bool {
	return a.rule.Count < b.rule.Count || a.rule.Count == b.rule.Count && first
}

// sameWord says whether both rules limit the same exact word, k by a fixed count, the other by one that is never above
// its count.
func (k *check) sameWord(o *check) bool {
	plain := func(c *check) bool {
		return c.shaper.custom == nil && !c.adaptive && !c.rule.ClusterMode && c.rule.Count >= 1
	}
	fixed := k.rule.Grade == GradeConcurrency || k.rule.ControlBehavior == Reject
	bounded := o.rule.Grade == GradeConcurrency || o.rule.ControlBehavior == Reject || o.rule.ControlBehavior == WarmUp
	ki, kn := k.rule.Window()
	oi, on := o.rule.Window()
	return fixed && bounded && plain(k) && plain(o) && k.app == o.app && k.rule.Strategy == o.rule.Strategy &&
		k.rule.RefResource == o.rule.RefResource && k.rule.Grade == o.rule.Grade && ki == oi && kn == on
}
