package flow

import (
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// Explain tells what the rule measures on the scope that it refused last.
func (k *check) Explain() chain.Explanation {
	now := k.slot.settings.Now()
	count := k.threshold()
	var s scope
	if last := k.last.Load(); last != nil {
		s = *last
	}
	if s.none() {
		return chain.Explanation{Limit: count, Unit: "calls"}
	}
	if k.rule.Grade == GradeConcurrency {
		return chain.Explanation{Measured: float64(s.active()), Limit: count, Unit: "calls in flight"}
	}
	if k.rule.ControlBehavior == Throttling || k.rule.ControlBehavior == WarmUpThrottling {
		return k.shaper.explain(now, count, k.perInterval(), k.rule)
	}
	return k.explainWindow(now, count, s)
}

func (k *check) explainWindow(now int64, count float64, s scope) chain.Explanation {
	w, units := k.window(&chain.Context{Now: now}, s)
	if k.rule.ControlBehavior == WarmUp {
		count = k.shaper.warm.limit(count, 1)
	}
	e := chain.Explanation{
		Measured: float64(w.Total(now)) / units, Limit: count, Unit: "calls",
		Window: time.Duration(w.Interval()), RetryAfter: time.Duration(w.NextRelease(now)),
	}
	if count > 0 && count < 1 {
		e.Window = time.Duration(chain.Gap(count, k.perInterval()))
		if last, ever := w.Latest(); ever {
			e.Measured, e.Limit = 1, 1
			e.RetryAfter = max(0, time.Duration(last-now)+e.Window)
		}
	}
	return e
}
