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
			i := uint64(0)
			calls := func(n int) func() {
				return func() {
					for range n {
						_ = g.Do(0, i, nothing)
						i++
					}
				}
			}
			calls(c.Size())()
			if n := leastAllocs(calls(1000)); n != 0 {
				t.Errorf("%v allocations in 1,000 calls, want none", n)
			}
		})
	}
}

// leastAllocs returns what f allocates, without what may happen once: as on a busy machine a window's next second.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(5, f)
	for range 2 {
		least = min(least, testing.AllocsPerRun(5, f))
	}
	return least
}

// One allocation in a hundred calls is found, which an average per call would round to none.
func TestAllocsAreNotRoundedAway(t *testing.T) {
	var sink *int
	call := 0
	if n := leastAllocs(func() {
		for range 1000 {
			if call++; call%100 == 0 {
				sink = new(int)
			}
		}
	}); n < 10 || sink == nil {
		t.Errorf("%v allocations in 1,000 calls, want 10", n)
	}
}
