package tidegate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

func items[R any](rules ...R) []tidegate.Item[R] {
	list := make([]tidegate.Item[R], len(rules))
	for i, r := range rules {
		list[i].Rule = r
	}
	return list
}

func TestB66PushingOneRule(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	g.FlowRules().LoadFrom("A", items(flow.Rule{Resource: "a"}))
	g.FlowRules().LoadFrom("B", items(flow.Rule{Resource: "b"}))
	g.FlowRules().LoadFrom("B", items(flow.Rule{Resource: "b", Description: "changed"}))
	g.blocked("a", tidegate.ErrFlow)
	g.blocked("b", tidegate.ErrFlow)
	if _, err := g.FlowRules().LoadResource("a"); err != nil {
		t.Error(err)
	}
	g.call("a", nil)
	g.blocked("b", tidegate.ErrFlow)
	g.FlowRules().LoadFrom("A", items(flow.Rule{Resource: "a"}))
	g.blocked("a", tidegate.ErrFlow)
}

func TestB67ReloadKeepsTheWindow(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":100}`)
	if got := g.at(100).count(50, "r") + g.at(500).count(50, "r"); got != 100 {
		t.Errorf("%d passed, want 100", got)
	}
	load(t, g.FlowRules(), `{"resource":"r","count":100}`)
	g.at(600).blocked("r", tidegate.ErrFlow)
	load(t, g.FlowRules(), `{"resource":"r","count":150}`)
	if got := g.at(700).count(60, "r"); got != 50 {
		t.Errorf("%d of 60 passed, want 50", got)
	}
	load(t, g.FlowRules())
	if got := g.at(710).count(10, "r"); got != 10 {
		t.Errorf("%d of 10 passed without a rule", got)
	}
	load(t, g.FlowRules(), `{"resource":"r","count":170}`)
	if got := g.at(720).count(60, "r"); got != 10 {
		t.Errorf("%d of 60 passed, want 10: 160 were counted", got)
	}
}

// Other windows survive a reload too: for an origin, for an entrance, a rule's own, calls in flight.
func TestReloadKeepsEveryWindow(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		"origin":      `{"resource":"r","count":%d,"limitApp":"app"}`,
		"chain":       `{"resource":"r","count":%d,"strategy":2,"refResource":"web"}`,
		"own window":  `{"resource":"r","count":%d,"statIntervalInMs":30000}`,
		"concurrency": `{"resource":"r","count":%d,"grade":0}`,
		"pattern":     `{"resource":"r.*","count":%d,"regex":true}`,
	} {
		g := newGuard(t)
		call := tidegate.Call{Origin: "app", Entrance: "web"}
		load(t, g.FlowRules(), fmt.Sprintf(rule, 2))
		g.pass("r", call)
		load(t, g.FlowRules(), fmt.Sprintf(rule, 2))
		g.pass("r", call)
		g.blocked("r", tidegate.ErrFlow, call)
		load(t, g.FlowRules(), fmt.Sprintf(rule, 3))
		g.pass("r", call)
		if entry, err := g.enter("r", call); err == nil {
			t.Errorf("%s: a fourth call passed", name)
			entry.Exit(nil)
		}
	}
}

func TestThrottleAndWarmUpSurviveAReload(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	queue := `{"resource":"q","count":1,"controlBehavior":2,"maxQueueingTimeMs":0}`
	warm := `{"resource":"w","count":100,"controlBehavior":1,"warmUpPeriodSec":10}`
	load(t, g.FlowRules(), queue, warm)
	g.at(0).call("q", nil)
	for second := range int64(12) { // warm it
		g.at(second*1000).count(100, "w")
	}
	load(t, g.FlowRules(), warm, queue, `{"resource":"x","count":1}`)
	if got := g.at(12_000).count(200, "w"); got < 90 {
		t.Errorf("%d passed, want about 100: still warm", got)
	}
	g = newStill(t)
	load(t, g.FlowRules(), queue)
	g.at(0).call("q", nil)
	load(t, g.FlowRules(), `{"resource":"x","count":1}`, queue)
	g.at(500).blocked("q", tidegate.ErrFlow)
}

func TestB68EntriesAndLoads(t *testing.T) {
	t.Parallel()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	g := guard{Engine: e, clock: newManual(), t: t}
	defer e.Close()
	ctx, stop := context.WithTimeout(t.Context(), 1200*time.Millisecond)
	defer stop()
	var slowest, yardstick, passed atomic.Int64
	note := func(in *atomic.Int64, began time.Time) {
		took := int64(time.Since(began))
		for have := in.Load(); took > have && !in.CompareAndSwap(have, took); have = in.Load() {
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { // how long the machine, busy as it is, keeps a goroutine waiting that wants nothing
		for ctx.Err() == nil {
			began := time.Now().Add(time.Millisecond)
			time.Sleep(time.Millisecond)
			note(&yardstick, began)
		}
	})
	for w := range 64 {
		wg.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				name := fmt.Sprint("r", i%100)
				call := tidegate.Call{
					Inbound: i%3 == 0, Count: i % 3, Prioritized: false, Origin: []string{"", "app", "other"}[i%3],
					Args: []tidegate.Arg{tidegate.Int("n", i%7)},
				}
				if i%8 == 0 {
					time.Sleep(10 * time.Millisecond) // leaves the machine idle, so that waiting shows
				}
				began := time.Now()
				entry, err := e.Enter(ctx, name, call)
				note(&slowest, began)
				if err != nil {
					continue
				}
				passed.Add(1)
				if i%5 == 0 {
					entry.SetError(errCall)
				}
				entry.Exit(nil)
			}
		})
	}
	for w := range 4 {
		wg.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				loadAll(t, e, i)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	wg.Wait()
	if passed.Load() == 0 {
		t.Error("no call passed")
	}
	limit := 100*time.Millisecond + 2*time.Duration(yardstick.Load())
	if raceEnabled {
		limit *= 10
	}
	if time.Duration(slowest.Load()) > limit {
		t.Errorf("a call took %v, want at most %v", time.Duration(slowest.Load()), limit)
	}
	g.idle()
	if n := e.Counters().InternalErrors; n != 0 {
		t.Errorf("%d internal errors", n)
	}
	loadAll(t, e, 0) // the engine still takes rules
}

// loadAll loads rules of several kinds on many resources, different ones each time.
func loadAll(t *testing.T, e *tidegate.Engine, i int) {
	t.Helper()
	var flows []flow.Rule
	var breakers []circuitbreaker.Rule
	var isolated []isolation.Rule
	var params []hotspot.Rule
	none := int64(0)
	for r := range 100 {
		name := fmt.Sprint("r", r)
		switch (r + i) % 7 {
		case 0:
			flows = append(flows, flow.Rule{Resource: name, Count: 1e6}, flow.Rule{Resource: name, Count: 3, Grade: flow.GradeConcurrency})
		case 1:
			flows = append(flows, flow.Rule{Resource: name, Count: 1e6, ControlBehavior: flow.Throttling, MaxQueueingTimeMs: &none})
		case 2:
			flows = append(flows, flow.Rule{Resource: name, Count: 1e5, ControlBehavior: flow.WarmUp}, flow.Rule{Resource: name, Count: 10, LimitApp: "app"})
		case 3:
			breakers = append(breakers, circuitbreaker.Rule{Resource: name, Grade: circuitbreaker.ErrorRatio, Count: 0.3, TimeWindow: 1 + i%2})
		case 4:
			isolated = append(isolated, isolation.Rule{Resource: name, Count: int64(2 + i%2)})
		case 5:
			params = append(params, hotspot.Rule{Resource: name, ParamIdx: &zero, Count: 1000})
		default:
			flows = append(flows, flow.Rule{Resource: name, Count: 100, Strategy: flow.StrategyRelate, RefResource: "r0"}, flow.Rule{Resource: name, Count: 1e5, StatIntervalInMs: 2000})
		}
	}
	if i%5 == 0 {
		flows = append(flows, flow.Rule{Resource: "r[0-9]", Regex: true, Count: 1e6})
	}
	for _, load := range []func() error{
		func() error { _, err := e.FlowRules().Load(flows...); return err },
		func() error { _, err := e.DegradeRules().Load(breakers...); return err },
		func() error { _, err := e.IsolationRules().Load(isolated...); return err },
		func() error { _, err := e.ParamRules().Load(params...); return err },
		func() error { _, err := e.SystemRules().Load(systemRules(i)...); return err },
	} {
		if err := load(); err != nil {
			t.Error(err)
		}
	}
}

var zero = 0

func systemRules(i int) []system.Rule {
	if i%2 == 0 {
		return nil
	}
	most := 1e6
	return []system.Rule{{QPS: &most}}
}

// What a rule says survives every hop from a rule to JSON and back.
func TestB71RatioSurvives(t *testing.T) {
	t.Parallel()
	ratio := 0.25
	rule := circuitbreaker.Rule{
		Resource: "r", Count: 50, TimeWindow: 5, SlowRatioThreshold: &ratio, MinRequestAmount: 7, StatIntervalMs: 30_000,
	}
	g := newGuard(t)
	for hop := range 3 {
		if _, err := g.DegradeRules().Load(rule); err != nil {
			t.Fatal(err)
		}
		in := g.DegradeRules().Rules()[0]
		if *in.SlowRatioThreshold != 0.25 || in.MinRequestAmount != 7 || in.StatIntervalMs != 30_000 {
			t.Errorf("hop %d: in force %+v", hop, in)
		}
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		rule = circuitbreaker.Rule{}
		if err := json.Unmarshal(text, &rule); err != nil {
			t.Fatal(err)
		}
		if !rule.Equal(in) {
			t.Errorf("hop %d: %s reads as %+v", hop, text, rule)
		}
	}
}
