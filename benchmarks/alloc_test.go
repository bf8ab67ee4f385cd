package benchmarks_test

import (
	"testing"

	"github.com/tidegate-go/tidegate/benchmarks/rows"
)

// Every row of this project passes or refuses its calls without an allocation, also where every call brings a new value
// through a full table.
func TestAllocsPerCall(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, c := range rows.Tidegate() {
		t.Run(c.Name, func(t *testing.T) {
			g, stop, err := c.New(c.Size())
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			nothing := func() error { return nil }
			for i := range c.Size() {
				_ = g.Do(0, uint64(i), nothing)
			}
			i := uint64(0)
			if n := testing.AllocsPerRun(2000, func() { _ = g.Do(0, i, nothing); i++ }); n != 0 {
				t.Errorf("%v allocations per call, want none", n)
			}
		})
	}
}
