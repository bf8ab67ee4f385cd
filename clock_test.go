package tidegate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
)

func paced(t *testing.T, perSecond float64) *tidegate.Engine {
	t.Helper()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	long := int64(100_000)
	if report, err := e.FlowRules().Load(flow.Rule{
		Resource: "r", Count: perSecond, ControlBehavior: flow.Throttling, MaxQueueingTimeMs: &long,
	}); err != nil {
		t.Fatal(report, err)
	}
	return e
}

// Calls wait on the machine's clock, also where that is a bubble's, and not at all beyond their context.
func TestWaitingOnTheMachinesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for perSecond, want := range map[float64]time.Duration{2: 3 * time.Second / 2, 2e6: 1500 * time.Nanosecond} {
			e := paced(t, perSecond)
			start := time.Now()
			for range 4 {
				entry, err := e.Enter(context.Background(), "r", tidegate.Call{})
				if err != nil {
					t.Fatal(err)
				}
				entry.Exit(nil)
			}
			if took := time.Since(start); took != want {
				t.Errorf("%v a second: four calls took %v, want %v", perSecond, took, want)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Nanosecond)
			defer cancel()
			if entry, err := e.Enter(ctx, "r", tidegate.Call{}); err == nil {
				entry.Exit(nil)
				t.Errorf("%v a second: a call waited longer than its context", perSecond)
			}
		}
	})
}
