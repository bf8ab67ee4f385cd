package tidegate_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/isolation"
)

// manual is a clock that tests move.
type manual struct{ ns atomic.Int64 }

func newManual() *manual {
	m := &manual{}
	m.ns.Store(1_700_000_040_000 * 1e6) // a multiple of a minute
	return m
}

func (m *manual) Now() time.Time          { return time.Unix(0, m.ns.Load()) }
func (m *manual) Advance(d time.Duration) { m.ns.Add(int64(d)) }
func (m *manual) Wait(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.Advance(d)
	return nil
}

func newEngine(t testing.TB, options ...tidegate.Option) (*tidegate.Engine, *manual) {
	t.Helper()
	m := newManual()
	e, err := tidegate.New(append([]tidegate.Option{tidegate.WithClock(m)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e, m
}

func TestRejectExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "r", Count: 20}); err != nil {
		t.Fatal(err)
	}
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			entry, err := e.Enter(t.Context(), "r", tidegate.Call{})
			if err == nil {
				passed.Add(1)
				entry.Exit(nil)
			} else if !errors.Is(err, tidegate.ErrFlow) {
				t.Errorf("refused by %v", err)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 20 {
		t.Errorf("%d calls passed, want exactly 20", passed.Load())
	}
}

func TestConcurrencyExactUnderConcurrency(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "r", Grade: flow.GradeConcurrency, Count: 10}); err != nil {
		t.Fatal(err)
	}
	var passed, inFlight, most atomic.Int64
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			entry, err := e.Enter(t.Context(), "r", tidegate.Call{})
			if err != nil {
				return
			}
			passed.Add(1)
			n := inFlight.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			inFlight.Add(-1)
			entry.Exit(nil)
		})
	}
	wg.Wait()
	if most.Load() > 10 || passed.Load() < 10 {
		t.Errorf("%d in flight at most, %d passed", most.Load(), passed.Load())
	}
	if s, _ := e.ResourceStats("r"); s.Active != 0 {
		t.Errorf("%d in flight at the end, want 0", s.Active)
	}
}

func TestSmoke(t *testing.T) {
	t.Parallel()
	e, m := newEngine(t)
	queue := int64(30000)
	must(t, e.FlowRules().Load, flow.Rule{Resource: "achang:1", Count: 0.1, ControlBehavior: flow.Throttling, MaxQueueingTimeMs: &queue})
	must(t, e.IsolationRules().Load, isolation.Rule{Resource: "iso", Count: 3})
	must(t, e.DegradeRules().Load, circuitbreaker.Rule{Resource: "b", Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 10})
	entry, err := e.Enter(t.Context(), "achang:1", tidegate.Call{})
	if err != nil || entry.Waited() != 0 {
		t.Fatal(err, entry.Waited())
	}
	for range 5 {
		en, err := e.Enter(t.Context(), "b", tidegate.Call{})
		if err != nil {
			t.Fatal(err)
		}
		en.Exit(errors.New("x"))
	}
	if _, err := e.Enter(t.Context(), "b", tidegate.Call{}); !errors.Is(err, tidegate.ErrCircuitOpen) {
		t.Fatal(err)
	}
	m.Advance(10 * time.Second)
	en, err := e.Enter(t.Context(), "b", tidegate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Enter(t.Context(), "b", tidegate.Call{}); err == nil {
		t.Fatal("second probe")
	}
	en.Exit(nil)
	a, err := e.Enter(t.Context(), "iso", tidegate.Call{Count: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Enter(t.Context(), "iso", tidegate.Call{Count: 2}); !errors.Is(err, tidegate.ErrIsolation) {
		t.Fatal(err)
	}
	a.Exit(nil)
}

func must[R any](t *testing.T, load func(...R) (tidegate.Report, error), rules ...R) {
	t.Helper()
	if _, err := load(rules...); err != nil {
		t.Fatal(err)
	}
}
