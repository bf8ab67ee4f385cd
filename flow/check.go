package flow

import (
	"math"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/stat"
)

// check decides by one rule about the calls of one resource.
type check struct {
	slot     *Slot
	rule     Rule
	app      string // effective limitApp
	shaper   *shaper
	peers    *peers
	err      *chain.BlockError
	reserves bool // false: a stricter rule on the same word reserves
	pass     bool // every call passes: a cluster rule whose fallback says so
	block    bool // every call is refused: a cluster rule whose fallback says so

	count    float64 // threshold, unless it follows memory
	ownLen   int64   // bucket of the rule's own window, ns; 0: the resource's window
	ownCount int64
	last     atomic.Pointer[scope] // what refused last, for Explain
}

// prepare computes what does not change from call to call.
func (k *check) prepare() {
	k.count = k.rule.Count
	if interval, buckets := k.rule.Window(); buckets > 0 {
		k.ownLen, k.ownCount = int64(interval)/int64(buckets), int64(buckets)
	}
	if k.rule.ClusterMode {
		k.fallBack()
	}
}

// fallBack sets what a cluster rule does without a token server.
func (k *check) fallBack() {
	switch k.rule.ClusterConfig.Fallback() {
	case chain.FallbackPass:
		k.pass = true
	case chain.FallbackBlock:
		k.block = true
	case chain.FallbackLocal:
		if own := k.rule.ClusterConfig.FallbackCount; own != nil {
			k.count = *own
		}
	case chain.FallbackUnset, chain.FallbackShare: // the share of one client while the number of clients is not known
	}
}

// Check decides about a call.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	if k.pass {
		return nil
	}
	s := k.scope(c)
	if s.none() {
		return nil
	}
	if k.block || !k.admit(c, s) {
		k.remember(s)
		return k.err
	}
	return nil
}

func (k *check) admit(c *chain.Context, s scope) bool {
	count := k.threshold()
	if k.rule.Grade == GradeConcurrency {
		return k.admitConcurrency(c, s, count)
	}
	switch k.rule.ControlBehavior {
	case WarmUp:
		return k.admitWarmUp(c, s, count)
	case Throttling:
		return k.shaper.pace(c, count, k.perInterval())
	case WarmUpThrottling:
		return k.admitWarmUpThrottling(c, s, count)
	case Reject:
	}
	return k.admitReject(c, s, count)
}

// threshold returns the count in force, which memory in use may move.
func (k *check) threshold() float64 {
	if !k.rule.MemoryAdaptive() {
		return k.count
	}
	low, high := float64(k.rule.LowMemUsageThreshold), float64(k.rule.HighMemUsageThreshold)
	inUse, known := k.slot.settings.Memory()
	from, to := float64(k.rule.MemLowWaterMarkBytes), float64(k.rule.MemHighWaterMarkBytes)
	switch used := float64(inUse); {
	case !known || used <= from:
		return low
	case used >= to:
		return high
	default:
		return low + (high-low)*(used-from)/(to-from)
	}
}

// perInterval returns the time, in ns, that the count is for.
func (k *check) perInterval() float64 {
	if k.ownLen > 0 {
		return float64(k.ownLen * k.ownCount)
	}
	return 1e9
}

// window returns the exact count that the rule compares, and how many seconds of its unit it spans.
func (k *check) window(c *chain.Context, s scope) (w *stat.Window, units float64) {
	if k.ownLen > 0 {
		return s.exact().OwnWindow(k.ownLen, k.ownCount, c.Now), 1
	}
	w = s.window(c.Now)
	return w, float64(w.Interval()) / 1e9
}

// admitReject admits what keeps the rate within the count. Below one, it is one call per 1/count.
func (k *check) admitReject(c *chain.Context, s scope, count float64) bool {
	w, units := k.window(c, s)
	if c.Count == 0 {
		return float64(w.Total(c.Now))/units <= count
	}
	if count > 0 && count < 1 {
		return k.admitGap(c, s, w, count)
	}
	room := roomFor(count, c.Count, units)
	switch {
	case s.related || !k.reserves || c.Holds(w):
		total := w.Total(c.Now)
		if c.Holds(w) && !s.related {
			total -= c.Count
		}
		return total <= room || !k.reserves && k.mayBorrow(c)
	case c.ReserveWindow(w, room):
		return true
	case k.mayBorrow(c):
		return c.OccupyWindow(w, count*units, k.slot.settings.OccupyTimeout.Load())
	}
	return false
}

// mayBorrow says whether the call may wait for room in a bucket to come.
func (k *check) mayBorrow(c *chain.Context) bool { return c.Prioritized && k.ownLen == 0 }

// admitGap admits one call of one unit per interval/count.
func (k *check) admitGap(c *chain.Context, s scope, w *stat.Window, count float64) bool {
	gap := nanos(k.perInterval() / count)
	if s.related {
		last, ever := w.Latest()
		return c.Count == 1 && (!ever || c.Now-last >= gap)
	}
	return c.Count == 1 && (c.Holds(w) || c.ReserveGap(w, gap))
}

// admitConcurrency admits what keeps the calls in flight within the count. The call's count is compared, but
// every call holds one place.
func (k *check) admitConcurrency(c *chain.Context, s scope, count float64) bool {
	room := roomFor(count, c.Count, 1)
	if s.related {
		return s.active() <= room
	}
	g := s.exact().Gate()
	switch {
	case c.Holds(g):
		return g.Held(s.active)-1 <= room
	case !k.reserves:
		return g.Held(s.active) <= room
	}
	return c.ReserveGate(g, 1, room, s.active)
}

// roomFor returns the largest total t with t/units + n <= count, -1 if there is none.
func roomFor(count float64, n int64, units float64) int64 {
	if math.IsInf(count, 1) {
		return math.MaxInt64
	}
	if units == 1 {
		return clamp(math.Floor(count)) - n // n is at most 2^31
	}
	room := clamp(math.Floor((count-float64(n))*units)) + 1
	for room >= 0 && float64(room)/units+float64(n) > count {
		room--
	}
	return room
}

const largest = int64(1) << 62

func clamp(f float64) int64 {
	if f >= float64(largest) {
		return largest
	}
	return int64(f)
}

func nanos(f float64) int64 { return clamp(math.Round(f)) }

// remember notes the scope that refused, so that Explain can read it. It is written only when it changes, so
// that a flood of refusals does not share a line.
func (k *check) remember(s scope) {
	if last := k.last.Load(); last == nil || *last != s {
		k.last.Store(&s)
	}
}
