package tidegate_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
)

func TestB24ManyArriveTogether(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":10}`)
	load(t, g.DegradeRules(), `{"resource":"r","grade":1,"count":0.5,"timeWindow":10}`)
	entries := g.together(1_000, "r")
	if s := g.stats("r"); len(entries) != 10 || s.Active != 10 || s.TotalBlock != 990 {
		t.Errorf("%d passed, %d in flight, %d blocked, want 10, 10 and 990", len(entries), s.Active, s.TotalBlock)
	}
	for _, entry := range entries {
		entry.Exit(nil)
	}
	g.idle()
}

func TestB26StaleEntry(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":1}`)
	a := g.pass("r")
	a.Exit(nil)
	b := g.pass("r")
	a.Exit(errCall)
	a.ExitN(5, errCall)
	a.SetError(errCall)
	if a.Open() || a.Waited() != 0 || !b.Open() {
		t.Error("the stale copy is open, or the live one is not")
	}
	g.blocked("r", tidegate.ErrFlow)
	b.Exit(nil)
	if s := g.stats("r"); s.Active != 0 || s.TotalSuccess != 2 || s.TotalException != 0 {
		t.Errorf("figures %+v, want two successes", s)
	}
}

func TestB26StaleEntriesConcurrently(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":1}`)
	var inside, passed atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			var stale []tidegate.Entry
			for range 200 {
				entry, err := g.enter("r")
				for _, old := range stale {
					old.Exit(errCall)
					old.SetError(errCall)
				}
				if err != nil {
					continue
				}
				if n := inside.Add(1); n > 1 {
					t.Errorf("%d in flight, want 1", n)
				}
				inside.Add(-1)
				passed.Add(1)
				entry.Exit(nil)
				stale = append(stale[max(0, len(stale)-3):], entry)
			}
		})
	}
	wg.Wait()
	if s := g.stats("r"); s.Active != 0 || s.TotalSuccess != passed.Load() || s.TotalException != 0 {
		t.Errorf("figures %+v after %d passes", s, passed.Load())
	}
}

func TestB27EntryOfARefusedCall(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":0}`)
	entry, err := g.enter("r")
	defer entry.Exit(nil)
	entry.SetError(errCall)
	entry.ExitN(3, nil)
	entry.Exit(errCall)
	var blocked *tidegate.BlockError
	if !errors.As(err, &blocked) || entry.Waited() != 0 || entry.Open() {
		t.Errorf("error %v, entry %+v", err, entry)
	}
	if ctx := tidegate.ContextWith(t.Context(), entry); ctx != t.Context() {
		t.Error("a refused entry became a parent")
	}
}

func TestB28ExitsInAnyOrder(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	p := g.at(0).pass("p")
	ctx := tidegate.ContextWith(t.Context(), p)
	child := func(at int64, name string) tidegate.Entry {
		entry, err := g.at(at).Enter(ctx, name, tidegate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		return entry
	}
	c1, c2 := child(10, "c1"), child(30, "c2")
	g.at(100)
	p.Exit(nil)
	var wg sync.WaitGroup
	wg.Go(func() { c2.Exit(nil) })
	wg.Go(func() { c1.Exit(nil) })
	wg.Wait()
	for name, rt := range map[string]float64{"p": 100, "c1": 90, "c2": 70} {
		if s := g.stats(name); s.Active != 0 || s.AvgRT != rt || s.TotalSuccess != 1 {
			t.Errorf("%s: %+v, want nothing in flight and %v ms", name, s, rt)
		}
	}
	if tree := g.Tree(); len(tree) != 1 || len(tree[0].Children) != 1 || len(tree[0].Children[0].Children) != 2 {
		t.Errorf("tree %+v, want both below p", tree)
	}
	g.idle()
}

func TestB29InnerCallBlocked(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"interface","grade":0,"count":1}`, `{"resource":"method","count":0}`)
	filter := func() error {
		return tidegate.Run(t.Context(), "interface", func(ctx context.Context) error {
			return tidegate.Run(ctx, "method", func(context.Context) error { return nil }, tidegate.On(g.Engine))
		}, tidegate.On(g.Engine))
	}
	for range 2 {
		err := filter()
		var blocked *tidegate.BlockError
		if !errors.As(err, &blocked) || blocked.Resource != "method" {
			t.Errorf("error %v, want a refusal by method", err)
		}
	}
	if s := g.stats("interface"); s.Active != 0 || s.TotalException != 0 || s.TotalPass != 2 {
		t.Errorf("interface: %+v", s)
	}
	g.idle()
}

func TestB30PermitComesBack(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":1}`)
	load(t, g.DegradeRules(), `{"resource":"r","grade":2,"count":100,"timeWindow":10}`)
	value := new(int)
	panicked := func() (p any) {
		defer func() { p = recover() }()
		_ = tidegate.Run(t.Context(), "r", func(context.Context) error { panic(value) }, tidegate.On(g.Engine))
		return nil
	}()
	if panicked != any(value) {
		t.Errorf("panic %v, want the function's unchanged", panicked)
	}
	if s := g.stats("r"); s.TotalException != 1 || g.Breakers("r")[0].Bad != 1 {
		t.Errorf("the panic was not counted as an error: %+v", s)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	_ = tidegate.Run(gone, "r", func(ctx context.Context) error { return ctx.Err() }, tidegate.On(g.Engine))
	if err := tidegate.Run(t.Context(), "r", func(context.Context) error { return nil }, tidegate.On(g.Engine)); err != nil {
		t.Errorf("third call: %v", err)
	}
	if s := g.stats("r"); s.TotalException != 1 || g.Breakers("r")[0].Total != 2 {
		t.Errorf("the caller's leaving was counted as an outcome: %+v", s)
	}
	g.idle()
}

func TestB31ExpiredContext(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.IsolationRules(), `{"resource":"r","count":1}`)
	load(t, g.FlowRules(), `{"resource":"r","count":1000000,"controlBehavior":2,"maxQueueingTimeMs":1}`)
	work := func(ctx context.Context) (int, error) { return 1, ctx.Err() }
	for i := range 10_000 {
		ctx, cancel := context.WithCancel(t.Context())
		if i%2 == 0 {
			cancel()
		} else {
			go cancel()
		}
		_, _ = tidegate.Do(ctx, "r", work, tidegate.On(g.Engine))
		cancel()
	}
	g.clock.Advance(time.Second)
	if n, err := tidegate.Do(t.Context(), "r", work, tidegate.On(g.Engine)); n != 1 || err != nil {
		t.Errorf("a normal call: %d, %v", n, err)
	}
	g.idle()
}
