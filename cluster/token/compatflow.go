package token

import (
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// A compatFlow decides one flow rule as Sentinel's ClusterFlowChecker and ClusterMetric do. A lock makes check and add
// one step, which they are not there.
type compatFlow struct {
	mu       sync.Mutex
	ring     ring[flowBucket] // guarded by mu, as all below
	seconds  float64
	occupied int64 // borrowed and not yet moved into a bucket
	ended    bool
	counts   compatCounts
}

// A flowBucket counts what decisions look at, in units.
type flowBucket struct{ pass, waiting int64 }

// compatCounts are requests by answer.
type compatCounts struct{ granted, blocked, waited, units uint64 }

func newCompatFlow(sh shape) *compatFlow {
	return &compatFlow{ring: newRing[flowBucket](sh), seconds: sh.seconds()}
}

// threshold returns θ, with the operations in Sentinel's order.
func (f *flowRule) threshold() float64 {
	if f.global {
		return f.rule.Count * f.exceed
	}
	return f.rule.Count * float64(f.space.connected.Load()) * f.exceed
}

func (c *compatFlow) decide(f *flowRule, now, n int64, prioritized bool) (r chain.TokenResult, ok bool) {
	theta := f.threshold()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return r, false
	}
	b := c.current(now / nsPerMs)
	pass, waiting := c.sums()
	latest := float64(pass) / c.seconds
	if rest := theta - latest - float64(n); rest >= 0 {
		b.pass += n
		c.counts.granted++
		c.counts.units += uint64(n)
		return chain.TokenResult{Remaining: clamp32(saturate(rest))}, true
	}
	if f.observe {
		f.spared.Add(1)
		return r, true
	}
	if prioritized && float64(waiting)/c.seconds <= f.ratio*theta {
		if wait := c.occupy(b, n, latest, theta); wait > 0 {
			c.counts.waited++
			c.counts.units += uint64(n)
			return chain.TokenResult{Status: chain.TokenShouldWait, Wait: wait}, true
		}
	}
	c.counts.blocked++
	return answer(chain.TokenBlocked), true
}

// occupy is tryOccupyNext. The caller holds mu.
func (c *compatFlow) occupy(b *flowBucket, n int64, latest, theta float64) time.Duration {
	var head int64
	if h := c.ring.head(); h != nil {
		head = h.pass
	}
	if latest+float64(n+c.occupied)-float64(head) > theta {
		return 0
	}
	c.occupied += n
	b.waiting += n
	return time.Duration(1000/len(c.ring.slots)) * time.Millisecond
}

// current returns the bucket of time ms. What was borrowed moves into a bucket that is reset. The caller holds mu.
func (c *compatFlow) current(ms int64) *flowBucket {
	b, stale := c.ring.current(ms)
	if stale {
		*b = flowBucket{pass: c.occupied}
		c.occupied = 0
	}
	return b
}

// sums returns what the window holds. The caller holds mu.
func (c *compatFlow) sums() (pass, waiting int64) {
	for i := range c.ring.slots {
		if s := &c.ring.slots[i]; c.ring.counts(s) {
			pass += s.bucket.pass
			waiting += s.bucket.waiting
		}
	}
	return pass, waiting
}

// takeOver makes c, which is new, go on with the counters of old, and with its window if carry is set, and ends old.
func (c *compatFlow) takeOver(old *compatFlow, carry bool) {
	old.mu.Lock()
	defer old.mu.Unlock()
	old.ended = true
	c.counts = old.counts
	if !carry {
		return
	}
	c.occupied = old.occupied
	c.ring.inherit(&old.ring, func(to, from *flowBucket) {
		to.pass += from.pass
		to.waiting += from.waiting
	})
}

// state returns what the window holds at time now, and the counters.
func (c *compatFlow) state(now int64) (pass int64, counts compatCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring.latest = max(c.ring.latest, now/nsPerMs)
	pass, _ = c.sums()
	return pass, c.counts
}

// saturate converts as the JVM does: what is too large becomes the largest, a fraction is cut off.
func saturate(f float64) int64 {
	const most = 1 << 62
	return int64(max(-most, min(f, most)))
}
