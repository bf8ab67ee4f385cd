package isolation

import (
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/stat"
)

// Slot holds the isolation rules of an engine and makes the checks of each resource.
type Slot struct {
	set *ruleset.Set[Rule, struct{}]
}

// NewSlot makes a slot without rules.
func NewSlot() *Slot {
	build := func(Rule) (struct{}, error) { return struct{}{}, nil }
	return &Slot{set: ruleset.New(chain.KindIsolation, build, ruleset.Options[Rule]{})}
}

// Set returns the rules.
func (s *Slot) Set() *ruleset.Set[Rule, struct{}] { return s.set }

// Checks returns a check for each rule that applies to the resource.
func (s *Slot) Checks(resource *stat.Resource) []chain.Bound {
	bounds := s.set.Table().Applying(resource.RuleName, resource.Shared)
	checks := make([]chain.Bound, len(bounds))
	for i, b := range bounds {
		k := &check{rule: b.Rule, resource: resource, gate: resource.Permits()}
		k.err = chain.NewBlockError(chain.KindIsolation, resource.Name, b.Rule, chain.ErrIsolation, k)
		checks[i] = chain.Bound{Check: k, Observed: b.Observed}
	}
	return checks
}

// check decides by one rule. A call of n takes n permits, once whatever the number of rules.
type check struct {
	rule     Rule
	resource *stat.Resource
	gate     *stat.Gate
	err      *chain.BlockError
}

// Check admits what keeps the permits in use within the count.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	room := k.rule.Count - c.Count
	if c.Permitted(k.gate) {
		if k.gate.Held(k.resource.Active)-c.Count <= room {
			return nil
		}
		return k.err
	}
	if c.ReserveGate(k.gate, c.Count, room, k.resource.Active) {
		return nil
	}
	return k.err
}

// Explain tells the permits in use.
func (k *check) Explain() chain.Explanation {
	return chain.Explanation{
		Measured: float64(k.gate.Held(k.resource.Active)), Limit: float64(k.rule.Count), Unit: "calls in flight",
	}
}
