package flow

import (
	"math"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
)

// warmUp raises a limit slowly after a time with little traffic: a bucket of tokens that fills while the
// resource is cold; the more tokens, the lower the limit. The algorithm is Sentinel's, after the
// SmoothWarmingUp limiter of Guava, with 64-bit tokens.
type warmUp struct {
	count   float64
	factor  int64
	warning int64 // tokens above which the limit is lowered
	most    int64
	slope   float64

	stored atomic.Int64
	filled atomic.Int64 // whole second of the last refill, in ms since the Unix epoch
}

func newWarmUp(count float64, period, factor int) *warmUp {
	w := &warmUp{count: count, factor: int64(factor)}
	w.filled.Store(math.MinInt64 / 2) // the first call finds it cold, whatever the time
	tokens := float64(period) * count
	w.warning = chain.Clamp(tokens) / (w.factor - 1)
	w.most = w.warning + chain.Clamp(2*tokens/(1+float64(factor)))
	w.slope = (float64(factor) - 1) / count / float64(w.most-w.warning)
	return w
}

// ramps says whether there is a ramp at all; a period too short for the count has none.
func (w *warmUp) ramps() bool { return w.most > w.warning }

// part returns which part of the rule's count the count in force is. All of the bucket is kept at the rule's count: a
// process that enforces a part of it stands for all others.
func (w *warmUp) part(count float64) float64 {
	if count == w.count || w.count == 0 {
		return 1
	}
	return count / w.count
}

// sync refills the bucket once a second and takes out what passed in the second before.
func (w *warmUp) sync(now int64, part float64, previous func(now int64) int64) {
	nowMs := now / 1e6
	nowMs -= nowMs % 1000
	filled := w.filled.Load()
	if nowMs <= filled || !w.filled.CompareAndSwap(filled, nowMs) {
		return
	}
	passed := previous(now)
	if part != 1 {
		passed = chain.Clamp(float64(passed) / part)
	}
	old := w.stored.Load()
	tokens := old
	if old < w.warning || old > w.warning && passed < chain.Clamp(w.count)/w.factor {
		tokens = chain.Clamp(float64(old) + float64(nowMs-filled)*w.count/1000)
	}
	w.stored.Store(max(0, min(tokens, w.most)-passed))
}

// limit returns the rate allowed now, at least one that lets a call of n units pass.
func (w *warmUp) limit(count float64, n int64) float64 {
	rest := w.stored.Load()
	if !w.ramps() || rest < w.warning {
		return count
	}
	rate := math.Nextafter(1/(float64(rest-w.warning)*w.slope+1/w.count)*w.part(count), math.Inf(1))
	return math.Max(rate, math.Min(math.Max(1, float64(n)), count))
}

func (k *check) admitWarmUp(c *chain.Context, s scope, count float64) bool {
	w := k.shaper.warm
	w.sync(c.Now, w.part(count), s.previous)
	return k.admitReject(c, s, w.limit(count, c.Count))
}

func (k *check) admitWarmUpThrottling(c *chain.Context, s scope, count float64) bool {
	w := k.shaper.warm
	w.sync(c.Now, w.part(count), s.previous)
	return k.shaper.pace(c, w.limit(count, c.Count), k.perInterval())
}
