package tidegate_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
)

const overflow = "__overflow__"

func TestCapOnResources(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGuard(t, tidegate.WithMaxResources(3), tidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	load(t, g.FlowRules(), `{"resource":"named","count":1}`, `{"resource":"late.*","regex":true,"count":2}`)
	for i := range 5 {
		g.call(fmt.Sprint("r", i), nil)
	}
	if got := g.Resources(); !slices.Equal(got, []string{overflow, "r0", "r1", "r2"}) {
		t.Errorf("resources %v", got)
	}
	if s := g.stats(overflow); s.TotalPass != 2 {
		t.Errorf("the overflow counts %+v, want two passes", s)
	}
	// Named by a plain rule, never refused.
	g.call("named", nil)
	g.blocked("named", tidegate.ErrFlow)
	// Matched only by a pattern: they share one resource, under the rule.
	g.call("late1", nil)
	g.call("late2", nil)
	g.blocked("late3", tidegate.ErrFlow)
	g.call("r9", nil)
	if n := g.Counters().ResourceOverflow; n != 6 {
		t.Errorf("%d calls beyond the cap counted, want 6", n)
	}
	if lines := strings.Count(log.String(), "too many resources"); lines != 1 {
		t.Errorf("%d warnings within a minute: %s", lines, log.String())
	}
	g.idle()
}

// A plain rule for a name that went to the overflow must guard that name alone.
func TestOverflowIsNotTheNameThatMadeIt(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithMaxResources(1))
	g.call("first", nil)
	g.call("second", nil) // the first beyond the cap
	load(t, g.FlowRules(), `{"resource":"second","count":0}`)
	g.blocked("second", tidegate.ErrFlow)
	g.call("third", nil)
	g.SetObserve(true) // compiles every plan anew
	g.SetObserve(false)
	g.call("third", nil)
	g.blocked("second", tidegate.ErrFlow)
}

// When rules change, what stands for many names goes on under the rules that match them.
func TestOverflowFollowsTheRules(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithMaxResources(1))
	g.call("first", nil)
	g.call("x1", nil)
	load(t, g.FlowRules(), `{"resource":"x.*","regex":true,"count":0}`)
	g.blocked("x1", tidegate.ErrFlow)
	g.blocked("x2", tidegate.ErrFlow)
	g.call("y", nil)
	load(t, g.FlowRules())
	g.call("x1", nil)
}

func TestCapHoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	for range 8 {
		g := newGuard(t, tidegate.WithMaxResources(10), tidegate.WithMaxOrigins(5), tidegate.WithMaxContexts(5))
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := range 20 {
					g.call(fmt.Sprint("r", w, "-", i), nil)
					g.call("shared", nil, tidegate.Call{Origin: fmt.Sprint("o", w, "-", i), Entrance: fmt.Sprint("e", w, "-", i)})
				}
			})
		}
		wg.Wait()
		if n := len(g.Resources()); n > 11 {
			t.Fatalf("%d resources, cap 10 and one for the rest", n)
		}
		if n := len(g.Origins("shared")); n > 6 {
			t.Fatalf("%d origins, cap 5 and one for the rest", n)
		}
		if n := len(g.Tree()); n > 7 {
			t.Fatalf("%d contexts, cap 5, the default one and one for the rest", n)
		}
		g.idle()
		_ = g.Close()
	}
}

func TestCapOnOriginsAndContexts(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithMaxOrigins(2), tidegate.WithMaxContexts(2))
	for i := range 5 {
		g.call("r", nil, tidegate.Call{Origin: fmt.Sprint("o", i), Entrance: fmt.Sprint("e", i)})
	}
	if got := g.Origins("r"); !slices.Equal(got, []string{overflow, "o0", "o1"}) {
		t.Errorf("origins %v", got)
	}
	if s, ok := g.OriginStats("r", overflow); !ok || s.TotalPass != 3 {
		t.Errorf("the overflow origin counts %+v", s)
	}
	if s, ok := g.ContextStats("r", overflow); !ok || s.TotalPass != 3 {
		t.Errorf("the overflow context counts %+v", s)
	}
	if c := g.Counters(); c.OriginOverflow != 3 || c.ContextOverflow < 3 {
		t.Errorf("counters %+v", c)
	}
	// Rules for an origin still see its name.
	load(t, g.FlowRules(), `{"resource":"r","limitApp":"o9","count":0}`)
	g.blocked("r", tidegate.ErrFlow, tidegate.Call{Origin: "o9"})
	g.call("r", nil, tidegate.Call{Origin: "o8"})
	g.call("r", nil)
}

func TestIdleResourcesGo(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithIdleTimeout(2*time.Minute))
	load(t, g.FlowRules(), `{"resource":"named","count":100}`, `{"resource":"p.*","regex":true,"count":100}`)
	load(t, g.DegradeRules(), `{"resource":"o.*","regex":true,"grade":2,"count":0,"minRequestAmount":1,"timeWindow":600}`)
	for _, name := range []string{"plain", "named", "pattern"} {
		g.at(0).call(name, nil)
	}
	g.call("open", errCall)
	flying := g.pass("flying")
	g.at(119_000).Maintain()
	if n := len(g.Resources()); n != 5 {
		t.Errorf("%d resources before the time, want 5", n)
	}
	g.at(121_000).Maintain()
	if got := g.Resources(); !slices.Equal(got, []string{"flying", "named", "open"}) {
		t.Errorf("resources %v: want those named by a rule, in flight, or with an open breaker", got)
	}
	flying.Exit(nil)
	if s := g.stats("flying"); s.Active != 0 || s.AvgRT != 121_000 {
		t.Errorf("the late exit: %+v", s)
	}
	g.at(700_000).call("open", nil) // the probe closes it
	g.at(900_000).Maintain()
	if got := g.Resources(); !slices.Equal(got, []string{"named"}) {
		t.Errorf("resources %v", got)
	}
	g.call("plain", nil)
	if s := g.stats("plain"); s.TotalPass != 1 {
		t.Errorf("back again: %+v", s)
	}
}

// At the cap, names idle for ten seconds make room for those in use.
func TestIdleNamesMakeRoom(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithMaxResources(2))
	g.at(0).call("a", nil)
	g.call("b", nil)
	g.at(5_000).call("a", nil)
	g.at(11_000).call("c", nil)
	g.Maintain()
	g.call("c", nil)
	if got := g.Resources(); !slices.Equal(got, []string{overflow, "a", "c"}) {
		t.Errorf("resources %v, want b to have made room for c", got)
	}
	g.at(60_000).Maintain() // no pressure since: nothing goes
	if got := g.Resources(); len(got) != 3 {
		t.Errorf("resources %v", got)
	}
}

// A steady flow of new names keeps a steady number of resources, and all names soon have one of their own.
func TestSteadyNamesKeepASteadySize(t *testing.T) {
	t.Parallel()
	for _, every := range []int64{10_000, 60_000} {
		const limit, perMinute = 400, 180
		g := newGuard(t, tidegate.WithMaxResources(limit), tidegate.WithIdleTimeout(time.Hour))
		least, most, beyond := limit+1, 0, int64(0)
		name := 0
		for at := every; at <= 30*60_000; at += every {
			for range perMinute * every / 60_000 {
				g.call(fmt.Sprint("name", name), nil)
				name++
			}
			g.at(at).Maintain()
			if at == 10*60_000 {
				beyond = g.Counters().ResourceOverflow
			}
			if at >= 10*60_000 {
				least, most = min(least, len(g.Resources())), max(most, len(g.Resources()))
			}
		}
		if most-least > limit/20 {
			t.Errorf("a pass every %d ms: %d to %d resources", every, least, most)
		}
		if n := g.Counters().ResourceOverflow - beyond; n != 0 {
			t.Errorf("a pass every %d ms: %d calls without a resource of their own", every, n)
		}
	}
}

func TestOriginsAndContextsGo(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithIdleTimeout(time.Minute))
	g.at(0).call("r", nil, tidegate.Call{Origin: "o", Entrance: "e"})
	for at := int64(0); at <= 120_000; at += 10_000 {
		g.at(at).call("r", nil)
		g.Maintain()
	}
	if _, ok := g.OriginStats("r", "o"); ok {
		t.Error("the idle origin is still there")
	}
	if _, ok := g.ContextStats("r", "e"); ok {
		t.Error("the idle context is still there")
	}
	if _, ok := g.EntranceStats("e"); ok {
		t.Error("the entrance without nodes is still there")
	}
	if len(g.Tree()) != 1 || len(g.Resources()) != 1 {
		t.Error("what is in use went too")
	}
}

func TestMaintainConcurrently(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithIdleTimeout(time.Minute), tidegate.WithMaxResources(20))
	load(t, g.FlowRules(), `{"resource":".*","regex":true,"count":3,"grade":0}`)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					g.Maintain()
					g.clock.Advance(20 * time.Second)
					runtime.Gosched()
				}
			}
		})
	}
	var callers sync.WaitGroup
	for w := range 8 {
		callers.Go(func() {
			for i := range 300 {
				outer, err := g.Enter(t.Context(), fmt.Sprint("r", (w+i)%30), tidegate.Call{Entrance: fmt.Sprint("e", i%3), Origin: fmt.Sprint("o", i%4), Inbound: true})
				if err != nil {
					continue
				}
				inner, err := g.Enter(tidegate.ContextWith(t.Context(), outer), fmt.Sprint("r", i%30), tidegate.Call{})
				outer.Exit(nil)
				if err == nil {
					inner.Exit(nil)
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	wg.Wait()
	g.idle()
	g.clock.Advance(10 * time.Minute)
	g.Maintain()
	g.Maintain()
	if left := g.Resources(); len(left) > 1 {
		t.Errorf("resources left: %v", left)
	}
	for _, entrance := range g.Tree() {
		if entrance.Name != "sentinel_default_context" && len(entrance.Children) > 0 && entrance.Children[0].Name != overflow {
			t.Errorf("nodes left in the tree: %+v", entrance)
		}
	}
}

// One million distinct names cost no more memory than the cap allows.
func TestMillionNames(t *testing.T) { // not parallel: it looks at the heap
	names := 1_000_000
	if raceEnabled {
		names = 20_000
	}
	g := newGuard(t, tidegate.WithMaxResources(1_000))
	run := func(from, to int) {
		for i := from; i < to; i++ {
			entry, _ := g.enter(fmt.Sprint("user/", i))
			entry.Exit(nil)
			if i%2_000 == 0 {
				g.clock.Advance(time.Second)
				g.Maintain()
			}
		}
	}
	run(0, names/10)
	before := heap()
	run(names/10, names)
	if after := heap(); after > before+before/5+512<<10 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}
