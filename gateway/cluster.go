package gateway

import (
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

func (r Rule) checkCluster() error {
	if !r.ClusterMode {
		return nil
	}
	if c := r.ClusterConfig; c != nil {
		if err := rulejson.CheckRange("clusterConfig.windowIntervalMs", int64(c.WindowIntervalMs)); err != nil {
			return err
		}
	}
	if r.Interval().Milliseconds() > longestWindow {
		return chain.Refuse("intervalSec", "must be at most %d in cluster mode, not %d", longestWindow/1000, r.IntervalSec)
	}
	return rulejson.CheckCluster(r.tokenConfig())
}

// longestWindow of a token server, in milliseconds.
const longestWindow = 1<<31 - 1

func (r Rule) clusterWarnings() []string {
	if !r.ClusterMode {
		return nil
	}
	var list []string
	if r.Grade == GradeConcurrency {
		list = append(list, "clusterMode: no token server limits requests in flight of a gateway rule; its fallback decides")
	} else if r.ControlBehavior == Throttling || r.Burst > 0 {
		list = append(list, "clusterMode: a token server knows no burst and no queueing; they act in the fallback only")
	}
	if c := r.ClusterConfig; c != nil && c.WindowIntervalMs != 0 && c.Window() != 1000 && int64(c.Window()) != r.Interval().Milliseconds() {
		list = append(list, "clusterConfig.windowIntervalMs is ignored: the token server's window is intervalSec")
	}
	return list
}

// tokenConfig returns the cluster part with the window that counts.
func (r Rule) tokenConfig() *ClusterConfig {
	c := rulejson.CopyCluster(r.ClusterConfig)
	if c != nil && r.ClusterMode {
		c.WindowIntervalMs = int(r.Interval().Milliseconds())
	}
	return c
}

// inCluster says whether a token server decides the rule.
func (r Rule) inCluster() bool { return r.ClusterMode && r.ClusterConfig != nil && r.Grade == GradeQPS }

// perSecond is the count in the terms of a token server.
func (r Rule) perSecond() float64 { return r.Count / r.Interval().Seconds() }

// FlowRule returns what a token server must know of a rule in cluster mode that counts all requests together. ok is false for
// all other rules.
func (r Rule) FlowRule() (rule flow.Rule, ok bool) {
	if !r.inCluster() || r.ParamItem != nil {
		return flow.Rule{}, false
	}
	return flow.Rule{
		ID: r.ID, Resource: r.Resource, Disabled: r.Disabled, Mode: r.Mode, Count: r.perSecond(), ClusterMode: true, ClusterConfig: r.tokenConfig(),
	}, true
}

// ParamRule returns what a token server must know of a rule in cluster mode that counts a part of the request for each
// value. ok is false for all other rules.
func (r Rule) ParamRule() (rule hotspot.Rule, ok bool) {
	if !r.inCluster() || r.ParamItem == nil {
		return hotspot.Rule{}, false
	}
	position := 0
	return hotspot.Rule{
		ID: r.ID, Resource: r.Resource, Disabled: r.Disabled, Mode: r.Mode, ParamIdx: &position, Count: r.perSecond(),
		ClusterMode: true, ClusterConfig: r.tokenConfig(),
	}, true
}

// clusterCheck decides by a rule in cluster mode: it asks the token service, with the value of the request's part as the
// parameter, and where none decides, the check of the same rule in this process does. It is asked last, since what a server
// granted cannot be given back.
type clusterCheck struct {
	local   *check
	asker   chain.Asker
	refused *chain.BlockError // by the server
}

func (k *check) cluster() *clusterCheck {
	q := &clusterCheck{local: k, asker: chain.NewAsker(k.slot.tokens, k.rule.ClusterConfig, k.slot.now)}
	q.refused = chain.NewBlockError(chain.KindGateway, k.err.Resource, k.rule, chain.ErrGateway, q)
	return q
}

func (q *clusterCheck) bound(observed bool) chain.Bound {
	return chain.Bound{Check: q, Observed: observed, Last: q.local.rule.inCluster()}
}

// Check decides about a request that the rule concerns.
func (q *clusterCheck) Check(c *chain.Context) *chain.BlockError {
	value, ok := q.local.concerned(c)
	if !ok {
		return nil
	}
	return q.asker.Resolve(c, q.ask(c, value), q.refused, q.local.err, func(clients int) *chain.BlockError {
		q.local.Controller().Divide(clients)
		return q.local.decide(c, value)
	})
}

func (q *clusterCheck) ask(c *chain.Context, value string) chain.Answer {
	switch {
	case !q.local.rule.inCluster():
		return chain.AnswerFallback
	case q.local.rule.ParamItem == nil:
		return q.asker.Flow(c)
	}
	values := append(c.Values(), chain.String("", value))
	answer := q.asker.Param(c, values)
	c.KeepValues(values)
	return answer
}

// Explain tells the token server's threshold.
func (q *clusterCheck) Explain() chain.Explanation {
	e := q.asker.Explain(q.local.rule.Count)
	e.Unit, e.Window = "requests", q.local.rule.Interval()
	return e
}
