package tidegate_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate"
)

// A flood of refused calls is decided on a shorter way than the first of them; everything that can be seen is the same.
func TestFloodOfRefusals(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	for name, options := range map[string][]tidegate.Option{
		"plain":     nil,
		"callbacks": {tidegate.WithCallbacks(tidegate.Callbacks{Block: func(tidegate.Info, *tidegate.BlockError) { told.Add(1) }})},
	} {
		g := newGuard(t, options...)
		load(t, g.FlowRules(), `{"resource":"r","count":2}`)
		for second := range int64(3) {
			g.at(second * 1000)
			g.call("r", nil)
			g.call("r", nil)
			first := g.refusal("r", tidegate.ErrFlow)
			for _, call := range []tidegate.Call{{}, {Inbound: true}, {Origin: "app"}, {Entrance: "web"}, {Count: 3}, {}} {
				if again := g.refusal("r", tidegate.ErrFlow, call); again != first {
					t.Errorf("%s: a call %+v is refused with another error than the first", name, call)
				}
			}
			if e := first.Explain(); e.Measured != 2 || e.Limit != 2 {
				t.Errorf("%s: explained as %+v", name, e)
			}
		}
		if s := g.stats("r"); s.TotalPass != 6 || s.TotalBlock != 3*(1+1+1+1+1+3+1) || s.Active != 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if s := g.InboundStats(); s.TotalBlock != 3 {
			t.Errorf("%s: %d inbound blocks, want 3", name, s.TotalBlock)
		}
		if s, _ := g.OriginStats("r", "app"); s.TotalBlock != 3 {
			t.Errorf("%s: %d blocks of the origin, want 3", name, s.TotalBlock)
		}
	}
	if told.Load() != 3*7 {
		t.Errorf("callbacks were told of %d refusals, want 21", told.Load())
	}
}

// A breaker behind a limit refuses without the limit's places; when it closes, or the rules change, calls pass again.
func TestFloodAtAnOpenBreaker(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":5}`)
	load(t, g.DegradeRules(), tripsAtOnce)
	g.at(0).call("r", errCall)
	for range 20 {
		g.at(1000).blocked("r", tidegate.ErrCircuitOpen)
	}
	g.at(10_000).call("r", nil) // the probe
	if n := g.count(10, "r"); n != 4 {
		t.Errorf("%d calls passed beside the probe, want 4", n)
	}
	g.blocked("r", tidegate.ErrFlow)
	load(t, g.FlowRules())
	g.call("r", nil)
}

// The limit is exact while callers are refused and admitted at once.
func TestFloodAtSeveralProcs(t *testing.T) { // not parallel: GOMAXPROCS
	for _, procs := range []int{1, 2, 8} {
		old := runtime.GOMAXPROCS(procs)
		g := newGuard(t)
		load(t, g.FlowRules(), `{"resource":"r","count":100}`)
		const callers, calls, rounds = 32, 50, 5
		for round := range int64(rounds) {
			g.at(round * 1000)
			var passed atomic.Int64
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range calls {
						if entry, err := g.Enter(context.Background(), "r", tidegate.Call{}); err == nil {
							passed.Add(1)
							entry.Exit(nil)
						}
					}
				})
			}
			wg.Wait()
			if passed.Load() != 100 {
				t.Errorf("GOMAXPROCS %d: %d passed in a window, want 100", procs, passed.Load())
			}
		}
		if s := g.stats("r"); s.TotalPass != 100*rounds || s.TotalBlock != callers*calls*rounds-100*rounds || s.Active != 0 {
			t.Errorf("GOMAXPROCS %d: %+v", procs, s)
		}
		runtime.GOMAXPROCS(old)
	}
}

// Of several resources that are flooded at once one is decided on a still shorter way. Which one it is cannot be seen.
func TestFloodsOfSeveralResources(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"a","count":1}`, `{"resource":"b","count":2}`)
	for second := range int64(4) {
		g.at(second * 1000)
		if second == 2 {
			g.Maintain() // forgets which one it was
		}
		for _, name := range []string{"a", "b", "c", "b", "a", "b"} {
			inbound := tidegate.Call{Inbound: name == "b"}
			if n := g.count(5, name, inbound); n > 2 && name != "c" {
				t.Errorf("%d calls of %s passed", n, name)
			}
		}
	}
	for name, want := range map[string][2]int64{"a": {4, 36}, "b": {8, 52}, "c": {20, 0}} {
		if s := g.stats(name); s.TotalPass != want[0] || s.TotalBlock != want[1] || s.Active != 0 {
			t.Errorf("%s: %d passed, %d blocked, %d in flight; want %v", name, s.TotalPass, s.TotalBlock, s.Active, want)
		}
	}
	if s := g.InboundStats(); s.TotalPass != 8 || s.TotalBlock != 52 {
		t.Errorf("inbound: %d passed, %d blocked, want 8 and 52", s.TotalPass, s.TotalBlock)
	}
}
