package peers

import (
	"errors"
	"os"

	sentinel "github.com/alibaba/sentinel-golang/api"
	"github.com/alibaba/sentinel-golang/core/base"
	"github.com/alibaba/sentinel-golang/core/circuitbreaker"
	"github.com/alibaba/sentinel-golang/core/config"
	"github.com/alibaba/sentinel-golang/core/flow"
	"github.com/alibaba/sentinel-golang/core/hotspot"
	"github.com/alibaba/sentinel-golang/core/isolation"
	"github.com/alibaba/sentinel-golang/core/stat"
	"github.com/alibaba/sentinel-golang/core/system"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

// rival is one set-up of sentinel-golang, whose state belongs to the process.
type rival struct {
	label  string
	cached bool // reads a clock that a goroutine of its own sets every millisecond
}

// golangRules are the rules of one case.
type golangRules struct {
	flow      *flow.Rule
	breaker   bool
	isolation bool
	hotspot   bool
	system    bool
}

// sentinelCases returns the cases of sentinel-golang: all with its default clock, and again with its cached clock.
// A process can set up only one of the two.
func sentinelCases() []guard.Case {
	return append(rival{label: "sentinel-go"}.cases(), rival{label: "sentinel-go-cached", cached: true}.cases()...)
}

func (r rival) cases() []guard.Case {
	reject := golangRules{flow: &flow.Rule{Threshold: 1e9}}
	four := golangRules{flow: &flow.Rule{Threshold: 1e9}, breaker: true, isolation: true, system: true}
	inbound := []sentinel.EntryOption{sentinel.WithResourceType(base.ResTypeWeb), sentinel.WithTrafficType(base.Inbound)}
	return []guard.Case{
		r.entering("no-rule", 1, golangRules{}),
		r.entering("no-rule-inbound-web", 1, golangRules{}, inbound...),
		r.entering("flow-reject", 1, reject),
		r.entering("flow-throttling", 1, golangRules{flow: &flow.Rule{
			Threshold: 1e9, ControlBehavior: flow.Throttling, MaxQueueingTimeMs: 100,
		}}),
		r.entering("flow-warmup", 1, golangRules{flow: &flow.Rule{
			Threshold: 1e9, TokenCalculateStrategy: flow.WarmUp, WarmUpPeriodSec: 10, WarmUpColdFactor: 3,
		}}),
		refused(r.entering("blocked-by-flow-0", 1, golangRules{flow: &flow.Rule{Threshold: 0}})),
		r.entering("breaker-error-ratio", 1, golangRules{breaker: true}),
		r.entering("isolation", 1, golangRules{isolation: true}),
		r.entering("flow+breaker+isolation+system", 1, four, inbound...),
		r.entering("no-rule-1000-resources", 1000, golangRules{}),
		r.entering("flow-reject-1000-resources", 1000, reject),
		r.entering("breaker-1000-resources", 1000, golangRules{breaker: true}),
		r.entering("flow+breaker+isolation+system-1000-resources", 1000, four, inbound...),
		r.hot("hotspot-qps-1-key", 1),
		r.hot("hotspot-qps-10k-keys", 10_000),
	}
}

func (r rival) entering(name string, n int, rules golangRules, options ...sentinel.EntryOption) guard.Case {
	return r.make(name, n, func(n int) (guard.Guard, error) {
		names := guard.Names("res", n)
		size := uint64(n)
		return guard.Func(func(_ int, i uint64, work func() error) error {
			return enterGolang(names[i%size], work, options...)
		}), rules.load(names)
	})
}

func (r rival) hot(name string, n int) guard.Case {
	return r.make(name, n, func(n int) (guard.Guard, error) {
		keys := guard.Names("key", n)
		size := uint64(n)
		return guard.Func(func(_ int, i uint64, work func() error) error {
			return enterGolang("hot", work, sentinel.WithArgs(keys[i%size]))
		}), golangRules{hotspot: true}.load([]string{"hot"})
	})
}

func enterGolang(name string, work func() error, options ...sentinel.EntryOption) error {
	entry, blocked := sentinel.Entry(name, options...)
	if blocked != nil {
		return blocked
	}
	err := work()
	if err != nil {
		sentinel.TraceError(entry, err)
	}
	entry.Exit()
	return err
}

// make wraps the set-up of the process around a case. Its files go to a temporary directory; all else is default.
func (r rival) make(name string, n int, build func(n int) (guard.Guard, error)) guard.Case {
	return guard.Case{Name: r.label + "/" + name, N: n, Exclusive: true, New: func(n int) (guard.Guard, func(), error) {
		dir, err := os.MkdirTemp("", "sentinel")
		if err != nil {
			return nil, nil, err
		}
		c := config.NewDefaultConfig()
		c.Sentinel.Log.Dir = dir
		c.Sentinel.UseCacheTime = r.cached
		stop := func() {
			_ = golangRules{}.load(nil)
			stat.ResetResourceNodeMap()
			_ = os.RemoveAll(dir)
		}
		if err := sentinel.InitWithConfig(c); err != nil {
			stop()
			return nil, nil, err
		}
		g, err := build(n)
		return g, stop, err
	}}
}

func (rules golangRules) load(names []string) error {
	var flows []*flow.Rule
	var breakers []*circuitbreaker.Rule
	var permits []*isolation.Rule
	var params []*hotspot.Rule
	var systems []*system.Rule
	for _, name := range names {
		if rules.flow != nil {
			own := *rules.flow
			own.Resource = name
			flows = append(flows, &own)
		}
		if rules.breaker {
			breakers = append(breakers, &circuitbreaker.Rule{
				Resource: name, Strategy: circuitbreaker.ErrorRatio, Threshold: 0.5,
				RetryTimeoutMs: 3000, MinRequestAmount: 10, StatIntervalMs: 1000, StatSlidingWindowBucketCount: 10,
			})
		}
		if rules.isolation {
			permits = append(permits, &isolation.Rule{Resource: name, Threshold: 1e6})
		}
		if rules.hotspot {
			params = append(params, &hotspot.Rule{
				Resource: name, MetricType: hotspot.QPS, ControlBehavior: hotspot.Reject,
				Threshold: 1e9, DurationInSec: 1, ParamsMaxCapacity: 20_000,
			})
		}
	}
	if rules.system {
		systems = append(systems, &system.Rule{MetricType: system.InboundQPS, TriggerCount: 1e12, Strategy: system.NoAdaptive})
	}
	_, flowErr := flow.LoadRules(flows)
	_, breakerErr := circuitbreaker.LoadRules(breakers)
	_, permitErr := isolation.LoadRules(permits)
	_, paramErr := hotspot.LoadRules(params)
	_, systemErr := system.LoadRules(systems)
	return errors.Join(flowErr, breakerErr, permitErr, paramErr, systemErr)
}

func refused(c guard.Case) guard.Case {
	c.Refused = true
	return c
}
