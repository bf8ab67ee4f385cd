package benchmarks_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/figure"
	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/peers"
	"github.com/tidegate-go/tidegate/benchmarks/rows"
)

// Every row decides as it says, so that what is measured is what is named. Cases that set up the whole process are left
// to command bench, which looks at every decision too.
func TestRowsDecide(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range slices.Concat(rows.Cases(), peers.Cases()) {
		if seen[c.Name] {
			t.Errorf("two rows are named %s", c.Name)
		}
		seen[c.Name] = true
		if c.Exclusive {
			continue
		}
		t.Run(c.Name, func(t *testing.T) { decides(t, c) })
	}
}

func decides(t *testing.T, c guard.Case) {
	g, stop, err := c.New(min(c.Size(), 100))
	if err != nil {
		t.Fatal(err)
	}
	if stop != nil {
		defer stop()
	}
	ran := 0
	for i := range uint64(200) {
		err := g.Do(0, i, func() error { ran++; return nil })
		if (err != nil) != c.Refused {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if want := map[bool]int{false: 200, true: 0}[c.Refused]; ran != want {
		t.Errorf("the work ran %d times, want %d", ran, want)
	}
}

// The limits on time here are those that a busy machine keeps too; the budgets proper are in command bench.
func TestRulesLoadAndChange(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes the time")
	}
	if s, err := figure.LoadRules(100_000); err != nil || s > 20 {
		t.Errorf("loading 100,000 rules took %.1f s (%v), want well below 20", s, err)
	}
	if ms, err := figure.UpdateLatency(10_000, 300*time.Millisecond); err != nil || ms > 20 {
		t.Errorf("99.9th percentile of a call during updates: %.2f ms (%v), want well below 20", ms, err)
	}
}
