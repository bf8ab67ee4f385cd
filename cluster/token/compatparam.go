package token

import (
	"sync"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// compatValues is how many values a bucket keeps in compatible mode.
const compatValues = 4000

// A compatParam decides one parameter rule as Sentinel's ClusterParamFlowChecker and ClusterParamMetric do.
type compatParam struct {
	keyer   *keyer
	mu      sync.Mutex
	ring    ring[lru] // guarded by mu, as all below
	seconds float64
	ended   bool
	counts  compatCounts
}

func newCompatParam(k *keyer, sh shape) *compatParam {
	return &compatParam{keyer: k, ring: newRing[lru](sh), seconds: sh.seconds()}
}

// threshold returns θ of a value.
func (p *paramRule) threshold(key valueKey) float64 {
	raw := p.rule.Count
	if own, ok := p.items[key]; ok {
		raw = own
	}
	if p.global {
		return raw
	}
	return raw * float64(p.space.connected.Load())
}

func (c *compatParam) decide(p *paramRule, now, n int64, values []wire.Value) (r chain.TokenResult, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return r, false
	}
	b := c.current(now / nsPerMs)
	rest := 0.0
	for i := range values {
		key, _ := c.keyer.key(&values[i])
		if rest = p.threshold(key) - float64(c.sum(key))/c.seconds - float64(n); rest >= 0 {
			continue
		}
		if p.observe {
			p.spared.Add(1)
			return r, true
		}
		c.counts.blocked++
		return answer(chain.TokenBlocked), true
	}
	for i := range values {
		key, _ := c.keyer.key(&values[i])
		b.add(key, n, compatValues)
	}
	c.counts.granted++
	if len(values) > 1 {
		rest = -1
	}
	return chain.TokenResult{Remaining: clamp32(saturate(rest))}, true
}

// current returns the bucket of time ms. The caller holds mu.
func (c *compatParam) current(ms int64) *lru {
	b, stale := c.ring.current(ms)
	if stale {
		b.clear()
	}
	return b
}

// sum returns what the window holds of a value. The caller holds mu.
func (c *compatParam) sum(key valueKey) (n int64) {
	for i := range c.ring.slots {
		if s := &c.ring.slots[i]; c.ring.counts(s) {
			n += s.bucket.get(key)
		}
	}
	return n
}

// takeOver is that of compatFlow.
func (c *compatParam) takeOver(old *compatParam, carry bool) {
	old.mu.Lock()
	defer old.mu.Unlock()
	old.ended = true
	c.counts = old.counts
	if carry {
		c.ring.inherit(&old.ring, func(to, from *lru) { from.each(func(key valueKey, n int64) { to.add(key, n, compatValues) }) })
	}
}

// tally returns the counters, and how many values the window holds at most.
func (c *compatParam) tally() (counts compatCounts, gone uint64, values int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.ring.slots {
		b := &c.ring.slots[i].bucket
		values, gone = values+int64(len(b.places)), gone+b.gone
	}
	return c.counts, gone, values
}
