package token

import "github.com/tidegate-go/tidegate/chain"

// compatShape returns the window of a rule in compatible mode, and the rule's own. A forced one, of a change of the
// config, replaces the rule's until the rule is loaded with another. In Sentinel the config is no default for rules.
func compatShape(c *chain.ClusterConfig, oldOwn, oldShape, forced *shape) (sh, own shape) {
	own = shapeOf(c, DefaultConfig()).within(mostCompatible)
	switch {
	case forced != nil:
		return forced.within(mostCompatible), own
	case oldOwn != nil && *oldOwn == own:
		return *oldShape, own
	}
	return own, own
}

// makeCompat gives the rule its counts: those before if the window is the same, empty ones if it is forced, else new
// ones that go on with what those before counted.
func (f *flowRule) makeCompat(s *Service, old *flowRule, forced *shape) {
	if old == nil {
		f.shape, f.own = compatShape(f.rule.ClusterConfig, nil, nil, forced)
		f.compat = newCompatFlow(f.shape)
		return
	}
	f.shape, f.own = compatShape(f.rule.ClusterConfig, &old.own, &old.shape, forced)
	if f.shape == old.shape && forced == nil {
		f.compat = old.compat
		return
	}
	f.compat = newCompatFlow(f.shape)
	s.handOver = append(s.handOver, func(int64) { f.compat.takeOver(old.compat, forced == nil) })
}

// makeCompat is that of flowRule.
func (p *paramRule) makeCompat(s *Service, old *paramRule, forced *shape) {
	if old == nil {
		p.shape, p.own = compatShape(p.rule.ClusterConfig, nil, nil, forced)
		p.compat = newCompatParam(p.keyer, p.shape)
		return
	}
	p.shape, p.own = compatShape(p.rule.ClusterConfig, &old.own, &old.shape, forced)
	if p.shape == old.shape && forced == nil {
		p.compat = old.compat
		return
	}
	p.compat = newCompatParam(p.keyer, p.shape)
	s.handOver = append(s.handOver, func(int64) { p.compat.takeOver(old.compat, forced == nil) })
}
