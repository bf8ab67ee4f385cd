package measure

import (
	"runtime"
	"slices"
	"time"
)

// Stray is how many allocations per call are none of the call's own: one in two hundred. An allocation that a call makes
// once in a hundred times is above it.
const Stray = 0.005

// allocated is what was taken from the heap.
type allocated struct{ objects, bytes float64 }

// counted is time with a count of the allocations.
func (s *series) counted(f func(worker, n int), n int) cost {
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	c := s.time(f, n)
	runtime.ReadMemStats(&end)
	c.allocated = allocated{float64(end.Mallocs - start.Mallocs), float64(end.TotalAlloc - start.TotalAlloc)}
	return c
}

// settle calls until calls no longer allocate, for a quarter of the limit at most. Counters are spread over the cores when
// these first meet on them, and tables grow: that happens once, so it is no cost of a call. A call that allocates by itself
// cannot settle; it is not waited for.
func (s *series) settle(o Options) {
	const quiet = 3 // slices in a row
	calls := s.calibrate(s.calls, o.Slice)
	begin := time.Now()
	for settled := 0; settled < quiet && time.Since(begin) < o.Limit/4; {
		switch perCall := s.counted(s.calls, calls).objects / float64(calls); {
		case perCall >= 1:
			return
		case perCall < Stray:
			settled++
		default:
			settled = 0
		}
	}
}

// Allocs returns the allocations per call in the slices, steady ones or not: a busy machine changes none of them. The
// quarter with the most is left out. It is there that something grew once that the warm-up had left small, such as
// the counters of resources on which two cores had not yet met; what calls allocate by themselves is in all slices.
func Allocs(taken []Slice) float64 {
	var values []float64
	for _, s := range taken {
		values = append(values, s.Allocs)
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	kept := max(1, len(values)*3/4)
	sum := 0.0
	for _, v := range values[:kept] {
		sum += v
	}
	return sum / float64(kept)
}
