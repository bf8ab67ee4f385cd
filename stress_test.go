package tidegate_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/isolation"
)

func TestThousandCallersInAFrozenWindow(t *testing.T) { // not parallel: GOMAXPROCS
	for _, procs := range []int{1, 2, 4} {
		old := runtime.GOMAXPROCS(procs)
		g := newGuard(t)
		load(t, g.FlowRules(), `{"resource":"r","count":20}`, `{"resource":"o","count":20,"limitApp":"app"}`, `{"resource":"w","count":20,"statIntervalInMs":5000}`, `{"resource":"g","count":0.5}`)
		for resource, want := range map[string]int{"r": 20, "w": 20, "g": 1} {
			entries := g.together(1_000, resource)
			if len(entries) != want {
				t.Errorf("GOMAXPROCS %d, %s: %d passed, want exactly %d", procs, resource, len(entries), want)
			}
			for _, entry := range entries {
				entry.Exit(nil)
			}
		}
		g.idle()
		runtime.GOMAXPROCS(old)
	}
}

// Under limits so far that callers of several cores set admissions aside, just as many pass as the lowest one allows,
// and what rules measure is what passed.
func TestFarLimitsAreExact(t *testing.T) { // not parallel: GOMAXPROCS
	const callers, calls, most = 32, 2_000, 40_000
	for _, procs := range []int{2, 8} {
		old := runtime.GOMAXPROCS(procs)
		g := newGuard(t)
		load(t, g.FlowRules(), `{"resource":"r","count":50000}`, `{"resource":"r","count":40000,"limitApp":"app"}`,
			`{"resource":"other","count":39999,"strategy":1,"refResource":"r"}`)
		load(t, g.SystemRules(), `{"qps":45000}`)
		call := tidegate.Call{Inbound: true, Origin: "app"}
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range calls {
					if entry, err := g.Enter(context.Background(), "r", call); err == nil {
						passed.Add(1)
						entry.Exit(nil)
					}
				}
			})
		}
		wg.Wait()
		if got := passed.Load(); got != most {
			t.Errorf("GOMAXPROCS %d: %d passed, want exactly %d", procs, got, most)
		}
		if _, err := g.enter("other"); err == nil {
			t.Errorf("GOMAXPROCS %d: the related rule let a call pass beside %d", procs, most)
		}
		g.idle()
		runtime.GOMAXPROCS(old)
	}
}

// Whatever the clock does, no window of aligned buckets has more passes than the count.
func TestNeverAboveTheCountWhileTimeMoves(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":50}`)
	var mu sync.Mutex
	passed := map[int64]int{} // by 500 ms
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2_000 {
				before := g.clock.ns.Add(ms)
				entry, err := g.enter("r")
				after := g.clock.ns.Load()
				if err != nil {
					continue
				}
				if bucket := before / (500 * ms); bucket == after/(500*ms) { // else the bucket is not known
					mu.Lock()
					passed[bucket]++
					mu.Unlock()
				}
				entry.Exit(nil)
			}
		})
	}
	wg.Wait()
	for bucket, n := range passed {
		if both := n + passed[bucket+1]; both > 50 {
			t.Errorf("%d passed in one second, want at most 50", both)
		}
	}
	g.idle()
}

func TestConcurrencyAtSeveralProcs(t *testing.T) { // not parallel: GOMAXPROCS
	for _, procs := range []int{1, 2, 4} {
		old := runtime.GOMAXPROCS(procs)
		for name, loadRules := range map[string]func(g guard){
			"flow":      func(g guard) { load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":10}`) },
			"isolation": func(g guard) { load(t, g.IsolationRules(), `{"resource":"r","count":10}`) },
			"both": func(g guard) {
				load(t, g.FlowRules(), `{"resource":"r","grade":0,"count":12}`, `{"resource":"r","grade":0,"count":10,"limitApp":"app"}`)
				load(t, g.IsolationRules(), `{"resource":"r","count":11}`)
			},
		} {
			g := newGuard(t)
			before := []tidegate.Entry{g.pass("r", tidegate.Call{Origin: "app"}), g.pass("r", tidegate.Call{Origin: "app"})}
			loadRules(g)
			var inside, most, passed atomic.Int64
			inside.Store(2)
			var wg sync.WaitGroup
			for range 200 {
				wg.Go(func() {
					for range 10 {
						entry, err := g.enter("r", tidegate.Call{Origin: "app"})
						if err != nil {
							runtime.Gosched()
							continue
						}
						passed.Add(1)
						n := inside.Add(1)
						for have := most.Load(); n > have && !most.CompareAndSwap(have, n); have = most.Load() {
						}
						runtime.Gosched()
						inside.Add(-1)
						entry.Exit(nil)
					}
				})
			}
			wg.Go(func() {
				for _, entry := range before {
					runtime.Gosched()
					inside.Add(-1)
					entry.Exit(nil)
				}
			})
			wg.Wait()
			if most.Load() > 10 || passed.Load() < 10 {
				t.Errorf("GOMAXPROCS %d, %s: at most %d in flight, %d passed, want at most 10", procs, name, most.Load(), passed.Load())
			}
			g.idle()
			if n := len(g.together(50, "r")); n > 12 || n == 0 {
				t.Errorf("afterwards %d pass", n)
			}
		}
		runtime.GOMAXPROCS(old)
	}
}

// Everything at once: all behaviours, callers that leave, reloads, switches, settings, housekeeping. At the end nothing
// is in flight and the limits hold as on the first day. Without a check of the user's some calls are asked by none.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	everythingAtOnce(t, tidegate.WithCheck(check{"sometimes", 0, everyTenth()}))
}

func TestEverythingAtOnceWithoutChecks(t *testing.T) {
	t.Parallel()
	everythingAtOnce(t)
}

func everythingAtOnce(t *testing.T, options ...tidegate.Option) {
	t.Helper()
	g := newGuard(t, append(options, tidegate.WithMaxResources(30), tidegate.WithMaxOrigins(4), tidegate.WithMaxContexts(4))...)
	var wg sync.WaitGroup
	ctx, stop := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer stop()
	var calls atomic.Int64
	for w := range 16 {
		wg.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				calls.Add(1)
				g.strangeCall(i)
			}
		})
	}
	control := func(f func(i int)) {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				f(i)
				time.Sleep(time.Millisecond)
			}
		})
	}
	control(func(i int) { g.loadStrange(i) })
	control(func(i int) { g.loadStrange(i + 1) })
	control(func(i int) { g.clock.Advance(time.Duration(i%400) * time.Millisecond) })
	control(func(i int) { g.Maintain(); g.Tree(); g.Seconds("r1", time.Unix(0, t0)) })
	control(func(i int) { g.SetObserve(i%3 == 0); g.SetEnabled(i%7 != 0) })
	control(func(i int) {
		if err := g.SetWindow([]time.Duration{1e9, 2e9, 500e6}[i%3], []int{2, 4, 5}[i%3]); err != nil {
			t.Error(err)
		}
		_ = g.SetOccupyTimeout(time.Duration(i%500) * time.Millisecond)
	})
	wg.Wait()
	g.SetEnabled(true)
	g.SetObserve(false)
	g.idle()
	if n := g.Counters().InternalErrors; n != 0 {
		t.Errorf("%d internal errors", n)
	}
	if err := g.SetWindow(time.Second, 2); err != nil {
		t.Error(err)
	}
	must(t, g.DegradeRules().Load)
	must(t, g.IsolationRules().Load, isolation.Rule{Resource: "r1", Count: 3})
	must(t, g.FlowRules().Load, flow.Rule{Resource: "r2", Count: 20}, flow.Rule{Resource: "r3", Grade: flow.GradeConcurrency, Count: 5})
	g.clock.Advance(time.Hour)
	for resource, want := range map[string]int{"r1": 3, "r2": 20, "r3": 5} {
		entries := g.together(100, resource)
		if len(entries) > want || len(entries) < want-want/5 { // the custom check refuses some
			t.Errorf("%s: %d passed, want about %d", resource, len(entries), want)
		}
		for _, entry := range entries {
			entry.Exit(nil)
		}
	}
	g.idle()
	if calls.Load() < 100 {
		t.Errorf("only %d calls", calls.Load())
	}
}

func everyTenth() func(*chain.Context) error {
	var n atomic.Int64
	return func(*chain.Context) error {
		if n.Add(1)%10 == 0 {
			return errors.New("sometimes")
		}
		return nil
	}
}

func (g guard) strangeCall(i int) {
	call := tidegate.Call{
		Inbound: i%2 == 0, Count: i % 3, Prioritized: i%4 == 0, Free: i%13 == 0,
		Origin: fmt.Sprint("o", i%6), Entrance: fmt.Sprint("e", i%6), Args: []tidegate.Arg{tidegate.Int("n", i%3)},
	}
	ctx := context.Background()
	if i%11 == 0 {
		gone, leave := context.WithCancel(ctx)
		leave()
		ctx = gone
	}
	outer, err := g.Enter(ctx, fmt.Sprint("r", i%40), call)
	inner, _ := g.Enter(tidegate.ContextWith(ctx, outer), fmt.Sprint("r", (i+1)%5), tidegate.Call{Prioritized: i%3 == 0})
	if err == nil && i%5 == 0 {
		outer.SetError(errCall)
	}
	for range i % 4 { // plain ones, of one resource, one after the other
		plain, _ := g.Enter(context.Background(), fmt.Sprint("r", (i+2)%5), tidegate.Call{})
		plain.Exit(nil)
		plain.Exit(errCall)
	}
	if i%2 == 0 {
		outer.Exit(nil)
		inner.Exit(errCall)
		outer.Exit(nil)
		return
	}
	inner.ExitN(i%4, nil)
	outer.Exit(err)
}

func (g guard) loadStrange(i int) {
	var rules []string
	for r := range 5 {
		rules = append(rules,
			fmt.Sprintf(`{"resource":"r%d","count":%d}`, r, (r+i)%4*5),
			fmt.Sprintf(`{"resource":"r%d","count":0.%d}`, r+5, 1+(r+i)%9),
			fmt.Sprintf(`{"resource":"r%d","count":%d,"grade":0}`, r, 2+(r+i)%3),
			fmt.Sprintf(`{"resource":"r%d","count":%d,"controlBehavior":%d,"maxQueueingTimeMs":20}`, r+10, 50+i%2, 1+(r+i)%3),
			fmt.Sprintf(`{"resource":"r%d","count":5,"limitApp":"%s"}`, r, []string{"o1", "other"}[i%2]),
			fmt.Sprintf(`{"resource":"r%d","count":9,"strategy":%d,"refResource":"%s"}`, r+15, 1+i%2, []string{"r1", "e1"}[i%2]),
			fmt.Sprintf(`{"resource":"r%d","count":9,"statIntervalInMs":%d,"mode":"%s"}`, r, 500+i%2*1000, []string{"enforce", "observe"}[r%2]),
		)
	}
	rules = append(rules, `{"resource":"r3.","regex":true,"count":30}`)
	load(g.t, g.FlowRules(), rules...)
	load(g.t, g.DegradeRules(), fmt.Sprintf(`{"resource":"*","grade":1,"count":0.%d,"timeWindow":1}`, 3+i%3), tripsAtOnce)
	load(g.t, g.IsolationRules(), fmt.Sprintf(`{"resource":"r%d","count":%d}`, i%5, 1+i%4), `{"resource":"r2.*","regex":true,"count":3}`)
	load(g.t, g.ParamRules(), fmt.Sprintf(`{"resource":"r%d","paramIdx":0,"count":2,"grade":%d}`, i%5, i%2))
}
