// Package figure measures what is no time per call: memory per resource and value, loading and changing rules, the
// flood of new names, an idle engine. Each figure wants a process of its own.
package figure

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate"
)

// Figure is one number.
type Figure struct {
	Name    string
	Unit    string
	Slow    bool // takes a minute
	Measure func() (float64, error)
}

// All returns every figure. The names are distinct.
func All() []Figure {
	return append(tokenFigures(), []Figure{
		{Name: "memory/touched-resource", Unit: "B", Measure: func() (float64, error) { return Touched(resources) }},
		{Name: "memory/idle-resource", Unit: "B", Measure: func() (float64, error) { return Idle(resources) }},
		{Name: "memory/busy-resource", Unit: "B", Measure: func() (float64, error) { return Busy(resources, 2) }},
		{Name: "memory/hot-value", Unit: "B", Measure: func() (float64, error) { return HotValue(20_000) }},
		{Name: "memory/new-names-growth", Unit: "B", Measure: func() (float64, error) { return NewNamesGrowth(10_000, 1_000_000) }},
		{Name: "memory/day-of-new-names-growth", Unit: "B", Slow: true, Measure: func() (float64, error) { return Days(24*time.Hour, 5_000) }},
		{Name: "memory/replaced-rules-growth", Unit: "B", Measure: func() (float64, error) { return ReplacedRules(10_000) }},
		{Name: "time/new-names-ratio", Unit: "x", Measure: func() (float64, error) { return NewNamesRatio(10_000, 1_000_000) }},
		{Name: "rules/load-100k", Unit: "s", Measure: func() (float64, error) { return LoadRules(100_000) }},
		{Name: "rules/update-10k-p99.9", Unit: "ms", Measure: func() (float64, error) { return UpdateLatency(10_000, 2*time.Second) }},
		{Name: "idle/cpu-10k-resources", Unit: "%", Measure: func() (float64, error) { return IdleCPU(resources) }},
	}...)
}

// Find returns the figure of that name.
func Find(name string) (Figure, bool) {
	for _, f := range All() {
		if f.Name == name {
			return f, true
		}
	}
	return Figure{}, false
}

const resources = 10_000

// clock is a clock that is moved by hand.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time                                { return time.Unix(0, c.ns.Load()) }
func (c *clock) Wait(_ context.Context, d time.Duration) error { c.advance(d); return nil }
func (c *clock) advance(d time.Duration)                       { c.ns.Add(int64(d)) }
func engineOn(c *clock, options ...tidegate.Option) (*tidegate.Engine, error) {
	return tidegate.New(append(options, tidegate.WithClock(c))...)
}

// heap returns the bytes in use after collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func call(e *tidegate.Engine, name string) {
	entry, err := e.Enter(context.Background(), name, tidegate.Call{})
	if err == nil {
		entry.Exit(nil)
	}
}
