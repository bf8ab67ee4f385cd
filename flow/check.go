package flow

import (
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

	cluster *clusterCheck // asks the token service before this check; nil without cluster mode
	pass    bool          // every call passes: the fallback of a cluster rule says so
	block   bool          // every call is refused: the fallback of a cluster rule says so

	count    float64 // threshold, unless it moves
	moving   bool    // it follows memory, or is a share of a cluster rule's
	adaptive bool    // it follows memory
	plain    bool    // a fixed QPS limit of at least one, of the whole resource, that this check reserves
	room     int64   // plain: the largest total that lets one more unit in
	interval int64   // plain: of the window that room is for, ns
	ownLen   int64   // bucket of the rule's own window, ns; 0: the resource's window
	ownCount int64
	whole    *scope                // the resource, over all contexts
	last     atomic.Pointer[scope] // what refused last, for Explain
}

// prepare computes what does not change from call to call.
func (k *check) prepare() {
	k.count = k.rule.localCount()
	k.adaptive = k.rule.MemoryAdaptive()
	if interval, buckets := k.rule.Window(); buckets > 0 {
		k.ownLen, k.ownCount = int64(interval)/int64(buckets), int64(buckets)
	}
	if k.rule.ClusterMode {
		k.cluster = newClusterCheck(k)
		k.fallBack()
	}
	k.moving = k.moving || k.adaptive
}

// simplify finds out whether the check is of the usual, plain kind. It is called once reserves is known.
func (k *check) simplify() {
	r := &k.rule
	k.plain = k.alone() && !k.rule.ClusterMode && !k.moving && k.app == "default" && r.Grade == GradeQPS &&
		r.Strategy == StrategyDirect && r.ControlBehavior == Reject && (k.count >= 1 || k.count == 0) && k.ownLen == 0
	shape := k.slot.settings.Scope.Shape()
	k.room, k.interval = chain.Room(k.count, 1, shape.Seconds()), int64(shape.Interval())
}

// alone says that no other rule of the resource can have counted a call in the resource's window before this one. Rules
// in cluster mode come later.
func (k *check) alone() bool {
	for _, o := range k.peers.checks {
		if o != k && !o.rule.ClusterMode && o.app == "default" && o.rule.Strategy == StrategyDirect && o.rule.Grade == GradeQPS && o.ownLen == 0 &&
			(o.rule.ControlBehavior == Reject || o.rule.ControlBehavior == WarmUp) {
			return false
		}
	}
	return true
}

// fallBack sets what a cluster rule does without a token server.
func (k *check) fallBack() {
	switch k.rule.ClusterConfig.Fallback() {
	case chain.FallbackPass:
		k.pass = true
	case chain.FallbackBlock:
		k.block = true
	case chain.FallbackLocal:
		k.adaptive = k.adaptive && k.rule.ClusterConfig.FallbackCount == nil
	case chain.FallbackUnset, chain.FallbackShare:
		k.moving = k.cluster.asker.Shares()
	}
}

// Check decides about a call.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	if k.plain && c.Count == 1 && !c.Prioritized {
		w := c.Resource.OpenWindow()
		if w == nil {
			w = c.Resource.Window(c.Now)
		}
		if w.Interval() == k.interval { // else the window has just been changed
			if c.ReserveWindow(w, k.room) {
				return nil
			}
			if k.last.Load() != k.whole {
				k.last.Store(k.whole)
			}
			return k.err
		}
	}
	return k.decide(c)
}

// Plain says whether the check is of the usual kind, whose decision hangs on one word.
func (k *check) Plain() bool { return k.plain }

// Refuses says whether a plain call would be refused now.
func (k *check) Refuses(now int64) *chain.BlockError {
	w := k.whole.resource.OpenWindow()
	if w == nil {
		w = k.whole.resource.Window(now)
	}
	w.Touch(now)
	if w.Interval() != k.interval || w.Bound() <= k.room || !w.Full(k.room) {
		return nil
	}
	if k.last.Load() != k.whole {
		k.last.Store(k.whole)
	}
	return k.err
}

// decide is Check for calls and rules of any kind.
func (k *check) decide(c *chain.Context) *chain.BlockError {
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
	if k.shaper.custom != nil {
		return k.admitCustom(c)
	}
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

// threshold returns the count in force.
func (k *check) threshold() float64 {
	if !k.moving {
		return k.count
	}
	count := k.count
	if k.adaptive {
		count = k.byMemory()
	}
	return count / float64(k.clients())
}

// clients returns by how many the count is divided: among the token server's clients while it does not decide.
func (k *check) clients() int {
	if k.cluster == nil {
		return 1
	}
	return k.cluster.asker.Clients()
}

// byMemory returns the count that follows from the memory in use.
func (k *check) byMemory() float64 {
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
	if count > 0 && count < 1 && c.Count != 0 {
		return k.admitGap(c, s, w, count)
	}
	room := chain.Room(count, c.Count, units)
	switch {
	case s.related || !k.reserves || c.Counted(w):
		own := int64(0)
		if c.Counted(w) {
			own = c.Count
		}
		return w.Within(c.Now, own, room) || !k.reserves && k.mayBorrow(c)
	case c.ReserveRate(w, count, units, k.perInterval()):
		return true
	case k.mayBorrow(c):
		return c.OccupyWindow(w, count*units, k.slot.settings.OccupyTimeout.Load())
	}
	return false
}

// mayBorrow says whether the call may wait for room in a bucket to come: only under a rule that simply rejects, by
// the window of the resource.
func (k *check) mayBorrow(c *chain.Context) bool {
	return c.Prioritized && k.ownLen == 0 && k.rule.ControlBehavior == Reject
}

// admitGap admits one call of one unit per interval/count.
func (k *check) admitGap(c *chain.Context, s scope, w *stat.Window, count float64) bool {
	gap := chain.Gap(count, k.perInterval())
	if s.related {
		last, ever := w.Latest()
		return c.Count == 1 && (!ever || c.Now-last >= gap)
	}
	return c.Count == 1 && c.ReserveGap(w, gap)
}

// admitConcurrency admits what keeps the calls in flight within the count. The call's count is compared, but
// every call holds one place.
func (k *check) admitConcurrency(c *chain.Context, s scope, count float64) bool {
	room := chain.Room(count, c.Count, 1)
	if s.related {
		return s.active() <= room
	}
	g := s.exact().Gate()
	switch {
	case c.Permitted(g):
		return g.Held(s.active)-1 <= room
	case !k.reserves:
		return g.Held(s.active) <= room
	}
	return c.ReserveGate(g, 1, room, s.active)
}

// remember notes the scope that refused, so that Explain can read it. It is written only when it changes, so
// that a flood of refusals does not share a line.
func (k *check) remember(s scope) {
	if last := k.last.Load(); last == nil || *last != s {
		k.last.Store(&scope{resource: s.resource, node: s.node, related: s.related})
	}
}
