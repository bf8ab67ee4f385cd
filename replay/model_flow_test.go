package replay_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
)

func call(n int64) tidegate.Call { return tidegate.Call{Count: int(n)} }

// Reject: a call passes if the rate and its count do not exceed the count; below one, it is one call per 1/count
// seconds.
func TestRejectModel(t *testing.T) {
	eachTrial(t, func(tr *trial) {
		count := pick(tr, 0, 0.25, 0.5, 0.999, 1, 1.5, 3, 7.5, 20, float64(tr.IntN(30)))
		load(tr, tr.engine.FlowRules(), flow.Rule{Resource: "r", Count: count})
		var passed passes
		last := int64(math.MinInt64 / 2)
		for range modelCalls {
			tr.step()
			n := pick(tr, 1, 1, 1, 1+tr.Int64N(5))
			want := verdict{pass: passed.rate(tr.ns)+float64(n) <= count}
			if count > 0 && count < 1 {
				want.pass = n == 1 && tr.ns-last >= int64(math.Round(1e9/count))
			}
			if want.pass {
				passed.add(tr.ns, n)
				last = tr.ns
			}
			entry, got := tr.enter(call(n))
			entry.Exit(nil)
			if !tr.compare(tr.ns, fmt.Sprintf("count %d", n), got, want) {
				return
			}
		}
	})
}

// Concurrency: the call's count is compared, each call holds one place.
func TestConcurrencyModel(t *testing.T) {
	eachTrial(t, func(tr *trial) {
		count := pick(tr, 0, 0.5, 1, 2.5, 4, 10)
		load(tr, tr.engine.FlowRules(), flow.Rule{Resource: "r", Grade: flow.GradeConcurrency, Count: count})
		var open []tidegate.Entry
		for range modelCalls {
			tr.step()
			if len(open) > 0 && tr.IntN(3) == 0 {
				i := tr.IntN(len(open))
				open[i].Exit(nil)
				open = append(open[:i], open[i+1:]...)
				continue
			}
			n := pick(tr, 1, 1, 1+tr.Int64N(4))
			want := verdict{pass: float64(len(open))+float64(n) <= count}
			entry, got := tr.enter(call(n))
			if got.pass {
				open = append(open, entry)
			}
			if !tr.compare(tr.ns, fmt.Sprintf("count %d, %d open", n, len(open)), got, want) {
				return
			}
		}
	})
}

// queueModel is pacing: the place of a call is its own cost after the place before it.
type queueModel struct {
	last  int64 // 0: none
	limit int64
}

func (q *queueModel) enter(now, n int64, rate float64) verdict {
	switch {
	case n <= 0:
		return verdict{pass: true}
	case !(rate > 0):
		return verdict{}
	}
	place := now
	if q.last != 0 {
		place = max(now, q.last+int64(math.Floor(1e9*float64(n)/rate+0.5)))
	}
	if place-now > q.limit {
		return verdict{}
	}
	q.last = place
	return verdict{true, place - now}
}

func TestThrottlingModel(t *testing.T) {
	eachTrial(t, func(tr *trial) {
		queue := pick(tr, 0, 50, 500, 20_000, tr.Int64N(3000))
		count := pick(tr, 0, 0.1, 0.4, 1, 1.5, 3, 7, 10, 200, 2500, float64(tr.IntN(40)))
		load(tr, tr.engine.FlowRules(), flow.Rule{Resource: "r", Count: count, ControlBehavior: flow.Throttling, MaxQueueingTimeMs: &queue})
		q := queueModel{limit: queue * ms}
		tr.still = tr.IntN(2) == 0 // many callers at one instant
		for range modelCalls {
			tr.step()
			n, at := pick(tr, 1, 1, 1, 1+tr.Int64N(4)), tr.ns
			want := q.enter(at, n, count)
			entry, got := tr.enter(call(n))
			entry.Exit(nil)
			if !tr.compare(at, fmt.Sprintf("count %d", n), got, want) {
				return
			}
		}
	})
}

// warmModel is the bucket of tokens of a warm-up rule.
type warmModel struct {
	count          float64
	factor         int64
	warning, most  int64
	stored, filled int64 // filled in ms
	passed         passes
}

func newWarmModel(count float64, period int) *warmModel {
	w := &warmModel{count: count, factor: 3}
	w.warning = int64(float64(period)*count) / (w.factor - 1)
	w.most = w.warning + int64(2*float64(period)*count/float64(1+w.factor))
	return w
}

// limit returns the rate allowed to a call of n units, after the once-a-second accounting.
func (w *warmModel) limit(now, n int64) float64 {
	second := now / ms / 1000 * 1000
	if second > w.filled {
		previous := w.passed.previous(now)
		tokens := w.stored
		if w.stored < w.warning || w.stored > w.warning && previous < int64(w.count)/w.factor {
			tokens = int64(float64(w.stored) + float64(second-w.filled)*w.count/1000)
		}
		w.stored = max(0, min(tokens, w.most)-previous)
		w.filled = second
	}
	if w.stored < w.warning || w.most <= w.warning {
		return w.count
	}
	slope := float64(w.factor-1) / w.count / float64(w.most-w.warning)
	cold := math.Nextafter(1/(float64(w.stored-w.warning)*slope+1/w.count), math.Inf(1))
	return math.Max(cold, math.Min(math.Max(1, float64(n)), w.count))
}

func warmRule(tr *trial) (flow.Rule, *warmModel) {
	count, period := pick(tr, 1, 2, 3, 5, 7.5, 10, 12.34, 30, float64(1+tr.IntN(40))), pick(tr, 1, 2, 4, 10)
	return flow.Rule{Resource: "r", Count: count, ControlBehavior: flow.WarmUp, WarmUpPeriodSec: period}, newWarmModel(count, period)
}

func TestWarmUpModel(t *testing.T) {
	eachTrial(t, func(tr *trial) {
		rule, w := warmRule(tr)
		load(tr, tr.engine.FlowRules(), rule)
		for range modelCalls * 4 {
			if tr.IntN(3) == 0 {
				tr.step()
			} else {
				tr.ns += tr.Int64N(1+int64(1500/rule.Count)) * ms
			}
			n := pick(tr, 1, 1, 1, 1+tr.Int64N(3))
			want := verdict{pass: w.passed.rate(tr.ns)+float64(n) <= w.limit(tr.ns, n)}
			if want.pass {
				w.passed.add(tr.ns, n)
			}
			c := call(n)
			c.Prioritized = tr.IntN(4) == 0 // which changes nothing: only rules that simply reject lend from later buckets
			entry, got := tr.enter(c)
			entry.Exit(nil)
			if !tr.compare(tr.ns, fmt.Sprintf("count %d", n), got, want) {
				return
			}
		}
	})
}

func TestWarmUpThrottlingModel(t *testing.T) {
	eachTrial(t, func(tr *trial) {
		rule, w := warmRule(tr)
		queue := pick(tr, 0, 100, 500, 2000)
		rule.ControlBehavior, rule.MaxQueueingTimeMs = flow.WarmUpThrottling, new(int64)
		*rule.MaxQueueingTimeMs = int64(queue)
		load(tr, tr.engine.FlowRules(), rule)
		q := queueModel{limit: int64(queue) * ms}
		for range modelCalls * 2 {
			if tr.IntN(3) == 0 {
				tr.step()
			} else {
				tr.ns += tr.Int64N(1+int64(1500/rule.Count)) * ms
			}
			n, at := pick(tr, 1, 1, 1, 1+tr.Int64N(3)), tr.ns
			want := q.enter(at, n, w.limit(at, n))
			if want.pass {
				w.passed.add(at+want.wait, n)
			}
			entry, got := tr.enter(call(n))
			entry.Exit(nil)
			if !tr.compare(at, fmt.Sprintf("count %d", n), got, want) {
				return
			}
		}
	})
}
