// Package measure times a case so that other work on the machine matters little. It takes short slices, each between
// two readings of a yardstick: the cost of one time.Since, measured on as many goroutines. A slice whose yardstick did not get its cores
// is dropped, CPU time stands for time, and the slice's cost is told in units of its own yardstick.
package measure

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

// Options say how to measure.
type Options struct {
	Cores  int           // goroutines, and GOMAXPROCS
	Slice  time.Duration // length of a slice
	Slices int           // clean slices wanted
	Limit  time.Duration // take no further slice after so long
}

// Result is the median over a case's clean slices, or over all of them if none was clean.
type Result struct {
	NS     float64 `json:"ns"`     // CPU time of the process per call
	Units  float64 `json:"units"`  // CPU time per call over the unit beside it
	Wall   float64 `json:"wall"`   // time per call of all goroutines together, over the unit beside it
	Unit   float64 `json:"unit"`   // CPU time of one time.Since, ns
	Allocs float64 `json:"allocs"` // per call
	Bytes  float64 `json:"bytes"`  // allocated per call
	Clean  int     `json:"clean"`  // clean slices
	All    int     `json:"all"`
}

const (
	chunk     = 256                     // calls that a goroutine takes at a time
	yardstick = 1500 * time.Microsecond // length of one reading of the yardstick
	gotCores  = 0.93                    // share of its cores that a clean yardstick had
	drift     = 1.15                    // between the yardsticks of a clean slice
)

// Run measures the case. It sets GOMAXPROCS of the process.
func Run(c guard.Case, o Options) (Result, error) {
	runtime.GOMAXPROCS(o.Cores)
	n := c.Size()
	g, stop, err := c.New(n)
	if err != nil {
		return Result{}, fmt.Errorf("setting up %s: %w", c.Name, err)
	}
	if stop != nil {
		defer stop()
	}
	work := newWork()
	for i := range n {
		_ = g.Do(0, uint64(i), work) // makes every resource
	}
	s := &series{guard: g, size: n, refused: c.Refused, work: work, cores: o.Cores, next: make([]place, o.Cores)}
	for i := range s.next {
		s.next[i].i = uint64(i * n / o.Cores) // each goroutine begins at another resource
	}
	runtime.GC()
	all := s.take(o)
	if wrong := s.wrong.Load(); wrong > 0 {
		return Result{}, fmt.Errorf("%s: %d calls were decided the other way", c.Name, wrong)
	}
	return summarize(all)
}

// newWork returns the guarded work, which does nothing.
func newWork() func() error {
	var never bool
	return func() error {
		if never {
			return errors.New("never")
		}
		return nil
	}
}

type place struct {
	i uint64
	_ [120]byte
}

type series struct {
	guard   guard.Guard
	size    int
	refused bool
	work    func() error
	cores   int
	next    []place
	wrong   atomic.Int64
}

type slice struct {
	ns, wall, unit, allocs, bytes float64
	clean                         bool
}

func (s *series) take(o Options) []slice {
	calls := s.calibrate(s.calls, o.Slice)
	readings := s.calibrate(s.clocks, yardstick)
	begin := time.Now()
	var all []slice
	clean := 0
	before := s.time(s.clocks, readings)
	for clean < o.Slices && (len(all) == 0 || time.Since(begin) < o.Limit) {
		var start, end runtime.MemStats
		runtime.ReadMemStats(&start)
		cost := s.time(s.calls, calls)
		runtime.ReadMemStats(&end)
		after := s.time(s.clocks, readings)
		one := slice{
			ns: cost.cpu, wall: cost.wall, unit: (before.cpu + after.cpu) / 2,
			allocs: float64(end.Mallocs-start.Mallocs) / float64(calls),
			bytes:  float64(end.TotalAlloc-start.TotalAlloc) / float64(calls),
			clean:  min(before.share, after.share) >= gotCores && max(before.cpu, after.cpu) <= drift*min(before.cpu, after.cpu),
		}
		if one.clean {
			clean++
		}
		all = append(all, one)
		before = after
	}
	return all
}

// calibrate returns how many rounds of f take about d.
func (s *series) calibrate(f func(worker, n int), d time.Duration) int {
	for n := s.cores * chunk * 4; ; n *= 2 {
		took := time.Duration(s.time(f, n).cpu * float64(n) / float64(s.cores))
		if took >= d/4 {
			return max(n, int(float64(n)*float64(d)/float64(took)))
		}
	}
}

type cost struct {
	cpu, wall float64 // ns per round
	share     float64 // of the cores, that the process had
}

// time runs n rounds of f, divided over the cores.
func (s *series) time(f func(worker, n int), n int) cost {
	cpu, wall := CPUTime(), time.Now()
	if s.cores == 1 {
		f(0, n)
	} else {
		s.spread(f, n)
	}
	elapsed := time.Since(wall)
	used := CPUTime() - cpu
	return cost{
		cpu: float64(used) / float64(n), wall: float64(elapsed) / float64(n),
		share: float64(used) / float64(elapsed) / float64(s.cores),
	}
}

// spread lets every core take chunks until n rounds are done, so that all end together.
func (s *series) spread(f func(worker, n int), n int) {
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for w := range s.cores {
		wg.Go(func() {
			for left.Add(-chunk) > -chunk {
				f(w, chunk)
			}
		})
	}
	wg.Wait()
}

func (s *series) calls(worker, n int) {
	i := s.next[worker].i
	var wrong int64
	for range n {
		if (s.guard.Do(worker, i, s.work) != nil) != s.refused {
			wrong++
		}
		i++
	}
	s.next[worker].i = i
	if wrong > 0 {
		s.wrong.Add(wrong)
	}
}

func (s *series) clocks(worker, n int) {
	epoch := time.Now()
	var sum time.Duration
	for range n {
		sum += time.Since(epoch)
	}
	if sum < 0 {
		s.wrong.Add(1)
	}
}

func summarize(all []slice) (Result, error) {
	used := slices.DeleteFunc(slices.Clone(all), func(s slice) bool { return !s.clean })
	r := Result{Clean: len(used), All: len(all)}
	if len(used) == 0 {
		used = all
	}
	column := func(f func(slice) float64) float64 {
		values := make([]float64, len(used))
		for i, s := range used {
			values[i] = f(s)
		}
		return Median(values)
	}
	r.NS = column(func(s slice) float64 { return s.ns })
	r.Units = column(func(s slice) float64 { return s.ns / s.unit })
	r.Wall = column(func(s slice) float64 { return s.wall / s.unit })
	r.Unit = column(func(s slice) float64 { return s.unit })
	r.Allocs = column(func(s slice) float64 { return s.allocs })
	r.Bytes = column(func(s slice) float64 { return s.bytes })
	if math.IsNaN(r.Units) || math.IsInf(r.Units, 0) {
		return r, errors.New("the process's CPU time cannot be read here")
	}
	return r, nil
}

// Median returns the middle of the values, 0 without any.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
