package flow

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// shaper is the state of a rule that shapes traffic. It belongs to the rule, not to an origin or context, and
// lives as long as equal rules stay loaded.
//
// last is one word that every admitted call writes: pacing is a total order of calls, so there is no way to
// stripe it. Callers compute their place and take it by compare-and-swap, so a refused caller writes nothing
// and is never seen by others.
type shaper struct {
	last     atomic.Int64 // place in time of the latest admitted call, ns
	maxQueue int64        // ns
	warm     *warmUp      // nil without warm-up
	custom   Behavior     // of the user's, else nil
	warned   atomic.Bool  // that the token server has no concurrency tokens
}

const neverPassed = math.MinInt64 / 2

func newShaper(r Rule, settings Settings) (s *shaper, err error) {
	s = &shaper{maxQueue: int64(r.MaxQueueing())}
	s.last.Store(neverPassed)
	if err := checkTotal(r, settings.MemoryTotal); err != nil {
		return nil, err
	}
	if r.Grade == GradeQPS && (r.ControlBehavior == WarmUp || r.ControlBehavior == WarmUpThrottling) {
		s.warm = newWarmUp(r.localCount(), r.WarmUpPeriod(), settings.ColdFactor)
	}
	if factory := settings.Behaviors[r.ControlBehavior]; factory != nil && r.Grade == GradeQPS {
		s.custom, err = factory(r)
	}
	return s, err
}

// pace admits the call at the first place that is its cost after the latest call, if it need not wait longer
// than the queue allows. The gap before a call is the cost of that call's own count.
func (s *shaper) pace(c *chain.Context, count, interval float64) bool {
	switch {
	case c.Count <= 0:
		return true
	case !(count > 0):
		return false
	}
	cost := chain.Clamp(math.Round(interval * float64(c.Count) / count))
	for {
		last := s.last.Load()
		place := max(last+cost, c.Now)
		wait := place - c.Now
		if wait > s.maxQueue {
			return false
		}
		if s.last.CompareAndSwap(last, place) {
			c.Hold(s, 0, last, place, nil)
			c.Wait(wait)
			return true
		}
	}
}

// Commit has nothing to confirm.
func (s *shaper) Commit(*chain.Context, *chain.Hold) *chain.BlockError { return nil }

// Undo gives the place back if nobody queued behind it.
func (s *shaper) Undo(_ *chain.Context, h *chain.Hold) { s.last.CompareAndSwap(h.B, h.A) }

// Release has nothing to end.
func (s *shaper) Release(*chain.Context, *chain.Hold, chain.Done) {}

func (s *shaper) explain(now int64, count, interval float64, r Rule) chain.Explanation {
	e := chain.Explanation{Limit: float64(r.MaxQueueing().Milliseconds()), Unit: "ms in queue"}
	last := s.last.Load()
	if last == neverPassed || !(count > 0) {
		return e
	}
	wait := max(0, last+chain.Gap(count, interval)-now)
	e.Measured = float64(wait) / float64(time.Millisecond)
	e.Window = time.Duration(chain.Gap(count, interval))
	e.RetryAfter = time.Duration(max(0, wait-s.maxQueue))
	return e
}
