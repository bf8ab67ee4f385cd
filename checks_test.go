package tidegate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// check is a custom check made of a function.
type check struct {
	name  string
	order int
	f     func(*chain.Context) error
}

func (k check) Name() string                 { return k.name }
func (k check) Order() int                   { return k.order }
func (k check) Check(c *chain.Context) error { return k.f(c) }

func TestCustomChecksRunInOrder(t *testing.T) {
	t.Parallel()
	var ran []string
	noting := func(name string, order int) tidegate.Option {
		return tidegate.WithCheck(check{name, order, func(*chain.Context) error { ran = append(ran, name); return nil }})
	}
	g := newGuard(t, noting("last", 5), noting("after all", 0), noting("first", -9000), noting("between", chain.OrderFlow+1), noting("second", -9000))
	load(t, g.FlowRules(), `{"resource":"flow","count":0}`)
	load(t, g.IsolationRules(), `{"resource":"isolated","count":0}`)
	for resource, want := range map[string]string{
		"r":        "first second between after all last",
		"flow":     "first second",
		"isolated": "first second between",
	} {
		ran = nil
		_, _ = g.enter(resource)
		if got := strings.Join(ran, " "); got != want {
			t.Errorf("%s: %q, want %q", resource, got, want)
		}
	}
}

func TestCustomCheckRefuses(t *testing.T) {
	t.Parallel()
	own := errors.New("not today")
	g := newGuard(t, tidegate.WithCheck(check{"own", 0, func(c *chain.Context) error {
		switch c.Resource.Name {
		case "error":
			return own
		case "block error":
			return &tidegate.BlockError{Kind: chain.KindFlow, Resource: "elsewhere", Cause: tidegate.ErrFlow}
		case "wrapped":
			return fmt.Errorf("wrapped: %w", &tidegate.BlockError{Kind: chain.KindFlow, Resource: "elsewhere", Cause: tidegate.ErrFlow})
		case "nil":
			return (*tidegate.BlockError)(nil)
		}
		return nil
	}}))
	load(t, g.FlowRules(), `{"resource":"error","count":1}`)
	blocked := g.refusal("error", tidegate.ErrCustom)
	if !errors.Is(blocked, own) || blocked.Kind != chain.KindCustom || blocked.Resource != "error" || blocked.Rule != nil {
		t.Errorf("%+v", blocked)
	}
	if blocked.Explain() != (tidegate.Explanation{}) {
		t.Error("it explains itself")
	}
	g.blocked("error", tidegate.ErrCustom) // the flow rule's only place was given back
	if blocked := g.refusal("block error", tidegate.ErrFlow); blocked.Resource != "elsewhere" {
		t.Errorf("%+v", blocked)
	}
	g.blocked("wrapped", tidegate.ErrFlow)
	g.call("nil", nil)
	g.call("else", nil)
	if s := g.stats("error"); s.TotalBlock != 2 || s.Active != 0 {
		t.Errorf("%+v", s)
	}
}

func TestCheckThatPanicsLetsPass(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGuard(t, tidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
		tidegate.WithCheck(check{"broken", -9000, func(*chain.Context) error { panic("oh") }}))
	load(t, g.FlowRules(), `{"resource":"r","count":2}`)
	g.call("r", nil)
	g.call("r", nil)
	g.blocked("r", tidegate.ErrFlow)
	if n := g.Counters().InternalErrors; n != 3 {
		t.Errorf("%d internal errors, want 3", n)
	}
	if s := g.stats("r"); s.TotalPass != 2 || s.TotalSuccess != 2 || s.Active != 0 {
		t.Errorf("%+v", s)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "broken") || !strings.Contains(text, "oh") {
		t.Errorf("logged %q", text)
	}
}

// broken is a check that panics wherever it can.
type broken struct{}

func (*broken) Name() string               { panic("name") }
func (*broken) Order() int                 { panic("order") }
func (*broken) Check(*chain.Context) error { panic("check") }

func TestCheckThatPanicsEverywhere(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("the guarded application panicked: %v", p)
		}
	}()
	e, err := tidegate.New(tidegate.WithCheck(&broken{}))
	if err != nil {
		return // refusing such a check at the start is right too
	}
	defer e.Close()
	entry, err := e.Enter(t.Context(), "r", tidegate.Call{})
	if err != nil {
		t.Errorf("refused: %v", err)
	}
	entry.Exit(nil)
	if e.Counters().InternalErrors == 0 {
		t.Error("not counted")
	}
}

func TestCallbacks(t *testing.T) {
	t.Parallel()
	var told []string
	note := func(what string) func(tidegate.Info) {
		return func(i tidegate.Info) {
			told = append(told, fmt.Sprintf("%s %s %s %s %d %v %v", what, i.Resource, i.Entrance, i.Origin, i.Count, i.Inbound, len(i.Args)))
		}
	}
	g := newStill(t, tidegate.WithCallbacks(tidegate.Callbacks{}), tidegate.WithCallbacks(tidegate.Callbacks{
		Pass:    note("pass"),
		Block:   func(i tidegate.Info, err *tidegate.BlockError) { note(fmt.Sprint("block by ", err.Kind))(i) },
		Observe: func(i tidegate.Info, err *tidegate.BlockError) { note(fmt.Sprint("observe ", err.Kind))(i) },
		Complete: func(i tidegate.Info, rt time.Duration, err error, o tidegate.Outcome) {
			note(fmt.Sprintf("complete %v (%v) %d", rt, err, o))(i)
		},
	}))
	load(t, g.FlowRules(), `{"resource":"r","count":5}`, `{"resource":"o","count":0,"mode":"observe"}`)
	call := tidegate.Call{Inbound: true, Origin: "app", Entrance: "web", Count: 5, Args: []tidegate.Arg{tidegate.Int("", 1)}}
	entry := g.at(0).pass("r", call)
	g.at(50)
	entry.Exit(errCall)
	g.blocked("r", tidegate.ErrFlow, call)
	g.call("o", nil)
	want := []string{
		"pass r web app 5 true 1", "complete 50ms (the call failed) 1 r web app 5 true 1",
		"block by flow r web app 5 true 1",
		"observe flow o sentinel_default_context  1 false 0", "pass o sentinel_default_context  1 false 0",
		"complete 0s (<nil>) 0 o sentinel_default_context  1 false 0",
	}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
}

func TestCallbacksThatPanic(t *testing.T) {
	t.Parallel()
	heard := 0
	g := newGuard(t, tidegate.WithCallbacks(tidegate.Callbacks{
		Pass:     func(tidegate.Info) { panic("pass") },
		Block:    func(tidegate.Info, *tidegate.BlockError) { panic("block") },
		Observe:  func(tidegate.Info, *tidegate.BlockError) { panic("observe") },
		Complete: func(tidegate.Info, time.Duration, error, tidegate.Outcome) { panic("complete") },
	}), tidegate.WithCallbacks(tidegate.Callbacks{Pass: func(tidegate.Info) { heard++ }}))
	load(t, g.FlowRules(), `{"resource":"r","count":0}`, `{"resource":"o","count":0,"mode":"observe"}`)
	g.call("x", nil)
	g.blocked("r", tidegate.ErrFlow)
	g.call("o", nil)
	if n := g.Counters().InternalErrors; n != 6 || heard != 2 {
		t.Errorf("%d internal errors, %d heard, want 6 and 2", n, heard)
	}
	g.idle()
}

func TestClassifier(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want tidegate.Outcome
	}{
		{nil, tidegate.Success},
		{errCall, tidegate.Failure},
		{context.Canceled, tidegate.Ignore},
		{fmt.Errorf("q: %w", context.Canceled), tidegate.Ignore},
		{context.DeadlineExceeded, tidegate.Failure},
		{&tidegate.BlockError{Cause: tidegate.ErrFlow}, tidegate.Success},
		{fmt.Errorf("inner: %w", &tidegate.BlockError{Cause: tidegate.ErrFlow}), tidegate.Success},
		{&tidegate.BlockError{Cause: context.Canceled}, tidegate.Success},
	} {
		if got := tidegate.Classify(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
	g := newGuard(t, tidegate.WithClassifier(func(err error) tidegate.Outcome {
		switch err.Error() {
		case "panic":
			panic("classifier")
		case "fine":
			return tidegate.Success
		case "ignore":
			return tidegate.Ignore
		}
		return tidegate.Failure
	}))
	load(t, g.DegradeRules(), `{"resource":"r","grade":2,"count":100,"timeWindow":10}`)
	for _, text := range []string{"fine", "ignore", "bad", "panic"} {
		g.call("r", errors.New(text))
	}
	g.call("r", nil)
	b := g.Breakers("r")[0]
	if s := g.stats("r"); s.TotalException != 2 || b.Bad != 2 || b.Total != 4 || g.Counters().InternalErrors != 1 {
		t.Errorf("%+v, breaker %d of %d", s, b.Bad, b.Total)
	}
}

func TestMasterSwitch(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":1}`, `{"resource":"c","grade":0,"count":1}`)
	if !g.Enabled() {
		t.Error("off at first")
	}
	before := g.pass("c")
	g.call("r", nil)
	g.blocked("r", tidegate.ErrFlow)
	g.SetEnabled(false)
	if g.Enabled() {
		t.Error("still on")
	}
	for range 5 {
		entry := g.pass("r")
		if entry.Open() {
			t.Error("the entry is counted")
		}
		entry.Exit(errCall)
		g.call("c", nil)
		g.call("never seen", nil)
	}
	before.Exit(nil)
	g.idle()
	if s := g.stats("r"); s.TotalPass != 1 || s.TotalBlock != 1 {
		t.Errorf("counted while off: %+v", s)
	}
	if _, ok := g.ResourceStats("never seen"); ok {
		t.Error("a resource was made while off")
	}
	if _, err := g.enter("r", tidegate.Call{Count: -1}); !errors.Is(err, tidegate.ErrNegativeCount) {
		t.Errorf("a wrong call while off: %v", err)
	}
	during := g.pass("c")
	g.SetEnabled(true)
	g.blocked("r", tidegate.ErrFlow)
	g.call("c", nil)
	during.Exit(nil)
	g.idle()
}

func TestKindSwitch(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":0}`)
	load(t, g.DegradeRules(), tripsAtOnce)
	g.SetKindEnabled(chain.KindFlow, false)
	if g.KindEnabled(chain.KindFlow) || !g.KindEnabled(chain.KindDegrade) {
		t.Error("the wrong kind is off")
	}
	g.at(0).call("r", errCall)
	g.blocked("r", tidegate.ErrCircuitOpen)
	g.SetKindEnabled(chain.KindDegrade, false)
	g.call("r", nil)
	if len(g.FlowRules().Rules()) != 0 || g.FlowRules().Status().Count(chain.Disabled) != 1 {
		t.Error("the rule is in force, or forgotten")
	}
	g.SetKindEnabled(chain.KindDegrade, true)
	g.blocked("r", tidegate.ErrCircuitOpen) // the breaker kept its state
	g.SetKindEnabled(chain.KindFlow, true)
	g.blocked("r", tidegate.ErrFlow)
	g.SetKindEnabled(chain.Kind(99), false)
	if g.KindEnabled(chain.Kind(99)) {
		t.Error("an unknown kind is on")
	}
}

func TestObserveMode(t *testing.T) {
	t.Parallel()
	rules := func(g guard, mode string) {
		load(t, g.FlowRules(), `{"resource":"flow","count":2`+mode+`}`, `{"resource":"calls","grade":0,"count":1`+mode+`}`,
			`{"resource":"queue","count":1,"controlBehavior":2,"maxQueueingTimeMs":500`+mode+`}`, `{"resource":"warm","count":10,"controlBehavior":1`+mode+`}`)
		load(t, g.IsolationRules(), `{"resource":"isolated","count":1`+mode+`}`)
		load(t, g.DegradeRules(), `{"resource":"breaker","grade":2,"count":0,"minRequestAmount":1,"timeWindow":10`+mode+`}`)
	}
	global, byRule := newStill(t), newStill(t)
	global.SetObserve(true)
	if !global.Observe() || byRule.Observe() {
		t.Error("Observe")
	}
	rules(global, "")
	rules(byRule, `,"mode":"observe"`)
	for _, g := range []guard{global, byRule} {
		for _, c := range []struct {
			resource string
			would    int64
		}{{"flow", 3}, {"calls", 4}, {"queue", 4}, {"warm", 2}, {"isolated", 4}} {
			var entries []tidegate.Entry
			for range 5 {
				entry := g.at(0).pass(c.resource)
				if entry.Waited() != 0 {
					t.Errorf("%s: waited %v for a rule that observes", c.resource, entry.Waited())
				}
				entries = append(entries, entry)
			}
			for _, entry := range entries {
				entry.Exit(nil)
			}
			if got := g.WouldBlock(c.resource); got != c.would {
				t.Errorf("%s: would block %d, want %d", c.resource, got, c.would)
			}
			if s := g.stats(c.resource); s.TotalPass != 5 || s.TotalBlock != 0 {
				t.Errorf("%s: %+v", c.resource, s)
			}
		}
		g.call("breaker", errCall)
		g.call("breaker", nil)
		g.expectBreakers("breaker", "OPEN")
		if g.WouldBlock("breaker") != 1 {
			t.Errorf("breaker: would block %d", g.WouldBlock("breaker"))
		}
		g.at(10_000)
		probe := g.pass("breaker")
		g.pass("breaker").Exit(nil)
		if g.WouldBlock("breaker") != 2 {
			t.Errorf("breaker: would block %d, want the call beside the probe too", g.WouldBlock("breaker"))
		}
		probe.Exit(nil)
		g.expectBreakers("breaker", "CLOSED")
		g.idle()
	}
	// Ending it enforces at once, with what was counted meanwhile.
	global.at(20_000).count(2, "flow")
	global.SetObserve(false)
	global.blocked("flow", tidegate.ErrFlow)
}

// A rule that observes takes no place away from one that enforces.
func TestObservedRuleBesideAnEnforcedOne(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":2,"mode":"observe"}`, `{"resource":"r","count":5}`, `{"resource":"c","grade":0,"count":1,"mode":"observe"}`, `{"resource":"c","grade":0,"count":3}`)
	if got := g.at(0).count(10, "r"); got != 5 || g.WouldBlock("r") != 8 {
		t.Errorf("%d passed, %d would be blocked, want 5 and 8", got, g.WouldBlock("r"))
	}
	entries := g.together(10, "c")
	if len(entries) != 3 {
		t.Errorf("%d passed, want 3", len(entries))
	}
	for _, entry := range entries {
		entry.Exit(nil)
	}
	g.idle()
}

// A call that the rule in observe mode would let wait for a later bucket passes now and is counted now.
func TestObservedPriorityCall(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":2,"mode":"observe"}`)
	g.at(0).count(2, "r")
	entry := g.at(600).pass("r", tidegate.Call{Prioritized: true})
	if entry.Waited() != 0 || g.clock.ns.Load() != t0+600*ms {
		t.Errorf("waited %v", entry.Waited())
	}
	entry.Exit(nil)
	if s := g.stats("r"); s.PassQPS != 3 || s.Waiting != 0 || s.TotalOccupied != 0 {
		t.Errorf("%+v, want three passes now", s)
	}
	load(t, g.FlowRules(), `{"resource":"r","count":3}`)
	g.at(700).blocked("r", tidegate.ErrFlow)
}

func TestModesAndDisabled(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	report := load(t, g.FlowRules(), `{"resource":"a","count":0,"mode":"off"}`, `{"resource":"a","count":0,"enabled":false}`, `{"resource":"a","count":0,"mode":"observe"}`)
	if report.Count(chain.Disabled) != 2 || report.Count(chain.Observed) != 1 {
		t.Errorf("report %v", report.Rules)
	}
	g.call("a", nil)
	if g.WouldBlock("a") != 1 || len(g.FlowRules().Rules()) != 1 {
		t.Errorf("would block %d, %d rules", g.WouldBlock("a"), len(g.FlowRules().Rules()))
	}
}
