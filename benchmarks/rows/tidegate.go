package rows

import (
	"context"
	"errors"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// limits says which rules each resource of a case has. The limits are so high that they never refuse, so that the
// whole path of a passing call is measured.
type limits struct {
	flow, breaker, isolation bool
	behaviour                flow.ControlBehavior
	refuse                   bool // count 0
	regex                    bool // one flow rule whose pattern matches every name, in place of one per name
	system                   bool
}

// Tidegate returns this project's cases. Engines are as New makes them: accurate clock, all statistics.
func Tidegate() []guard.Case {
	none, reject := limits{}, limits{flow: true}
	four := limits{flow: true, breaker: true, isolation: true, system: true}
	inbound := tidegate.Call{Inbound: true}
	return []guard.Case{
		tidegateCase("no-rule", 1, none, tidegate.Call{}),
		tidegateCase("no-rule-inbound-web", 1, none, tidegate.Call{Inbound: true, Type: chain.TypeWeb}),
		tidegateUnder("no-rule-origin", tidegate.WithOrigin(context.Background(), "app")),
		tidegateUnder("no-rule-context", tidegate.WithEntrance(context.Background(), "web")),
		tidegateCase("flow-reject", 1, reject, tidegate.Call{}),
		tidegateCase("flow-reject-regex", 1, limits{flow: true, regex: true}, tidegate.Call{}),
		tidegateCase("flow-throttling", 1, limits{flow: true, behaviour: flow.Throttling}, tidegate.Call{}),
		tidegateCase("flow-warmup", 1, limits{flow: true, behaviour: flow.WarmUp}, tidegate.Call{}),
		refused(tidegateCase("blocked-by-flow-0", 1, limits{flow: true, refuse: true}, tidegate.Call{})),
		tidegateCase("breaker-error-ratio", 1, limits{breaker: true}, tidegate.Call{}),
		tidegateCase("isolation", 1, limits{isolation: true}, tidegate.Call{}),
		tidegateCase("flow+breaker+isolation+system", 1, four, inbound),
		tidegateCase("no-rule-1000-resources", 1000, none, tidegate.Call{}),
		tidegateCase("flow-reject-1000-resources", 1000, reject, tidegate.Call{}),
		tidegateCase("breaker-1000-resources", 1000, limits{breaker: true}, tidegate.Call{}),
		tidegateCase("flow+breaker+isolation+system-1000-resources", 1000, four, inbound),
		tidegateHot("hotspot-qps-1-key", 1, texts),
		tidegateHot("hotspot-qps-10k-keys", 10_000, texts),
		tidegateHot("hotspot-qps-1m-keys", 1_000_000, texts),
		tidegateHot("hotspot-qps-1m-numbers", 1_000_000, numbers),
	}
}

func refused(c guard.Case) guard.Case {
	c.Refused = true
	return c
}

func tidegateCase(name string, n int, l limits, call tidegate.Call) guard.Case {
	return guard.Case{Name: "tidegate/" + name, N: n, New: func(n int) (guard.Guard, func(), error) {
		e, stop, err := newEngine()
		if err != nil {
			return nil, nil, err
		}
		names := guard.Names("res", n)
		if err := l.load(e, names); err != nil {
			stop()
			return nil, nil, err
		}
		return entering(context.Background(), e, names, call), stop, nil
	}}
}

func tidegateUnder(name string, ctx context.Context) guard.Case { //nolint:revive // the name comes first in all rows
	return guard.Case{Name: "tidegate/" + name, New: func(n int) (guard.Guard, func(), error) {
		e, stop, err := newEngine()
		if err != nil {
			return nil, nil, err
		}
		return entering(ctx, e, guard.Names("res", n), tidegate.Call{}), stop, nil
	}}
}

func newEngine() (*tidegate.Engine, func(), error) {
	e, err := tidegate.New()
	if err != nil {
		return nil, nil, err
	}
	return e, func() { _ = e.Close() }, nil
}

func entering(ctx context.Context, e *tidegate.Engine, names []string, call tidegate.Call) guard.Guard {
	n := uint64(len(names))
	return guard.Func(func(_ int, i uint64, work func() error) error {
		entry, err := e.Enter(ctx, names[i%n], call)
		if err != nil {
			return err
		}
		err = work()
		entry.Exit(err)
		return err
	})
}

// texts are n arguments that lie scattered in memory: with a million of them, reading one takes as long as the rest.
func texts(n int) func(i uint64) tidegate.Arg {
	keys := guard.Names("key", n)
	return func(i uint64) tidegate.Arg { return tidegate.String("", keys[i%uint64(n)]) }
}

// numbers are n arguments that need no memory of their own, in an order that nothing can foresee.
func numbers(n int) func(i uint64) tidegate.Arg {
	return func(i uint64) tidegate.Arg { return tidegate.Int64("", int64(i%uint64(n)*0x9E3779B97F4A7C15>>1)) }
}

func tidegateHot(name string, n int, values func(n int) func(i uint64) tidegate.Arg) guard.Case {
	return guard.Case{Name: "tidegate/" + name, N: n, New: func(n int) (guard.Guard, func(), error) {
		e, stop, err := newEngine()
		if err != nil {
			return nil, nil, err
		}
		first := 0
		if _, err := e.ParamRules().Load(hotspot.Rule{Resource: "hot", ParamIdx: &first, Count: 1e9, ParamsMaxCapacity: 20_000}); err != nil {
			stop()
			return nil, nil, err
		}
		value, ctx := values(n), context.Background()
		return guard.Func(func(_ int, i uint64, work func() error) error {
			args := [1]tidegate.Arg{value(i)}
			entry, err := e.Enter(ctx, "hot", tidegate.Call{Args: args[:]})
			if err != nil {
				return err
			}
			err = work()
			entry.Exit(err)
			return err
		}), stop, nil
	}}
}

// load gives every name its rules; the values are those of sentinel-golang's cases.
func (l limits) load(e *tidegate.Engine, names []string) error {
	var flows []flow.Rule
	var breakers []circuitbreaker.Rule
	var permits []isolation.Rule
	wait := int64(100)
	for _, name := range names {
		flows = append(flows, flow.Rule{Resource: name, Count: 1e9, ControlBehavior: l.behaviour, MaxQueueingTimeMs: &wait})
		breakers = append(breakers, circuitbreaker.Rule{
			Resource: name, Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 3,
			MinRequestAmount: 10, StatIntervalMs: 1000, StatBucketCount: 10,
		})
		permits = append(permits, isolation.Rule{Resource: name, Count: 1e6})
	}
	switch {
	case l.regex:
		flows = []flow.Rule{{Resource: "res-[0-9]+", Regex: true, Count: 1e9}}
	case l.refuse:
		flows = []flow.Rule{{Resource: names[0], Count: 0}}
	}
	var errs []error
	note := func(_ tidegate.Report, err error) { errs = append(errs, err) }
	if l.flow {
		note(e.FlowRules().Load(flows...))
	}
	if l.breaker {
		note(e.DegradeRules().Load(breakers...))
	}
	if l.isolation {
		note(e.IsolationRules().Load(permits...))
	}
	if l.system {
		rate := 1e12
		note(e.SystemRules().Load(system.Rule{QPS: &rate}))
	}
	return errors.Join(errs...)
}
