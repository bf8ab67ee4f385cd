package measure_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

// allocating makes a case whose calls allocate when the number of the call says so.
func allocating(when func(call uint64) bool) guard.Case {
	var sink [2]atomic.Pointer[[64]byte]
	var called atomic.Uint64
	return guard.Case{Name: "test/allocating", New: func(int) (guard.Guard, func(), error) {
		return guard.Func(func(w int, _ uint64, work func() error) error {
			if when(called.Add(1)) {
				sink[w].Store(new([64]byte))
			}
			return work()
		}), nil, nil
	}}
}

func allocsOf(t *testing.T, c guard.Case, cores int) float64 {
	t.Helper()
	taken, err := measure.Run(c, measure.Options{Cores: cores, Slice: 2 * time.Millisecond, Slices: 8, Limit: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return measure.Allocs(taken)
}

func TestRunSeesRareAllocations(t *testing.T) {
	for _, cores := range []int{1, 2} {
		for _, every := range []uint64{1, 10, 100} {
			want, got := 1/float64(every), 0.0
			for range 5 { // what else the process allocates meanwhile counts too
				got = allocsOf(t, allocating(func(call uint64) bool { return call%every == 0 }), cores)
				if got <= 1.05*want {
					break
				}
			}
			if got < 0.95*want || got > 1.05*want || got <= measure.Stray {
				t.Errorf("on %d cores, one allocation in %d calls: %v per call", cores, every, got)
			}
		}
	}
}

// What the first calls allocate, for tables that grow, is not counted as what a call allocates.
func TestRunLeavesOutWhatIsAllocatedOnce(t *testing.T) {
	for _, cores := range []int{1, 2} {
		if got := allocsOf(t, allocating(func(call uint64) bool { return call%2 == 0 && call < 50_000 }), cores); got > measure.Stray {
			t.Errorf("on %d cores: %v per call", cores, got)
		}
	}
}

func TestAllocsOfSlices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allocs []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{2}, 2},
		{[]float64{0, 0.4, 0}, 0},
		{[]float64{0, 0.4, 0, 0}, 0},
		{[]float64{0.01, 0.01, 0.01, 0.4}, 0.01},
		{[]float64{0, 0.3, 0, 0.3}, 0.1},
	} {
		var taken []measure.Slice
		for _, a := range c.allocs {
			taken = append(taken, measure.Slice{Allocs: a})
		}
		if got := measure.Allocs(taken); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%v: %v, want %v", c.allocs, got, c.want)
		}
	}
}
