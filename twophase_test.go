package tidegate_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// laterRule refuses calls after all other checks, while it is on.
func laterRule(on *atomic.Bool) tidegate.Option {
	return tidegate.WithCheck(check{"later", 100, func(*chain.Context) error {
		if on.Load() {
			return errors.New("refused by a later rule")
		}
		return nil
	}})
}

// capacity makes calls and holds them until one is refused.
func (g guard) capacity(call tidegate.Call) (n int) {
	g.t.Helper()
	var entries []tidegate.Entry
	for range 1000 {
		entry, err := g.enter("r", call)
		if err != nil {
			break
		}
		entries = append(entries, entry)
	}
	for _, entry := range entries {
		entry.Exit(nil)
	}
	return len(entries)
}

type twoPhaseCase struct {
	flow, isolation, param string
	prepare                int // calls before
	at                     int64
}

func twoPhaseCases() map[string]twoPhaseCase {
	return map[string]twoPhaseCase{
		"reject":              {flow: `{"resource":"r","count":5}`},
		"below one":           {flow: `{"resource":"r","count":0.5}`},
		"own window":          {flow: `{"resource":"r","count":5,"statIntervalInMs":10000}`},
		"own window below 1":  {flow: `{"resource":"r","count":0.5,"statIntervalInMs":10000}`},
		"concurrency":         {flow: `{"resource":"r","count":5,"grade":0}`},
		"warm-up":             {flow: `{"resource":"r","count":30,"controlBehavior":1}`},
		"throttling":          {flow: `{"resource":"r","count":10,"controlBehavior":2,"maxQueueingTimeMs":500}`},
		"warm-up throttling":  {flow: `{"resource":"r","count":10,"controlBehavior":3,"maxQueueingTimeMs":500}`},
		"origin":              {flow: `{"resource":"r","count":5,"limitApp":"app"}`},
		"other":               {flow: `{"resource":"r","count":5,"limitApp":"other"}`},
		"chain":               {flow: `{"resource":"r","count":5,"strategy":2,"refResource":"web"}`},
		"origin, calls":       {flow: `{"resource":"r","count":5,"limitApp":"app","grade":0}`},
		"isolation":           {isolation: `{"resource":"r","count":5}`},
		"parameter":           {param: `{"resource":"r","paramIdx":0,"count":5}`},
		"parameter, calls":    {param: `{"resource":"r","paramIdx":0,"count":5,"grade":0}`},
		"parameter, throttle": {param: `{"resource":"r","paramIdx":0,"count":10,"controlBehavior":2,"maxQueueingTimeMs":500}`},
		"borrowed":            {flow: `{"resource":"r","count":5}`, prepare: 5, at: 600},
	}
}

func (c twoPhaseCase) load(t *testing.T, g guard) {
	t.Helper()
	if c.flow != "" {
		load(t, g.FlowRules(), c.flow)
	}
	if c.isolation != "" {
		load(t, g.IsolationRules(), c.isolation)
	}
	if c.param != "" {
		load(t, g.ParamRules(), c.param)
	}
}

func (c twoPhaseCase) call() tidegate.Call {
	return tidegate.Call{
		Inbound: true, Prioritized: c.prepare > 0, Origin: "app", Entrance: "web",
		Args: []tidegate.Arg{tidegate.String("", "a")},
	}
}

// Calls that a later rule refuses leave the capacity of the earlier one as it was.
func TestNothingIsChargedForARefusedCall(t *testing.T) {
	t.Parallel()
	for name, c := range twoPhaseCases() {
		var capacities [2]int
		for i, refused := range []int{0, 50} {
			var on atomic.Bool
			g := newStill(t, laterRule(&on))
			c.load(t, g)
			g.at(0).count(c.prepare, "r", c.call())
			g.at(c.at)
			on.Store(true)
			for range refused {
				g.blocked("r", tidegate.ErrCustom, c.call())
			}
			on.Store(false)
			capacities[i] = g.capacity(c.call())
			g.idle()
		}
		if capacities[0] == 0 || capacities[0] == 1000 || capacities[0] != capacities[1] {
			t.Errorf("%s: %d calls pass, after 50 refused ones %d", name, capacities[0], capacities[1])
		}
	}
}

// leaving is a clock whose waiters give up, while it is on.
type leaving struct {
	still
	on atomic.Bool
}

func (l *leaving) Wait(ctx context.Context, d time.Duration) error {
	if l.on.Load() {
		return context.Canceled
	}
	return l.still.Wait(ctx, d)
}

// Callers that leave while they wait give back their place and everything else that was reserved for them.
func TestCancelledWaitsGiveEverythingBack(t *testing.T) {
	t.Parallel()
	queue := `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":60000}`
	for name, c := range twoPhaseCases() {
		var capacities [2]int
		for i, left := range []int{0, 50} {
			clock := &leaving{still: still{manual: newManual()}}
			g := newGuardWith(t, clock, clock.manual)
			c.load(t, g)
			g.at(0).count(c.prepare, "r", c.call())
			g.at(c.at)
			if c.flow != "" {
				load(t, g.FlowRules(), c.flow, queue)
			} else {
				load(t, g.FlowRules(), queue)
			}
			g.count(1, "r", tidegate.Call{Free: true})
			first := g.pass("r", c.call()) // takes the queue's head
			first.Exit(nil)
			clock.on.Store(true)
			for range left {
				entry, err := g.enter("r", c.call())
				if err == nil || entry.Open() {
					t.Errorf("%s: a caller that left got in", name)
				}
				if !errors.Is(err, tidegate.ErrBlocked) {
					t.Errorf("%s: %v", name, err)
				}
			}
			clock.on.Store(false)
			load(t, g.FlowRules(), queue)
			c.load(t, g)
			capacities[i] = g.capacity(c.call())
			if s := g.stats("r"); s.Waiting < 0 || s.TotalPass < 0 || s.TotalOccupied < 0 {
				t.Errorf("%s: %+v", name, s)
			}
			g.idle()
		}
		if capacities[0] == 1000 || capacities[0] != capacities[1] {
			t.Errorf("%s: %d calls pass, after 50 whose callers left %d", name, capacities[0], capacities[1])
		}
	}
}

// A call waits once, for the latest of the places it reserved.
func TestWaitsAreNotAdded(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":60000}`,
		`{"resource":"r","count":2,"controlBehavior":2,"maxQueueingTimeMs":60000}`, `{"resource":"r","count":0.5,"controlBehavior":2,"maxQueueingTimeMs":60000}`)
	for i := range 3 {
		entry := g.pass("r")
		if want := time.Duration(i) * 2 * time.Second; entry.Waited() != want {
			t.Errorf("call %d waited %v, want %v", i, entry.Waited(), want)
		}
		entry.Exit(nil)
	}
}

func TestPriorityWaitCountsOnEveryNode(t *testing.T) {
	t.Parallel()
	g := newGuard(t) // waiting moves the clock
	load(t, g.FlowRules(), `{"resource":"r","count":5}`)
	call := tidegate.Call{Inbound: true, Origin: "app", Entrance: "web", Prioritized: true}
	g.at(0).count(5, "r", call)
	entry := g.at(700).pass("r", call)
	if entry.Waited() != 300*time.Millisecond {
		t.Errorf("waited %v, want 300 ms", entry.Waited())
	}
	for name, get := range map[string]func() (tidegate.Snapshot, bool){
		"resource": func() (tidegate.Snapshot, bool) { return g.ResourceStats("r") },
		"context":  func() (tidegate.Snapshot, bool) { return g.ContextStats("r", "web") },
		"origin":   func() (tidegate.Snapshot, bool) { return g.OriginStats("r", "app") },
		"inbound":  func() (tidegate.Snapshot, bool) { return g.InboundStats(), true },
	} {
		s, _ := get()
		if s.PassQPS != 1 || s.TotalPass != 6 || s.TotalOccupied != 1 || s.Active != 1 || s.Waiting != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if got := g.count(10, "r"); got != 4 {
		t.Errorf("%d more passed, want 4: one place was borrowed", got)
	}
	entry.Exit(nil)
	if s := g.stats("r"); s.AvgRT != 300/5.0 {
		t.Errorf("average response time %v, want the wait in it", s.AvgRT)
	}
	g.idle()
}

// The place that a call borrowed counts in its bucket, whoever uses the resource then.
func TestBorrowedPlaceIsNotForgotten(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":5}`)
	g.at(0).count(5, "r")
	entry := g.at(700).pass("r", tidegate.Call{Prioritized: true}) // waits until +1000
	g.at(1_200)
	entry.Exit(nil) // nobody else comes before the next bucket
	if got := g.at(1_600).count(10, "r"); got != 4 {
		t.Errorf("%d passed, want 4", got)
	}
}

// Limits that no call may exceed hold also where another rule counts the same window.
func TestEveryRuleCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules []string
		want  int // of 100 calls in each of ten seconds
	}{
		{[]string{`{"resource":"r","count":10}`, `{"resource":"r","count":0.5}`}, 5},
		{[]string{`{"resource":"r","count":0.5}`, `{"resource":"r","count":10}`}, 5},
		{[]string{`{"resource":"r","count":0.5}`, `{"resource":"r","count":0.2}`}, 2},
		{[]string{`{"resource":"r","count":0.2}`, `{"resource":"r","count":0.5}`}, 2},
		{[]string{`{"resource":"r","count":7}`, `{"resource":"r","count":3}`}, 30},
		{[]string{`{"resource":"r","count":3}`, `{"resource":"r","count":7}`}, 30},
		{[]string{`{"resource":"r","count":3.9}`, `{"resource":"r","count":1.5}`}, 10},
		{[]string{`{"resource":"r","count":10}`, `{"resource":"r","count":15,"statIntervalInMs":20000}`}, 15},
		{[]string{`{"resource":"r","count":3,"controlBehavior":1,"warmUpPeriodSec":1}`, `{"resource":"r","count":2}`}, 19}, // the first second is cold
		{[]string{`{"resource":"r","count":10}`, `{"resource":"r","count":4,"limitApp":"app"}`, `{"resource":"r","count":3,"strategy":2,"refResource":"web"}`}, 30},
		{[]string{`{"resource":"r","count":10}`, `{"resource":"r","count":0.5,"limitApp":"app"}`}, 5},
		{[]string{`{"resource":"r","count":10}`, `{"resource":"r.*","regex":true,"count":2}`}, 20},
		{[]string{`{"resource":"r","count":10,"mode":"observe"}`, `{"resource":"r","count":0.5}`}, 5},
	} {
		g := newStill(t)
		load(t, g.FlowRules(), c.rules...)
		passed := 0
		for second := range int64(10) {
			passed += g.at(second*1000).count(100, "r", tidegate.Call{Origin: "app", Entrance: "web"})
		}
		if passed != c.want {
			t.Errorf("%v: %d passed, want %d", c.rules, passed, c.want)
		}
	}
}

// Borrowing belongs to rules that simply reject; a warm-up rule refuses what exceeds its limit.
func TestNoBorrowingUnderWarmUp(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		`{"resource":"r","count":30,"controlBehavior":1}`,
		`{"resource":"r","count":5,"statIntervalInMs":1000}`,
		`{"resource":"r","count":5,"grade":0}`,
		`{"resource":"r","count":0}`,
		`{"resource":"r","count":0.5}`,
	} {
		g := newStill(t)
		load(t, g.FlowRules(), rule)
		var held []tidegate.Entry
		for range 100 {
			if entry, err := g.at(0).enter("r"); err == nil {
				held = append(held, entry)
			}
		}
		g.at(700).blocked("r", tidegate.ErrFlow, tidegate.Call{Prioritized: true})
		for _, entry := range held {
			entry.Exit(nil)
		}
	}
}
