package authority

import (
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/stat"
)

// Slot holds the authority rules of an engine and makes the checks of each resource.
type Slot struct {
	set *ruleset.Set[Rule, *List]
}

// NewSlot makes a slot without rules.
func NewSlot() *Slot {
	build := func(r Rule) (*List, error) { return NewList(r.LimitApp, r.Strategy, r.Strict), nil }
	return &Slot{set: ruleset.New(chain.KindAuthority, build, ruleset.Options[Rule]{FirstOnly: true, Warn: Rule.Warnings})}
}

// Set returns the rules.
func (s *Slot) Set() *ruleset.Set[Rule, *List] { return s.set }

// Checks returns a check for each rule that applies to the resource.
func (s *Slot) Checks(resource *stat.Resource) []chain.Bound {
	bounds := s.set.Table().Applying(resource.RuleName, resource.Shared)
	checks := make([]chain.Bound, len(bounds))
	for i, b := range bounds {
		err := chain.NewBlockError(chain.KindAuthority, resource.Name, b.Rule, chain.ErrAuthority, nil)
		checks[i] = chain.Bound{Check: &check{list: b.Controller, err: err}, Observed: b.Observed}
	}
	return checks
}

// check decides by one list.
type check struct {
	list *List
	err  *chain.BlockError
}

// Check refuses callers that the list does not allow.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	if k.list.Allows(c.Origin) {
		return nil
	}
	return k.err
}
