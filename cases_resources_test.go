package tidegate_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
)

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestB89DynamicNames(t *testing.T) { // not parallel: it looks at the heap
	limit, perMinute := 2_000, int64(5_000)
	if raceEnabled {
		limit, perMinute = 400, 1_000
	}
	g := newGuard(t, tidegate.WithMaxResources(limit), tidegate.WithIdleTimeout(10*time.Minute))
	var after10, most int64
	for minute := range int64(60) {
		for i := range perMinute {
			g.clock.set(minute*60_000 + i*60_000/perMinute)
			entry, err := g.enter(fmt.Sprint("name", minute, "-", i))
			if err != nil {
				t.Fatal(err)
			}
			entry.Exit(nil)
		}
		g.Maintain()
		if live := len(g.Resources()); live > limit+1 {
			t.Fatalf("minute %d: %d resources, cap %d and one for the rest", minute, live, limit)
		}
		if minute == 10 {
			after10 = heap()
		}
		if minute%10 == 9 && minute > 10 {
			most = max(most, heap())
		}
	}
	if most > after10+after10/10+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes after the first ten minutes", after10, most)
	}
	if g.Counters().ResourceOverflow == 0 {
		t.Error("the overflow was not counted")
	}
	g.at(71 * 60_000).Maintain()
	for _, name := range g.Resources() {
		if name != "__overflow__" {
			t.Errorf("%s is still there 11 minutes after the traffic", name)
		}
	}
}

func TestB90NothingLeftBehind(t *testing.T) { // not parallel: it counts goroutines
	goroutines := runtime.NumGoroutine()
	cycles, resources := 100, 1_000
	if raceEnabled {
		cycles, resources = 10, 200
	}
	e, m := newEngine(t, tidegate.WithIdleTimeout(time.Minute))
	g := guard{Engine: e, clock: m, t: t}
	cycle := func(n int) {
		var flows []flow.Rule
		var breakers []circuitbreaker.Rule
		for i := range resources {
			name := fmt.Sprint("r", n, "-", i)
			flows = append(flows, flow.Rule{Resource: name, Count: 1})
			breakers = append(breakers, circuitbreaker.Rule{Resource: name, Grade: circuitbreaker.ErrorCount, Count: 5, TimeWindow: 1})
		}
		must(t, e.FlowRules().Load, flows...)
		must(t, e.DegradeRules().Load, breakers...)
		for _, r := range flows {
			g.count(2, r.Resource)
		}
		must(t, e.FlowRules().Load)
		must(t, e.DegradeRules().Load)
		g.clock.Advance(2 * time.Minute)
		e.Maintain()
		other, err := tidegate.New()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = other.FlowRules().Load(flows...)
		_ = other.Close()
	}
	for n := range 5 {
		cycle(n)
	}
	before := heap()
	for n := range cycles {
		cycle(n + 5)
	}
	after := heap()
	if after > before+before/20+256<<10 {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
	if left := e.Resources(); len(left) != 0 {
		t.Errorf("%d resources left", len(left))
	}
	_ = e.Close()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines+2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) { // one that has been told to end may need a moment
			t.Fatalf("%d goroutines, %d at first", runtime.NumGoroutine(), goroutines)
		}
	}
}
