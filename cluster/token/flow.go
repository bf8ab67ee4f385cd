package token

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/stat"
)

// A hotFlow is what a decision reads of a flow rule: 56 bytes, which with the id are a cache line in the index.
type hotFlow struct {
	space   *space
	window  *stat.Window // nil with compat
	compat  *compatFlow  // nil in exact mode
	cold    *flowRule    // the rest
	perUnit float64      // units per window: of the whole, or for each client
	limit   int64        // of a global threshold
	global  bool
	observe bool
	gate    bool // limits concurrency, so no window decides
}

// A flowRule is a flow rule in force. It is immutable; each load or change of the config makes a new one, which takes
// over the window and the counters.
type flowRule struct {
	hotFlow
	*flowState
	longest int64   // ns that a prioritized call may wait
	ratio   float64 // maxOccupyRatio
	exceed  float64
	shape   shape // in force
	own     shape // with compat: what the rule says
	rule    flow.Rule
}

// A flowState is what stays of a rule as long as a rule of its id is loaded.
type flowState struct {
	extra    atomic.Int64 // units granted at once beyond one per request
	blocked  atomic.Uint64
	waited   atomic.Uint64
	lent     atomic.Int64 // units of the waited
	limited  atomic.Uint64
	spared   atomic.Uint64 // would have been blocked, but the rule only observes
	failed   atomic.Uint64
	acquired atomic.Uint64

	mu      sync.Mutex   // held to borrow
	waits   *stat.Window // units borrowed; guarded by mu, nil until the first
	warned  sync.Once
	holders holders
}

func (f *flowRule) key() (ns string, id int64) { return f.space.name, f.rule.ClusterConfig.FlowID }

// newFlow makes the rule in force for a valid rule; old is the one of the same id before, or nil. forced is the shape
// that a change of the config gives all windows in compatible mode. The caller holds mu and publishes.
func (s *Service) newFlow(sp *space, r flow.Rule, old *flowRule, forced *shape) *flowRule {
	c, config := r.ClusterConfig, s.configOf(sp)
	f := &flowRule{rule: r, ratio: config.MaxOccupyRatio, exceed: config.ExceedCount}
	f.hotFlow = hotFlow{
		space: sp, cold: f, global: c.ThresholdType == chain.ThresholdGlobal, observe: r.Mode == chain.ModeObserve,
	}
	if old != nil {
		f.flowState = old.flowState
	} else {
		f.flowState = &flowState{}
	}
	s.tokens.setTerms(c.FlowID, &f.holders, c.TokenTimeout()*nsPerMs, c.OfflineTimeout()*nsPerMs)
	if s.compatible {
		f.makeCompat(s, old, forced)
		return f
	}
	f.gate = r.Grade == flow.GradeConcurrency
	f.shape = shapeOf(c, config).within(mostBuckets)
	f.perUnit = r.Count * f.exceed * f.shape.seconds()
	f.limit = perWindow(f.perUnit, 1)
	f.longest = min(s.occupy, f.shape.interval*nsPerMs)
	if old != nil && old.shape == f.shape {
		f.window = old.window
		return f
	}
	f.window = stat.NewWindow(f.shape.length(), f.shape.buckets, s.Now())
	if old != nil {
		s.handOver = append(s.handOver, func(now int64) { f.window.Continue(old.window, now) })
	}
	return f
}

// perWindow returns how many units of a window may be granted: floor(units x clients + 1e-6), so that a count whose
// product with the window is whole, but for the binary fractions of the computer, counts as whole.
func perWindow(perUnit, clients float64) int64 { return units(math.Floor(perUnit*clients + 1e-6)) }

// most returns how many units the window may hold now.
func (h *hotFlow) most() int64 {
	if h.global {
		return h.limit
	}
	return perWindow(h.perUnit, float64(h.space.connected.Load()))
}

// decide says what a request gets. ok is false if a new rule has taken over meanwhile: look it up again.
func (h *hotFlow) decide(s *Service, now, n int64, prioritized bool) (r chain.TokenResult, ok bool) {
	switch {
	case h.compat != nil:
		return h.compat.decide(h.cold, now, n, prioritized)
	case h.gate:
		return h.cold.refuseGate(s), true
	}
	most := h.most()
	total, ok := h.window.Take(now, n, most)
	if !ok {
		return h.cold.refuse(now, n, most, total, prioritized)
	}
	if n > 1 {
		h.cold.extra.Add(n - 1)
	}
	return chain.TokenResult{Remaining: clamp32(most - total)}, true
}

// refuse says what a request gets that the window has no room for.
func (f *flowRule) refuse(now, n, most, total int64, prioritized bool) (r chain.TokenResult, ok bool) {
	switch {
	case stat.Sealed(total):
		return r, false
	case f.observe:
		f.spared.Add(1)
		return r, true
	case prioritized && f.longest > 0:
		if wait, ok := f.borrow(now, n, most); ok {
			return chain.TokenResult{Status: chain.TokenShouldWait, Wait: wait}, true
		}
	}
	f.blocked.Add(1)
	return answer(chain.TokenBlocked), true
}

// refuseGate answers a request for a rule that limits concurrency: never silently as a rate.
func (f *flowRule) refuseGate(s *Service) chain.TokenResult {
	f.failed.Add(1)
	f.warned.Do(func() {
		ns, id := f.key()
		s.logger.Warn("a client asks for a rate of a rule that limits concurrency (grade 0): it is told to limit by itself",
			"namespace", ns, "flow_id", id, "resource", f.rule.Resource)
	})
	return answer(chain.TokenFail)
}

// borrow grants a prioritized request from a bucket to come, if what was borrowed within the window so far is not
// above maxOccupyRatio times the threshold, which is Sentinel's condition.
func (f *flowRule) borrow(now, n, most int64) (wait time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waits != nil && float64(f.waits.Total(now)) > f.ratio*float64(most) {
		return 0, false
	}
	ns, ok := f.window.Borrow(now, n, most, f.longest)
	if !ok {
		return 0, false
	}
	if f.waits == nil || f.waits.Interval() != f.window.Interval() {
		f.waits = stat.NewWindow(f.shape.length(), f.shape.buckets, now)
	}
	f.waits.Add(now, n)
	f.waited.Add(1)
	f.lent.Add(n)
	return time.Duration((ns + nsPerMs - 1) / nsPerMs * nsPerMs), true
}
