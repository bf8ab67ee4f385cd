package hotspot

import (
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// clusterCheck decides by a rule in cluster mode: it asks the token service, and where none decides, the check of the
// same rule in this process does. It is asked last, since what a server granted cannot be given back. A rule of
// GradeConcurrency never asks.
type clusterCheck struct {
	local   *check
	asker   chain.Asker
	refused *chain.BlockError // by the server
}

func (k *check) cluster() *clusterCheck {
	q := &clusterCheck{local: k, asker: chain.NewAsker(k.slot.tokens, k.rule.ClusterConfig, k.slot.now)}
	q.refused = chain.NewBlockError(chain.KindParam, k.err.Resource, k.rule, chain.ErrParam, q)
	return q
}

func (q *clusterCheck) bound(observed bool) chain.Bound {
	return chain.Bound{Check: q, Observed: observed, Last: q.local.rule.Grade == GradeQPS}
}

// Check decides about a call. A call without the argument, or without a value in it, passes unasked.
func (q *clusterCheck) Check(c *chain.Context) *chain.BlockError {
	arg, ok := q.local.argument(c)
	if !ok || arg.Kind() == chain.ArgNil {
		return nil
	}
	return q.asker.Resolve(c, q.ask(c, arg), q.refused, q.local.err, func(clients int) *chain.BlockError {
		q.local.table.controller.Divide(clients)
		return q.local.decide(c, arg)
	})
}

func (q *clusterCheck) ask(c *chain.Context, arg chain.Arg) chain.Answer {
	if q.local.rule.Grade != GradeQPS {
		return chain.AnswerFallback
	}
	values, skipped := appendValues(c.Values(), arg)
	if skipped > 0 {
		q.local.table.controller.skipped.Add(uint64(skipped))
	}
	answer := q.asker.Param(c, values)
	c.KeepValues(values)
	return answer
}

// Explain tells the token server's threshold for a value without one of its own.
func (q *clusterCheck) Explain() chain.Explanation {
	window := q.local.rule.ClusterConfig.Window()
	e := q.asker.Explain(q.local.rule.Count * float64(window) / 1000)
	e.Unit, e.Window = "calls", time.Duration(window)*time.Millisecond
	return e
}

// NewLocal makes the controller by which this process enforces a rule while no token server decides. It is New for a rule that is not in
// cluster mode.
func NewLocal(r Rule) *Controller {
	if !r.ClusterMode {
		return New(r)
	}
	c := r.ClusterConfig
	switch c.Fallback() {
	case chain.FallbackLocal:
		if c.FallbackCount != nil {
			r.Count = *c.FallbackCount
		}
	case chain.FallbackUnset, chain.FallbackShare:
		if c.ThresholdType == chain.ThresholdGlobal {
			return newDivided(r)
		}
	case chain.FallbackPass, chain.FallbackBlock:
	}
	return New(r)
}
