package token

import (
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/hotspot"
)

// A paramRule is a parameter rule in force; it is immutable, as a flowRule is.
type paramRule struct {
	space   *space
	values  *valueTable  // nil with compat
	compat  *compatParam // nil in exact mode
	seconds float64      // of the window; 1 with compat
	limit   int64        // of a global threshold, per value and window
	global  bool
	observe bool
	items   map[valueKey]float64 // counts of exception items
	*paramState

	shape shape // in force
	own   shape // with compat: what the rule says
	rule  hotspot.Rule
}

// A paramState is what stays of a rule as long as a rule of its id is loaded. What is granted and refused is counted
// in the shards of the table, under locks that a request holds anyway.
type paramState struct {
	keyer   *keyer
	limited atomic.Uint64
	spared  atomic.Uint64
}

func (p *paramRule) key() (ns string, id int64) { return p.space.name, p.rule.ClusterConfig.FlowID }

// newParam is newFlow for a parameter rule.
func (s *Service) newParam(sp *space, r hotspot.Rule, old *paramRule, forced *shape) *paramRule {
	c, config := r.ClusterConfig, s.configOf(sp)
	p := &paramRule{
		space: sp, rule: r, seconds: 1,
		global: c.ThresholdType == chain.ThresholdGlobal, observe: r.Mode == chain.ModeObserve,
	}
	if old != nil {
		p.paramState = old.paramState
	} else {
		p.paramState = &paramState{keyer: newKeyer()}
	}
	p.items = p.keyer.itemKeys(r.Items)
	if s.compatible {
		p.makeCompat(s, old, forced)
		return p
	}
	p.shape = shapeOf(c, config).within(mostValueBuckets)
	p.seconds = p.shape.seconds()
	p.limit = perWindow(r.Count*p.seconds, 1)
	capacity := s.capacity(r, p.shape)
	if old != nil && old.shape == p.shape && old.values.capacity == capacity {
		p.values = old.values
		return p
	}
	p.values = newValueTable(p.keyer, p.shape, capacity)
	if old != nil {
		s.handOver = append(s.handOver, func(now int64) { p.values.takeOver(old.values, now) })
	}
	return p
}

// capacity returns how many values of a rule are counted at once.
func (s *Service) capacity(r hotspot.Rule, sh shape) int64 {
	const perSecond, most = 20_000, 200_000
	switch {
	case r.ParamsMaxCapacity > 0:
		return min(r.ParamsMaxCapacity, 1<<30)
	case s.maxValues > 0:
		return s.maxValues
	}
	return min(most, perSecond*max(1, (sh.interval+999)/1000))
}

// most returns how many units of a value the window may hold now.
func (p *paramRule) most(key valueKey) int64 {
	count := p.rule.Count
	if p.items != nil {
		if own, ok := p.items[key]; ok {
			return p.windowOf(own)
		}
	}
	if p.global {
		return p.limit
	}
	return p.windowOf(count)
}

func (p *paramRule) windowOf(count float64) int64 {
	if p.global {
		return perWindow(count*p.seconds, 1)
	}
	return perWindow(count*p.seconds, float64(p.space.connected.Load()))
}

// decide says what a request gets. ok is false if a new rule has taken over meanwhile: look it up again.
func (p *paramRule) decide(now, n int64, values []wire.Value) (r chain.TokenResult, ok bool) {
	if p.compat != nil {
		return p.compat.decide(p, now, n, values)
	}
	left, o := p.values.charge(now, n, values, p)
	switch {
	case o == outcomeEnded:
		return r, false
	case o == outcomeRefused && p.observe:
		p.spared.Add(1)
		return r, true
	case o == outcomeRefused:
		return answer(chain.TokenBlocked), true
	case len(values) > 1:
		left = -1
	}
	return chain.TokenResult{Remaining: clamp32(left)}, true
}
