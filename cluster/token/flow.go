package token

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/stat"
)

// A hotFlow is what a decision touches of a flow rule: one cache line. It stays while the rule's window does.
type hotFlow struct {
	stat.Window // not made with WithCompatible
	id          int64
	space       *space
	terms       atomic.Uint64            // terms; written before a table is published
	cold        atomic.Pointer[flowRule] // in force; so too
}

func (h *hotFlow) key() (ns string, id int64) { return h.space.name, h.id }

// A flowRule is a flow rule in force. It is immutable; each load or change of the config makes a new one, which takes
// over the window and the counters.
type flowRule struct {
	*flowState
	hot     *hotFlow
	space   *space
	compat  *compatFlow // nil in exact mode
	terms   terms
	global  bool
	observe bool
	gate    bool    // limits concurrency, so no window decides
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

func (f *flowRule) key() (ns string, id int64) { return f.hot.key() }

// newFlow makes the rule in force for a valid rule; old is the one of the same id before, or nil. forced is the shape
// that a change of the config gives all windows in compatible mode. The caller holds mu and publishes.
func (s *Service) newFlow(sp *space, r flow.Rule, old *flowRule, forced *shape) *flowRule {
	c, config := r.ClusterConfig, s.configOf(sp)
	f := &flowRule{
		space: sp, rule: r, ratio: config.MaxOccupyRatio, exceed: config.ExceedCount, terms: special,
		global: c.ThresholdType == chain.ThresholdGlobal, observe: r.Mode == chain.ModeObserve,
	}
	if old != nil {
		f.flowState, f.hot = old.flowState, old.hot
	} else {
		f.flowState, f.hot = &flowState{}, &hotFlow{id: c.FlowID, space: sp}
	}
	s.tokens.setTerms(c.FlowID, &f.holders, c.TokenTimeout()*nsPerMs, c.OfflineTimeout()*nsPerMs)
	if s.compatible {
		f.makeCompat(s, old, forced)
	} else {
		f.makeExact(s, old, shapeOf(c, config).within(mostBuckets))
	}
	return f
}

// makeExact gives the rule its window: the one before if the shape is the same, else a new one that goes on with what
// that counted.
func (f *flowRule) makeExact(s *Service, old *flowRule, sh shape) {
	f.shape, f.longest = sh, min(s.occupy, sh.interval*nsPerMs)
	if f.gate = f.rule.Grade == flow.GradeConcurrency; !f.gate {
		f.terms = termsOf(f.rule.Count*f.exceed*sh.seconds(), f.global)
	}
	if old == nil {
		f.hot.Init(sh.length(), sh.buckets, s.Now())
		return
	}
	if sh != old.shape {
		f.hot = &hotFlow{id: old.hot.id, space: old.hot.space}
		f.hot.Init(sh.length(), sh.buckets, s.Now())
		s.handOver = append(s.handOver, func(now int64) { f.hot.Continue(&old.hot.Window, now) })
	}
}

// enforce makes decisions follow the rule.
func (f *flowRule) enforce() {
	if f.hot.cold.Load() == f {
		return
	}
	f.hot.cold.Store(f)
	f.hot.terms.Store(uint64(f.terms))
}

// decide says what a request gets. ok is false if a new rule has taken over meanwhile: look it up again.
func (h *hotFlow) decide(s *Service, now, n int64, prioritized bool) (r chain.TokenResult, ok bool) {
	t := terms(h.terms.Load())
	if t == special {
		return h.cold.Load().decideSpecial(s, now, n, prioritized)
	}
	most := t.most(h.space)
	total, ok := h.Take(now, n, most)
	if !ok {
		return h.cold.Load().refuse(now, n, most, total, prioritized)
	}
	if n > 1 {
		h.cold.Load().extra.Add(n - 1)
	}
	return chain.TokenResult{Remaining: clamp32(most - total)}, true
}

// decideSpecial decides by a rule that has no terms.
func (f *flowRule) decideSpecial(s *Service, now, n int64, prioritized bool) (r chain.TokenResult, ok bool) {
	if f.compat != nil {
		return f.compat.decide(f, now, n, prioritized)
	}
	return f.refuseGate(s), true
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
	ns, ok := f.hot.Borrow(now, n, most, f.longest)
	if !ok {
		return 0, false
	}
	if f.waits == nil || f.waits.Interval() != f.hot.Interval() {
		f.waits = stat.NewWindow(f.shape.length(), f.shape.buckets, now)
	}
	f.waits.Add(now, n)
	f.waited.Add(1)
	f.lent.Add(n)
	return time.Duration((ns + nsPerMs - 1) / nsPerMs * nsPerMs), true
}
