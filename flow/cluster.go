package flow

import (
	"log/slog"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// clusterCheck decides by a rule in cluster mode: it asks the token service, and where none decides, the check of the
// same rule in this process does. It is asked last, since what a server granted cannot be given back.
//
// Whom the rule is about is settled before a request is sent: its origin, and the entrance of a chain rule. The rest of
// the rule (the resource that a relate rule reads, warm-up, queueing) acts in this process only.
type clusterCheck struct {
	local   *check
	asker   chain.Asker
	refused *chain.BlockError // by the server
}

func newClusterCheck(k *check) *clusterCheck {
	settings := &k.slot.settings
	q := &clusterCheck{local: k, asker: chain.NewAsker(settings.Tokens, k.rule.ClusterConfig, settings.Now)}
	q.refused = chain.NewBlockError(chain.KindFlow, k.err.Resource, k.rule, chain.ErrFlow, q)
	return q
}

// bound places the check among those that are asked last: places among calls in flight before everything else, for they
// can be given back.
func (q *clusterCheck) bound(observed bool) chain.Bound {
	b := chain.Bound{Check: q, Observed: observed, Last: true}
	if q.local.rule.Grade == GradeConcurrency {
		b.Order = chain.OrderParam - 1
	}
	return b
}

// Check decides about a call.
func (q *clusterCheck) Check(c *chain.Context) *chain.BlockError {
	s := q.local.scope(c)
	if s.none() && !s.related {
		return nil
	}
	switch q.ask(c) {
	case chain.AnswerPass:
		q.prepare(c, s)
		return nil
	case chain.AnswerBlock:
		return q.refused
	case chain.AnswerGone:
		return c.GaveUp()
	case chain.AnswerFallback, chain.AnswerUnavailable:
	}
	return q.local.Check(c)
}

func (q *clusterCheck) ask(c *chain.Context) chain.Answer {
	if q.local.rule.Grade != GradeConcurrency {
		return q.asker.Flow(c)
	}
	a := q.asker.Concurrent(c)
	if a == chain.AnswerUnavailable {
		q.local.warnUnavailable()
		a = chain.AnswerFallback
	}
	return a
}

// warnUnavailable says once per rule that its calls in flight are limited in this process.
func (k *check) warnUnavailable() {
	if k.shaper.warned.Load() || k.shaper.warned.Swap(true) || k.slot.settings.Log == nil {
		return
	}
	k.slot.settings.Log.Warn("the token server has no concurrency tokens; the rule's fallback limits calls in flight in this process",
		slog.String("resource", k.err.Resource), slog.Int64("flow_id", k.rule.ClusterConfig.FlowID))
}

// prepare sees to it that the admitted call is counted in the words that the rule's fallback compares, so that the
// fallback knows the calls of the moment before.
func (q *clusterCheck) prepare(c *chain.Context, s scope) {
	k := q.local
	switch {
	case s.related:
	case k.rule.Grade == GradeConcurrency:
		s.exact().Gate()
	case k.rule.ControlBehavior == Reject || k.rule.ControlBehavior == WarmUp:
		w, _ := k.window(c, s)
		if count := k.threshold(); count > 0 && count < 1 {
			c.ReserveGap(w, chain.Gap(count, k.perInterval()))
		}
	}
}

// Explain tells the token server's threshold.
func (q *clusterCheck) Explain() chain.Explanation {
	rule := &q.local.rule
	if rule.Grade == GradeConcurrency {
		e := q.asker.Explain(rule.Count)
		e.Unit = "calls in flight"
		return e
	}
	e := q.asker.Explain(rule.Count * float64(rule.ClusterConfig.Window()) / 1000)
	e.Unit, e.Window = "calls", time.Duration(rule.ClusterConfig.Window())*time.Millisecond
	return e
}

// localCount returns the count that this process enforces alone, undivided.
func (r Rule) localCount() float64 {
	if c := r.ClusterConfig; r.ClusterMode && c.Fallback() == chain.FallbackLocal && c.FallbackCount != nil {
		return *c.FallbackCount
	}
	return r.Count
}
