//go:build !race

package tidegate_test

import (
	"context"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

// pathCase is one way that a call can take through the engine.
type pathCase struct {
	flow, isolation, degrade, param, system []string
	call                                    tidegate.Call
	prepare                                 func(g guard) // beforehand
	blocked                                 bool
	observe                                 bool // globally
}

func pathCases() map[string]pathCase {
	one := func(rule string) []string { return []string{rule} }
	origin, web := tidegate.Call{Origin: "app"}, tidegate.Call{Entrance: "web"}
	four := tidegate.Call{Args: []tidegate.Arg{
		tidegate.String("a", "x"), tidegate.Int("b", 1), tidegate.Float64("c", 1), tidegate.Bool("d", true),
	}}
	related := func(g guard) { g.call("other", nil) }
	held := func(g guard) { g.pass("r") }
	used := func(g guard) { g.call("r", nil) }
	failed := func(g guard) { g.call("r", errCall) }
	return map[string]pathCase{
		"no rule":                       {},
		"no rule, inbound, origin":      {call: tidegate.Call{Inbound: true, Origin: "app", Entrance: "web"}},
		"no rule, four arguments":       {call: four},
		"reject, passing":               {flow: one(`{"resource":"r","count":1e12}`)},
		"reject, refused":               {flow: one(`{"resource":"r","count":0}`), blocked: true},
		"reject, full":                  {flow: one(`{"resource":"r","count":1}`), prepare: used, blocked: true},
		"reject, two rules":             {flow: []string{`{"resource":"r","count":1e12}`, `{"resource":"r","count":2e12}`}},
		"reject, three units":           {flow: one(`{"resource":"r","count":1e12}`), call: tidegate.Call{Count: 3}},
		"below one, refused":            {flow: one(`{"resource":"r","count":0.1}`), prepare: used, blocked: true},
		"own window, passing":           {flow: one(`{"resource":"r","count":1e12,"statIntervalInMs":5000}`)},
		"own window, refused":           {flow: one(`{"resource":"r","count":1,"statIntervalInMs":5000}`), prepare: used, blocked: true},
		"concurrency, passing":          {flow: one(`{"resource":"r","count":10,"grade":0}`)},
		"concurrency, refused":          {flow: one(`{"resource":"r","count":1,"grade":0}`), prepare: held, blocked: true},
		"warm-up, passing":              {flow: one(`{"resource":"r","count":1e12,"controlBehavior":1}`)},
		"warm-up, refused":              {flow: one(`{"resource":"r","count":3,"controlBehavior":1}`), prepare: used, blocked: true},
		"throttling, passing":           {flow: one(`{"resource":"r","count":1e12,"controlBehavior":2}`)},
		"throttling, refused":           {flow: one(`{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":0}`), prepare: used, blocked: true},
		"warm-up throttling, passing":   {flow: one(`{"resource":"r","count":1e12,"controlBehavior":3}`)},
		"warm-up throttling, refused":   {flow: one(`{"resource":"r","count":1,"controlBehavior":3,"maxQueueingTimeMs":0}`), prepare: used, blocked: true},
		"relate, passing":               {flow: one(`{"resource":"r","count":5,"strategy":1,"refResource":"other"}`), prepare: related},
		"relate, refused":               {flow: one(`{"resource":"r","count":1,"strategy":1,"refResource":"other"}`), prepare: related, blocked: true},
		"chain, passing":                {flow: one(`{"resource":"r","count":1e12,"strategy":2,"refResource":"web"}`), call: web},
		"chain, refused":                {flow: one(`{"resource":"r","count":0,"strategy":2,"refResource":"web"}`), call: web, blocked: true},
		"origin, passing":               {flow: one(`{"resource":"r","count":1e12,"limitApp":"app"}`), call: origin},
		"origin, refused":               {flow: one(`{"resource":"r","count":0,"limitApp":"app"}`), call: origin, blocked: true},
		"other, passing":                {flow: []string{`{"resource":"r","count":1e12,"limitApp":"other"}`, `{"resource":"r","count":0,"limitApp":"x"}`}, call: origin},
		"other, refused":                {flow: one(`{"resource":"r","count":0,"limitApp":"other"}`), call: origin, blocked: true},
		"pattern, passing":              {flow: one(`{"resource":"r|s","regex":true,"count":1e12}`)},
		"pattern, refused":              {flow: one(`{"resource":"r|s","regex":true,"count":0}`), blocked: true},
		"isolation, passing":            {isolation: one(`{"resource":"r","count":10}`)},
		"isolation, refused":            {isolation: one(`{"resource":"r","count":1}`), prepare: held, blocked: true},
		"isolation, two rules":          {isolation: []string{`{"resource":"r","count":10}`, `{"resource":"r","count":20}`}},
		"breaker, passing":              {degrade: one(`{"resource":"r","grade":1,"count":0.5,"timeWindow":10}`)},
		"breaker, several buckets":      {degrade: one(`{"resource":"r","grade":1,"count":0.5,"timeWindow":10,"statBucketCount":10}`)},
		"breaker, open":                 {degrade: one(tripsAtOnce), prepare: failed, blocked: true},
		"default breaker, passing":      {degrade: one(`{"resource":"*","grade":0,"count":10,"timeWindow":10}`)},
		"observed reject":               {flow: one(`{"resource":"r","count":0,"mode":"observe"}`)},
		"observed throttling":           {flow: one(`{"resource":"r","count":1,"controlBehavior":2,"mode":"observe"}`), prepare: used},
		"observed isolation":            {isolation: one(`{"resource":"r","count":0,"mode":"observe"}`)},
		"observed breaker":              {degrade: one(tripsAtOnce[:len(tripsAtOnce)-1] + `,"mode":"observe"}`), prepare: failed},
		"global observe":                {flow: one(`{"resource":"r","count":0}`), isolation: one(`{"resource":"r","count":0}`), observe: true},
		"refused by the second rule":    {flow: []string{`{"resource":"r","count":1e12}`, `{"resource":"r","count":0,"limitApp":"app"}`}, isolation: one(`{"resource":"r","count":9}`), call: origin, blocked: true},
		"isolation after a reservation": {flow: one(`{"resource":"r","count":1e12}`), isolation: one(`{"resource":"r","count":0}`), blocked: true},
		"parameter, passing":            {param: one(`{"resource":"r","paramIdx":0,"count":1e12}`), call: four},
		"parameter, refused":            {param: one(`{"resource":"r","paramIdx":0,"count":0}`), call: four, blocked: true},
		"parameter, concurrency":        {param: one(`{"resource":"r","paramKey":"b","count":5,"grade":0}`), call: four},
		"four kinds, inbound": {
			flow: one(`{"resource":"r","count":1e12}`), isolation: one(`{"resource":"r","count":1000}`), call: tidegate.Call{Inbound: true},
			degrade: one(`{"resource":"r","grade":1,"count":0.5,"timeWindow":10}`), system: one(`{"qps":1e12}`),
		},
	}
}

func TestEnterAllocs(t *testing.T) { // not parallel: it counts allocations
	for name, c := range pathCases() {
		t.Run(name, func(t *testing.T) {
			g := newGuard(t)
			load(t, g.FlowRules(), c.flow...)
			load(t, g.IsolationRules(), c.isolation...)
			load(t, g.DegradeRules(), c.degrade...)
			load(t, g.SystemRules(), c.system...)
			load(t, g.ParamRules(), c.param...)
			g.SetObserve(c.observe)
			if c.prepare != nil {
				c.prepare(g)
			}
			ctx, wrong := context.Background(), 0
			if n := alloctest.Count(func() {
				entry, err := g.Enter(ctx, "r", c.call)
				if (err != nil) != c.blocked {
					wrong++
				}
				entry.Exit(nil)
			}); n != 0 {
				t.Errorf("%v allocations in 100 calls, want 0", n)
			}
			if wrong > 1 { // the first may prepare the rule
				t.Errorf("%d calls did not take the path", wrong)
			}
		})
	}
}

// Time that moves, errors at exit, and a context that carries origin and entrance.
func TestEnterAllocsOverTime(t *testing.T) { // not parallel: it counts allocations
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":100}`, `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":0,"limitApp":"app"}`,
		`{"resource":"slow","count":0.9}`)
	load(t, g.DegradeRules(), `{"resource":"r","grade":1,"count":1,"timeWindow":10,"minRequestAmount":100}`)
	ctx := tidegate.WithOrigin(tidegate.WithEntrance(context.Background(), "web"), "app")
	call := func() {
		g.clock.Advance(350e6)
		entry, _ := g.Enter(ctx, "r", tidegate.Call{Inbound: true})
		entry.SetError(errCall)
		entry.Exit(nil)
		entry, _ = g.Enter(ctx, "slow", tidegate.Call{})
		entry.Exit(nil)
	}
	for range 400 { // fills the minute
		call()
	}
	if n := alloctest.Count(call); n != 0 {
		t.Errorf("%v allocations in 100 calls, want 0", n)
	}
}

func TestExitAllocs(t *testing.T) { // not parallel: it counts allocations
	g := newGuard(t)
	stale := g.pass("r")
	stale.Exit(nil)
	var zero tidegate.Entry
	if n := alloctest.Count(func() {
		stale.Exit(errCall)
		stale.SetError(errCall)
		zero.Exit(errCall)
		_ = stale.Waited()
		_ = stale.Open()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestRefusalAllocs(t *testing.T) { // not parallel: it counts allocations
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":0}`)
	if n := alloctest.Count(func() {
		_, err := g.enter("r")
		if !isFlow(err) {
			t.Error("not refused by a flow rule")
		}
	}); n != 0 {
		t.Errorf("%v allocations to see why a call was refused, want 0", n)
	}
}

func isFlow(err error) bool {
	blocked, ok := err.(*tidegate.BlockError) //nolint:errorlint // what Enter returns
	return ok && blocked.Is(tidegate.ErrFlow) && blocked.Is(tidegate.ErrBlocked)
}

func TestSwitchedOffAllocs(t *testing.T) { // not parallel: it counts allocations
	g := newGuard(t)
	g.SetEnabled(false)
	if n := alloctest.Count(func() { g.call("r", nil) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Calls that wait allocate nothing either, where the context cannot end meanwhile.
func TestWaitAllocs(t *testing.T) { // not parallel: it counts allocations
	for name, perSecond := range map[string]float64{"shorter than parking takes": 1e7, "longer": 2e4} {
		t.Run(name, func(t *testing.T) {
			e := paced(t, perSecond)
			waited := 0
			if n := alloctest.Count(func() {
				entry, err := e.Enter(context.Background(), "r", tidegate.Call{})
				if err != nil {
					t.Error(err)
				}
				if entry.Waited() > 0 {
					waited++
				}
				entry.Exit(nil)
			}); n != 0 {
				t.Errorf("%v allocations in 100 calls, want 0", n)
			}
			if perSecond < 1e6 && waited < 100 {
				t.Errorf("%d calls waited", waited)
			}
		})
	}
}
