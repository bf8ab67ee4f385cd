package tidegate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate"
)

func TestWrongCalls(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	if _, err := g.enter(""); !errors.Is(err, tidegate.ErrNoResource) || errors.Is(err, tidegate.ErrBlocked) {
		t.Errorf("no name: %v", err)
	}
	if _, err := g.enter("r", tidegate.Call{Count: -1}); !errors.Is(err, tidegate.ErrNegativeCount) || errors.Is(err, tidegate.ErrBlocked) {
		t.Errorf("negative count: %v", err)
	}
	if len(g.Resources()) != 0 {
		t.Error("a wrong call made a resource")
	}
	//nolint:staticcheck // a nil context is like Background
	entry, err := g.Enter(nil, "r", tidegate.Call{})
	if err != nil {
		t.Errorf("nil context: %v", err)
	}
	entry.Exit(nil)
}

func TestErrorOfAPassedCallIsNil(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	var err error
	_, err = g.enter("r")
	if err != nil {
		t.Errorf("%#v", err)
	}
}

func TestZeroEntry(t *testing.T) {
	t.Parallel()
	var entry tidegate.Entry
	entry.Exit(nil)
	entry.Exit(errCall)
	entry.ExitN(-5, nil)
	entry.SetError(errCall)
	if entry.Waited() != 0 || entry.Open() || tidegate.ContextWith(t.Context(), entry) != t.Context() {
		t.Error("the zero entry does something")
	}
}

func TestSecondExitIsHarmless(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	entry := g.pass("r")
	copied := entry
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { copied.Exit(errCall); entry.Exit(errCall) })
	}
	wg.Wait()
	if s := g.stats("r"); s.TotalSuccess != 1 || s.TotalException != 1 || s.Active != 0 {
		t.Errorf("%+v, want one completion", s)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	g.pass("r", tidegate.Call{Count: 3}).Exit(nil)
	g.pass("r", tidegate.Call{Count: 3}).ExitN(5, errCall)
	g.pass("r", tidegate.Call{Count: 2}).ExitN(-1, nil)
	g.pass("r", tidegate.Call{Count: 4}).ExitN(0, errCall)
	g.pass("r", tidegate.Call{Free: true}).Exit(nil)
	if s := g.stats("r"); s.TotalPass != 12 || s.TotalSuccess != 10 || s.TotalException != 5 || s.Active != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSetError(t *testing.T) {
	t.Parallel()
	refusal := error(&tidegate.BlockError{Cause: tidegate.ErrFlow})
	for name, c := range map[string]struct {
		noted   []error
		end     error
		outcome tidegate.Outcome
		want    error
	}{
		"noted":               {[]error{errCall}, nil, tidegate.Failure, errCall},
		"the last one counts": {[]error{errCall, context.Canceled}, nil, tidegate.Ignore, context.Canceled},
		"exit wins":           {[]error{errCall}, context.Canceled, tidegate.Ignore, context.Canceled},
		"refusals are not":    {[]error{errCall, refusal}, nil, tidegate.Failure, errCall},
		"nil is not":          {[]error{errCall, nil}, nil, tidegate.Failure, errCall},
		"refusal at exit":     {nil, refusal, tidegate.Success, refusal},
		"nothing":             {nil, nil, tidegate.Success, nil},
	} {
		var got error
		var outcome tidegate.Outcome
		g := newGuard(t, tidegate.WithCallbacks(tidegate.Callbacks{
			Complete: func(_ tidegate.Info, _ time.Duration, err error, o tidegate.Outcome) { got, outcome = err, o },
		}))
		entry := g.pass("r")
		for _, err := range c.noted {
			entry.SetError(err)
		}
		entry.Exit(c.end)
		if !errors.Is(got, c.want) || outcome != c.outcome {
			t.Errorf("%s: %v (%v), want %v (%v)", name, got, outcome, c.want, c.outcome)
		}
		if s := g.stats("r"); (s.TotalException == 1) != (c.outcome == tidegate.Failure) {
			t.Errorf("%s: %d exceptions", name, s.TotalException)
		}
	}
}

// A record that is used again keeps nothing of the call before.
func TestPooledEntryIsClean(t *testing.T) {
	t.Parallel()
	var infos []tidegate.Info
	g := newStill(t, tidegate.WithCallbacks(tidegate.Callbacks{Complete: func(i tidegate.Info, _ time.Duration, err error, _ tidegate.Outcome) {
		i.Args = slices.Clone(i.Args)
		infos = append(infos, i)
		if err != nil && len(infos)%2 == 0 {
			t.Errorf("an error of the call before: %v", err)
		}
	}}))
	load(t, g.FlowRules(), `{"resource":"a","count":1,"controlBehavior":2}`)
	many := []tidegate.Arg{tidegate.Int("a", 1), tidegate.Int("b", 2), tidegate.Int("c", 3), tidegate.Int("d", 4), tidegate.Int("e", 5)}
	for range 20 {
		g.clock.Advance(500 * time.Millisecond)
		a := g.pass("a", tidegate.Call{Origin: "o", Entrance: "e", Count: 1, Inbound: true, Args: many})
		a.SetError(errCall)
		a.Exit(nil)
		g.clock.Advance(500 * time.Millisecond)
		b := g.pass("b")
		if b.Waited() != 0 {
			t.Error("a wait of the call before")
		}
		b.Exit(nil)
	}
	for i, info := range infos {
		switch {
		case i%2 == 0 && (info.Origin != "o" || info.Entrance != "e" || !info.Inbound || len(info.Args) != 5):
			t.Fatalf("call %d: %+v", i, info)
		case i%2 == 1 && (info.Origin != "" || info.Entrance != "sentinel_default_context" || info.Inbound || len(info.Args) != 0):
			t.Fatalf("call %d: %+v has something of the call before", i, info)
		}
	}
	g.idle()
}

func TestArgumentsAreCopied(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4, 7} {
		var got []tidegate.Arg
		g := newGuard(t, tidegate.WithCallbacks(tidegate.Callbacks{
			Complete: func(i tidegate.Info, _ time.Duration, _ error, _ tidegate.Outcome) { got = slices.Clone(i.Args) },
		}))
		args := make([]tidegate.Arg, n)
		for i := range args {
			args[i] = tidegate.Int("", i)
		}
		entry := g.pass("r", tidegate.Call{Args: args})
		for i := range args {
			args[i] = tidegate.String("", "reused by the caller")
		}
		entry.Exit(nil)
		for i, a := range got {
			if a.Value() != int64(i) {
				t.Errorf("argument %d is %v", i, a.Value())
			}
		}
		if len(got) != n {
			t.Errorf("%d arguments, want %d", len(got), n)
		}
	}
}

func TestDoReleases(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.IsolationRules(), `{"resource":"r","count":1}`)
	on := tidegate.On(g.Engine)
	if n, err := tidegate.Do(t.Context(), "r", func(context.Context) (int, error) { return 7, nil }, on); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := tidegate.Do(t.Context(), "r", func(context.Context) (int, error) { return 7, errCall }, on); n != 7 || !errors.Is(err, errCall) {
		t.Errorf("%d, %v", n, err)
	}
	value := fmt.Errorf("any value")
	p := panicOf(func() {
		_, _ = tidegate.Do(t.Context(), "r", func(context.Context) (int, error) { panic(value) }, on)
	})
	if p != any(value) {
		t.Errorf("panic %v, want it unchanged", p)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tidegate.Run(t.Context(), "r", func(context.Context) error { runtime.Goexit(); return nil }, on)
	}()
	<-done
	if p := panicOf(func() { _ = tidegate.Run(t.Context(), "r", nil, on) }); p == nil {
		t.Error("a nil function did not panic")
	}
	if s := g.stats("r"); s.TotalPass != 5 || s.TotalException != 4 || s.Active != 0 {
		t.Errorf("%+v, want five calls with four failures", s)
	}
	g.idle()
}

func TestDoRefused(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":0}`)
	ran := false
	n, err := tidegate.Do(t.Context(), "r", func(context.Context) (int, error) { ran = true; return 1, nil }, tidegate.On(g.Engine))
	if ran || n != 0 || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("ran %v, %d, %v", ran, n, err)
	}
}

func TestDoDescribesTheCall(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	call := tidegate.Call{Inbound: true, Count: 3, Origin: "app", Entrance: "web"}
	err := tidegate.Run(t.Context(), "r", func(ctx context.Context) error {
		if got := tidegate.OriginFrom(ctx); got != "app" {
			t.Errorf("the function sees origin %q", got)
		}
		return tidegate.Run(ctx, "inner", func(context.Context) error { return nil }, tidegate.On(g.Engine))
	}, tidegate.On(g.Engine), tidegate.As(call))
	if err != nil {
		t.Error(err)
	}
	if s, ok := g.OriginStats("inner", "app"); !ok || s.TotalPass != 1 {
		t.Error("the inner call lost the origin")
	}
	if s, ok := g.ContextStats("r", "web"); !ok || s.TotalPass != 3 {
		t.Error("the call lost its entrance or count")
	}
	if g.InboundStats().TotalPass != 3 {
		t.Error("the call is not inbound, or the inner one is")
	}
}

func TestDefaultEngine(t *testing.T) { // not parallel: there is one
	first, second := tidegate.Default(), tidegate.Default()
	if first == nil || first != second {
		t.Error("not one default engine")
	}
	before, _ := first.ResourceStats("default engine") // of an earlier run of this test
	entry, err := tidegate.Enter(t.Context(), "default engine", tidegate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	entry.Exit(nil)
	if err := tidegate.Run(t.Context(), "default engine", func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if s, ok := tidegate.Default().ResourceStats("default engine"); !ok || s.TotalPass != before.TotalPass+2 {
		t.Errorf("%+v", s)
	}
}

func TestEnginesShareNothing(t *testing.T) {
	t.Parallel()
	a, b := newGuard(t), newGuard(t)
	load(t, a.FlowRules(), `{"resource":"r","count":0}`)
	a.SetObserve(true)
	b.call("r", nil)
	a.call("r", nil)
	if b.WouldBlock("r") != 0 || a.WouldBlock("r") != 1 || b.Observe() {
		t.Error("engines share something")
	}
	entry := a.pass("x")
	entry.Exit(nil)
	if _, ok := b.ResourceStats("x"); ok {
		t.Error("the other engine knows the resource")
	}
}

// A bubble does not end while a goroutine of the engine is left in it.
func TestNoGoroutineLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			e, err := tidegate.New()
			if err != nil {
				t.Fatal(err)
			}
			load(t, e.FlowRules(), `{"resource":"r","count":1}`)
			load(t, e.SystemRules(), `{"highestCpuUsage":0.9}`)
			entry, _ := e.Enter(t.Context(), "r", tidegate.Call{})
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			entry.Exit(nil)
			if s, _ := e.ResourceStats("r"); s.Active != 0 || s.TotalSuccess != 1 {
				t.Errorf("an exit after Close: %+v", s)
			}
			if _, err := e.Enter(t.Context(), "r", tidegate.Call{}); !errors.Is(err, tidegate.ErrFlow) {
				t.Errorf("the engine does not decide after Close: %v", err)
			}
		}
	})
}
