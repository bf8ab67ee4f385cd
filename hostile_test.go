package tidegate_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
)

func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Errorf("DEADLOCK: %s", what)
	}
}

const errRule = `{"resource":"r","grade":2,"count":0,"timeWindow":10,"minRequestAmount":1}`

func TestHostileA5(t *testing.T) {
	g, c := newGated(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":2}`, `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":10000}`)
	g.call("r", nil)
	got := make(chan tidegate.Entry)
	go func() { e, _ := g.enter("r"); got <- e }() // waits 1 s holding a permit
	<-c.entered
	must(t, g.FlowRules().Load)
	b := g.pass("r") // no rule
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":2}`)
	if e, err := g.enter("r"); err == nil {
		t.Log("one more admitted")
		defer e.Exit(nil)
	}
	close(c.release)
	a := <-got
	if n := g.stats("r").Active; n > 2 {
		t.Errorf("%d in flight, count 2", n)
	}
	_, _ = a, b
}

func TestHostileObserverLoads(t *testing.T) {
	g := newGuard(t)
	load(t, g.DegradeRules(), errRule)
	g.call("r", errCall)
	g.expectBreakers("r", "OPEN")
	g.OnBreakerChange(func(ev tidegate.BreakerEvent) {
		_, _ = g.FlowRules().Load(flow.Rule{Resource: "r", Count: 1})
	})
	within(t, "observer of a retiring breaker loads flow rules", func() { must(t, g.DegradeRules().Load) })
}

func TestHostileObserverStatus(t *testing.T) {
	g := newGuard(t)
	load(t, g.DegradeRules(), errRule)
	g.call("r", errCall)
	g.OnBreakerChange(func(ev tidegate.BreakerEvent) { g.DegradeRules().Status() })
	within(t, "observer of a retiring breaker asks for the status", func() { must(t, g.DegradeRules().Load) })
}

func TestHostileSubscribe(t *testing.T) {
	for name, f := range map[string]func(g guard){
		"status": func(g guard) { g.FlowRules().Status() },
		"kind":   func(g guard) { g.KindEnabled(chain.KindFlow) },
	} {
		g := newGuard(t)
		g.FlowRules().Subscribe(func([]flow.Rule) { f(g) })
		within(t, "subscriber: "+name, func() { load(t, g.FlowRules(), `{"resource":"r","count":1}`) })
	}
	g := newGuard(t)
	var cancel func()
	cancel = g.FlowRules().Subscribe(func([]flow.Rule) { cancel() })
	within(t, "subscriber cancels itself", func() { load(t, g.FlowRules(), `{"resource":"r","count":1}`) })

	g = newGuard(t)
	g.FlowRules().Subscribe(func([]flow.Rule) { time.Sleep(50 * time.Millisecond); load(t, g.DegradeRules(), errRule) })
	g.DegradeRules().Subscribe(func([]circuitbreaker.Rule) {
		time.Sleep(50 * time.Millisecond)
		g.FlowRules().Rules()
		load(t, g.FlowRules(), `{"resource":"r","count":2}`)
	})
	within(t, "two subscribers load each other's kind", func() { load(t, g.FlowRules(), `{"resource":"r","count":1}`) })
}

func TestHostileSubscriberPanics(t *testing.T) {
	g := newGuard(t)
	told := 0
	for range 3 {
		g.FlowRules().Subscribe(func([]flow.Rule) {
			told++
			panic("subscriber")
		})
	}
	func() {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("Load panics: %v; %d of 3 told", p, told)
			}
		}()
		load(t, g.FlowRules(), `{"resource":"r","count":1}`)
	}()
}

func TestHostileSetErrorTypedNil(t *testing.T) {
	g := newGuard(t)
	e := g.pass("r")
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("SetError panics: %v", p)
		}
	}()
	var typed *url.Error
	e.SetError(typed)
	e.Exit(typed)
}

type list []string

func (list) Error() string { return "list" }

func TestHostileIsUncomparable(t *testing.T) {
	g := newGuard(t, tidegate.WithCheck(check{"x", 0, func(*chain.Context) error { return list{"a"} }}))
	_, err := g.enter("r")
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("errors.Is panics: %v", p)
		}
	}()
	t.Log(errors.Is(err, list{"b"}))
}

func TestHostileGoexit(t *testing.T) {
	var exit atomic.Bool
	g := newGuard(t, tidegate.WithCheck(check{"x", 0, func(*chain.Context) error {
		if exit.Load() {
			runtime.Goexit()
		}
		return nil
	}}))
	load(t, g.IsolationRules(), `{"resource":"r","count":1}`)
	load(t, g.FlowRules(), `{"resource":"q","count":1,"grade":0}`)
	g.call("q", nil)
	g.call("r", nil)
	exit.Store(true)
	for _, n := range []string{"r", "q"} {
		done := make(chan int)
		go func() { defer close(done); _, _ = g.enter(n) }()
		<-done
	}
	exit.Store(false)
	for _, n := range []string{"r", "q"} {
		if _, err := g.enter(n); err != nil {
			t.Errorf("%s: nothing in flight, yet %v", n, err)
		}
	}
}

type badRequest struct{}

func (*badRequest) ClientIP() (string, bool)       { panic("ip") }
func (*badRequest) Host() (string, bool)           { panic("x") }
func (*badRequest) Header(string) (string, bool)   { panic("x") }
func (*badRequest) URLParam(string) (string, bool) { panic("x") }
func (*badRequest) Cookie(string) (string, bool)   { panic("x") }

func TestHostileRequest(t *testing.T) {
	g := newGuard(t)
	load(t, g.GatewayRules(), `{"resource":"r","count":1,"paramItem":{"parseStrategy":0}}`)
	load(t, g.SystemRules(), `{"maxThread":1}`)
	call := tidegate.Call{Inbound: true, Args: []tidegate.Arg{tidegate.RequestArg(&badRequest{})}}
	func() {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("Enter panics: %v", p)
			}
		}()
		e, err := g.enter("r", call)
		t.Log(err)
		e.Exit(nil)
	}()
	if _, err := g.enter("z", tidegate.Call{Inbound: true}); err != nil {
		t.Errorf("nothing in flight: %v", err)
	}
}

type badText struct{}

func (*badText) String() string { panic("s") }

func TestHostileArgs(t *testing.T) {
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1}`)
	type cyc struct{ p any }
	x := &cyc{}
	x.p = x
	type holder struct{ s any }
	for i, v := range []any{[]any{1, nil, []int{2}}, map[string]int{"a": 1}, func() {}, x, holder{[]int{1}}, (*badText)(nil), &badText{}, error(list{"a"}), [1]any{[]int{1}}, make(chan int), (*int)(nil)} {
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%d: Enter panics: %v", i, p)
				}
			}()
			e, _ := g.enter("r", tidegate.Call{Args: []tidegate.Arg{tidegate.Any("", v)}})
			e.Exit(nil)
		}()
	}
	g.idle()
}

type badWait struct{ *manual }

func (badWait) Wait(context.Context, time.Duration) error { panic("wait") }

func TestHostileWaitPanics(t *testing.T) {
	m := newManual()
	g := newGuardWith(t, badWait{m}, m)
	load(t, g.FlowRules(), `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":5000}`)
	load(t, g.IsolationRules(), `{"resource":"r","count":1}`)
	g.call("r", nil)
	func() {
		defer func() { _ = recover() }()
		_, _ = g.enter("r")
	}()
	g.clock.Advance(time.Hour)
	if _, err := g.enter("r"); err != nil {
		t.Errorf("nothing in flight: %v", err)
	}
}

func TestHostileSetWindowPlain(t *testing.T) {
	g := newGuard(t, tidegate.WithMaxResources(100_000))
	if err := g.SetWindow(2*time.Second, 2); err != nil {
		t.Fatal(err)
	}
	load(t, g.FlowRules(), `{"resource":"r","count":100}`)
	for i := range 20_000 {
		g.call(fmt.Sprint("n", i), nil)
	}
	var stop atomic.Bool
	passed := make(chan int)
	go func() {
		n := 0
		for !stop.Load() {
			if e, err := g.enter("r"); err == nil {
				e.Exit(nil)
				n++
			}
		}
		passed <- n
	}()
	time.Sleep(20 * time.Millisecond)
	if err := g.SetWindow(500*time.Millisecond, 2); err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	stop.Store(true)
	n := <-passed
	if got := g.stats("r").PassQPS; got > 100 {
		t.Errorf("%v per second, limit 100 (passed %d in all, frozen clock; 200 before)", got, n)
	}
}

func TestHostileExits(t *testing.T) {
	g := newGuard(t, tidegate.WithCallbacks(tidegate.Callbacks{Pass: func(tidegate.Info) { panic("x") }, Complete: func(tidegate.Info, time.Duration, error, tidegate.Outcome) { panic("y") }}),
		tidegate.WithClassifier(func(error) tidegate.Outcome { panic("c") }))
	load(t, g.DegradeRules(), errRule)
	g.pass("r").Exit(errCall)
	g.idle()
	g.expectBreakers("r", "OPEN")
}

func TestHostileKindOffEvict(t *testing.T) {
	g := newGuard(t)
	load(t, g.DegradeRules(), `{"resource":"r","grade":2,"count":0,"timeWindow":86400,"minRequestAmount":1}`)
	g.call("r", errCall)
	g.expectBreakers("r", "OPEN")
	g.SetKindEnabled(chain.KindDegrade, false)
	g.at(700_000).Maintain()
	g.SetKindEnabled(chain.KindDegrade, true)
	if _, err := g.enter("r"); err == nil {
		t.Errorf("the breaker's state is lost while the kind is off")
	}
}

func TestHostileTwoBorrows(t *testing.T) {
	g := newStill(t, tidegate.WithWindow(time.Second, 10), tidegate.WithOccupyTimeout(time.Second))
	load(t, g.FlowRules(), `{"resource":"r","count":2,"limitApp":"app"}`, `{"resource":"r","count":3}`)
	g.at(0).count(1, "r", tidegate.Call{Origin: "b"})
	g.at(100).count(2, "r", tidegate.Call{Origin: "app"})
	e := g.at(900)
	x := e.pass("r", tidegate.Call{Origin: "app", Prioritized: true})
	t.Log(x.Waited())
	for at := int64(1000); at < 1500; at += 100 {
		s := g.at(at).stats("r")
		o, _ := g.OriginStats("r", "app")
		t.Log(at, s.PassQPS, s.Waiting, o.PassQPS, o.Waiting)
	}
}
