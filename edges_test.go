package tidegate_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// moving: waits move the clock.
type gateClock struct {
	*manual
	entered chan time.Duration
	release chan struct{}
}

func (s *gateClock) Wait(ctx context.Context, d time.Duration) error {
	s.entered <- d
	select {
	case <-s.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newGated(t *testing.T, o ...tidegate.Option) (guard, *gateClock) {
	c := &gateClock{manual: newManual(), entered: make(chan time.Duration, 100), release: make(chan struct{})}
	return newGuardWith(t, c, c.manual, o...), c
}

// a call that borrows by one rule is counted in the current bucket by the next rule.
func TestEdgeBorrowSecondRule(t *testing.T) {
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"r","count":5,"limitApp":"app"}`, `{"resource":"r","count":10}`)
	app := tidegate.Call{Origin: "app"}
	pri := tidegate.Call{Origin: "app", Prioritized: true}
	t.Log("t=0", g.at(0).count(5, "r", app))
	t.Log("t=600", g.at(600).count(5, "r", pri), "run at 1000")
	g.at(1000)
	a := g.count(20, "r")
	g.at(1500)
	b := g.count(20, "r")
	t.Log("1000:", a, "1500:", b, "PassQPS", g.stats("r").PassQPS)
	if 5+a+b > 10 {
		t.Errorf("%d ran in [1000,2000), limit 10", 5+a+b)
	}
}

// nobody looks at the window while the borrowed bucket is current.
func TestEdgeLoanForgotten(t *testing.T) {
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"r","count":10}`)
	g.at(0).count(10, "r")
	g.at(600)
	var e []tidegate.Entry
	for range 10 {
		e = append(e, g.pass("r", tidegate.Call{Prioritized: true}))
	}
	n := g.at(1500).count(20, "r")
	if 10+n > 10 {
		t.Errorf("%d ran in [1000,2000), limit 10", 10+n)
	}
	_ = e
}

// cancel after the bucket
func TestEdgeLateCancel(t *testing.T) {
	g, c := newGated(t)
	load(t, g.FlowRules(), `{"resource":"r","count":10}`)
	g.at(0).count(10, "r")
	g.at(600)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	for range 10 {
		go func() {
			_, err := g.Enter(ctx, "r", tidegate.Call{Prioritized: true})
			done <- err
		}()
		<-c.entered
	}
	first := g.at(1500).count(1, "r")
	cancel()
	for range 10 {
		if <-done == nil {
			t.Error("passed")
		}
	}
	n := first + g.count(100, "r")
	if n > 10 {
		t.Errorf("%d pass at 1500, limit 10", n)
	}
	if n2 := n + g.at(2000).count(100, "r"); n2 > 10 {
		t.Errorf("%d pass in [1500,2500), limit 10", n2)
	}
}

// settling gate ends while a permit holder waits
func TestEdgeGateSettlesWithWaiter(t *testing.T) {
	g, c := newGated(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":2}`, `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":10000}`)
	g.call("r", nil)
	type res struct {
		e   tidegate.Entry
		err error
	}
	got := make(chan res)
	go func() { e, err := g.enter("r"); got <- res{e, err} }() // waits 1 s holding a permit
	<-c.entered
	must(t, g.FlowRules().Load)
	b1, b2 := g.pass("r"), g.pass("r") // no rule
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":2}`)
	var held []tidegate.Entry
	for range 10 {
		if e, err := g.enter("r"); err == nil {
			held = append(held, e)
		}
	}
	if len(held) > 0 {
		t.Errorf("%d more admitted with 2 in flight and count 2", len(held))
	}
	close(c.release)
	r := <-got
	t.Log("in flight", g.stats("r").Active)
	for _, e := range append(held, b1, b2, r.e) {
		e.Exit(nil)
	}
	g.idle()
}

// a waiter admitted before the rule is never counted
func TestEdgeGateForgetsWaiter(t *testing.T) {
	g, c := newGated(t)
	throttle := `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":10000}`
	load(t, g.FlowRules(), throttle)
	g.call("r", nil)
	got := make(chan tidegate.Entry)
	go func() { e, _ := g.enter("r"); got <- e }()
	<-c.entered
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":1}`)
	g.call("r", nil) // ends the settling
	close(c.release)
	waiter := <-got
	if e, err := g.enter("r"); err == nil {
		t.Errorf("admitted with %d in flight and count 1", g.stats("r").Active-1)
		e.Exit(nil)
	}
	waiter.Exit(nil)
	g.idle()
}

// isolation, same with an old plan
func TestEdgeIsolationOldPlan(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	first := true
	g := newGuard(t, tidegate.WithCheck(check{"slow", chain.OrderIsolation - 1, func(*chain.Context) error {
		if first {
			first = false
			in <- struct{}{}
			<-out
		}
		return nil
	}}))
	load(t, g.IsolationRules(), `{"resource":"r","count":1}`)
	got := make(chan tidegate.Entry)
	go func() { e, _ := g.enter("r"); got <- e }()
	<-in
	must(t, g.IsolationRules().Load)
	out <- struct{}{}
	(<-got).Exit(nil)
	b := g.pass("r")
	load(t, g.IsolationRules(), `{"resource":"r","count":1}`)
	if e, err := g.enter("r"); err == nil {
		t.Errorf("%d in flight, count 1", g.stats("r").Active)
		e.Exit(nil)
	}
	b.Exit(nil)
	g.idle()
}

// eviction forgets counts
func TestEdgeEvictionForgets(t *testing.T) {
	g := newGuard(t, tidegate.WithMaxResources(2))
	load(t, g.FlowRules(), `{"resource":"r.*","regex":true,"count":5,"statIntervalInMs":60000}`)
	n := g.count(20, "r1")
	g.call("x", nil)
	g.call("y", nil) // overflow: pressed
	g.at(11_000).Maintain()
	n += g.count(20, "r1")
	if n > 5 {
		t.Errorf("cap pressed: %d pass in 11 s, limit 5 a minute", n)
	}
}

func TestEdgeEvictionForgets2(t *testing.T) {
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","limitApp":"app","count":5,"statIntervalInMs":3600000}`,
		`{"resource":"q.*","regex":true,"count":0.001}`)
	load(t, g.DegradeRules(), `{"resource":"d.*","regex":true,"grade":2,"count":5,"timeWindow":10,"minRequestAmount":1,"statIntervalMs":3600000}`)
	app := tidegate.Call{Origin: "app"}
	n := g.count(20, "r", app)
	q := g.count(20, "q1")
	for range 5 {
		g.call("d1", errCall)
	}
	g.at(660_000).Maintain()
	n += g.count(20, "r", app)
	q += g.count(20, "q1")
	g.call("d1", errCall)
	if n > 5 {
		t.Errorf("origin: %d pass in 11 min, limit 5 an hour (plain rule)", n)
	}
	if q > 1 {
		t.Errorf("fraction: %d pass in 660 s, limit one per 1000 s", q)
	}
	if s := g.breakers("d1"); s != "OPEN" {
		t.Errorf("breaker with 6 errors in an hour: %s", s)
	}
}

// origins beyond the cap
func TestEdgeOriginOverflow(t *testing.T) {
	g := newGuard(t, tidegate.WithMaxOrigins(2), tidegate.WithMaxContexts(2))
	load(t, g.FlowRules(), `{"resource":"r","limitApp":"vip","count":10}`, `{"resource":"c","strategy":2,"refResource":"e9","count":10}`)
	for _, o := range []string{"a", "b", "c"} {
		g.count(30, "r", tidegate.Call{Origin: o})
		g.count(30, "c", tidegate.Call{Entrance: o})
	}
	if n := g.count(20, "r", tidegate.Call{Origin: "vip"}); n != 10 {
		t.Errorf("vip: %d of its 10 pass", n)
	}
	if n := g.count(20, "c", tidegate.Call{Entrance: "e9"}); n != 10 {
		t.Errorf("e9: %d of its 10 pass", n)
	}
}

// 64-bit
func TestEdgeHugeCount(t *testing.T) {
	g := newGuard(t)
	load(t, g.IsolationRules(), `{"resource":"r","count":5,"mode":"observe"}`)
	huge := tidegate.Call{Count: math.MaxInt}
	a, b := g.pass("r", huge), g.pass("r", huge)
	a.Exit(nil)
	b.Exit(nil)
	t.Log(g.stats("r").TotalPass, g.stats("r").PassQPS)
	g.at(120_000)
	load(t, g.IsolationRules(), `{"resource":"r","count":5}`)
	if n := len(g.together(100, "r")); n > 5 {
		t.Errorf("%d in flight, limit 5", n)
	}
	g.call("s", nil, huge)
	g.call("s", nil, huge)
	g.call("s", nil, huge)
	load(t, g.FlowRules(), `{"resource":"s","count":5}`)
	if n := g.count(100, "s"); n > 5 {
		t.Errorf("%d pass, limit 5", n)
	}
}

func TestEdgeRelateSelf(t *testing.T) {
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":5}`, `{"resource":"r","count":1,"strategy":1,"refResource":"r"}`)
	if n := g.count(5, "r"); n != 1 {
		t.Errorf("%d pass, want 1", n)
	}
}

func TestEdgeWarmUpEpoch(t *testing.T) {
	m := newManual()
	m.ns.Store(0)
	g := newGuardWith(t, m, m)
	load(t, g.FlowRules(), `{"resource":"r","count":100,"controlBehavior":1}`)
	if n := g.count(200, "r"); n > 40 {
		t.Errorf("cold: %d pass, want 33", n)
	}
}

func TestEdgeKindOffOn(t *testing.T) {
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":5,"statIntervalInMs":60000}`, `{"resource":"q","count":0.01}`)
	n, q := g.count(20, "r"), g.count(5, "q")
	g.SetKindEnabled(chain.KindFlow, false)
	g.SetKindEnabled(chain.KindFlow, true)
	n += g.count(20, "r")
	q += g.count(5, "q")
	if n != 5 || q != 1 {
		t.Errorf("%d, %d", n, q)
	}
}

var _ = errors.New
