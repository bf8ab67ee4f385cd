// Package measure times a case so that other work on the machine matters little. It takes short slices, each between
// two readings of yardsticks: the cost of one time.Since and of some plain instructions, on as many goroutines. A slice whose yardstick did not get
// its cores can be told from others, CPU time stands for time, and a slice's cost is read in units of its yardstick.
package measure

import (
	"errors"
	"fmt"
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
	Slices int           // steady slices wanted
	Limit  time.Duration // take no further slice after so long
}

// Slice is what one slice measured. All costs are per call, in nanoseconds.
type Slice struct {
	CPU    float64 `json:"cpu"`    // of the whole process
	Wall   float64 `json:"wall"`   // of all goroutines together: two that do not hinder each other halve it
	Unit   float64 `json:"unit"`   // CPU time of one time.Since, beside it
	Work   float64 `json:"work"`   // CPU time of a fixed number of plain instructions, beside it
	Alone  float64 `json:"alone"`  // CPU time of the same calls by one goroutine, beside it; 0 if there is no other one
	Allocs float64 `json:"allocs"` // per call, without those of the harness
	Bytes  float64 `json:"bytes"`  // likewise
	Steady bool    `json:"steady"` // the yardsticks before and after had their cores, and agree
}

const (
	chunk     = 256                     // calls that a goroutine takes at a time
	yardstick = 1500 * time.Microsecond // length of one reading of the yardstick
	gotCores  = 0.93                    // share of its cores that a clean yardstick had
	drift     = 1.15                    // between the yardsticks of a clean slice
)

// Run measures the case. It sets GOMAXPROCS of the process.
func Run(c guard.Case, o Options) ([]Slice, error) {
	runtime.GOMAXPROCS(o.Cores)
	s, stop, err := newSeries(c, o.Cores)
	if err != nil {
		return nil, err
	}
	defer stop()
	if s.solo = s; o.Cores > 1 && !c.Exclusive {
		var stop func()
		if s.solo, stop, err = newSeries(c, 1); err != nil {
			return nil, err
		}
		defer stop()
	}
	s.settle(o)
	runtime.GC()
	all := s.take(o)
	if wrong := s.wrong.Load() + s.solo.wrong.Load(); wrong > 0 {
		return nil, fmt.Errorf("%s: %d calls were decided the other way", c.Name, wrong)
	}
	return all, nil
}

// newSeries sets a case up for so many goroutines.
func newSeries(c guard.Case, cores int) (s *series, stop func(), err error) {
	n := c.Size()
	g, stop, err := c.New(n)
	if err != nil {
		return nil, nil, fmt.Errorf("setting up %s: %w", c.Name, err)
	}
	if stop == nil {
		stop = func() {}
	}
	work := newWork()
	for i := range n {
		_ = g.Do(0, uint64(i), work) // makes every resource
	}
	s = &series{guard: g, size: n, refused: c.Refused, work: work, cores: cores, next: make([]place, cores)}
	for i := range s.next {
		s.next[i].i = uint64(i * n / cores) // each goroutine begins at another resource
	}
	return s, stop, nil
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
	solo    *series // the case once more, for one goroutine; the same one if there cannot be two
}

func (s *series) take(o Options) []Slice {
	calls := s.calibrate(s.calls, o.Slice)
	readings, loops := s.calibrate(s.clocks, yardstick), s.calibrate(s.grind, yardstick)
	own := s.counted(s.clocks, readings).allocated // by the harness, each time
	begin := time.Now()
	var all []Slice
	steady := 0
	before, workBefore, aloneBefore := s.time(s.clocks, readings), s.time(s.grind, loops), s.alone(calls)
	for steady < o.Slices && (len(all) == 0 || time.Since(begin) < o.Limit) {
		cost := s.counted(s.calls, calls)
		after, workAfter, aloneAfter := s.time(s.clocks, readings), s.time(s.grind, loops), s.alone(calls)
		one := Slice{
			CPU: cost.cpu, Wall: cost.wall, Unit: (before.cpu + after.cpu) / 2, Work: (workBefore.cpu + workAfter.cpu) / 2,
			Alone:  (aloneBefore + aloneAfter) / 2,
			Allocs: max(0, cost.objects-own.objects) / float64(calls),
			Bytes:  max(0, cost.bytes-own.bytes) / float64(calls),
			Steady: min(before.share, after.share) >= gotCores && agree(before.cpu, after.cpu) && agree(workBefore.cpu, workAfter.cpu) &&
				(s.cores == 1 || cost.undisturbed()) && // on one core only CPU time is looked at
				agree(aloneBefore, aloneAfter),
		}
		if one.Steady {
			steady++
		}
		all = append(all, one)
		before, workBefore, aloneBefore = after, workAfter, aloneAfter
	}
	return all
}

// agree says whether two readings are alike.
func agree(before, after float64) bool { return max(before, after) <= drift*min(before, after) }

// alone returns the CPU time of a call while one goroutine calls and no other one does, for part of the time that so many
// calls take. How fast one core is depends on the machine's state: what two are compared with must be measured in the
// same one. The first calls, which find little in the core's caches, are left out.
func (s *series) alone(calls int) float64 {
	if s.cores == 1 {
		return 0
	}
	const part = 8
	n := max(1, calls/part)
	s.solo.calls(0, min(n, s.size))
	start := now()
	s.solo.calls(0, n)
	return float64(now().cpu-start.cpu) / float64(n)
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
	displaced bool    // another process took a core meanwhile
	allocated         // only what counted returns has it
}

// undisturbed says whether the time is that of the process alone. A process that waits for its own locks does not
// have all of its cores either.
func (c cost) undisturbed() bool { return c.share >= gotCores || !c.displaced }

// time runs n rounds of f, divided over the cores.
func (s *series) time(f func(worker, n int), n int) cost {
	start := now()
	if s.cores == 1 {
		f(0, n)
	} else {
		start = s.spread(f, n)
	}
	end := now()
	used, elapsed := float64(end.cpu-start.cpu), float64(end.wall.Sub(start.wall))
	return cost{
		cpu: used / float64(n), wall: elapsed / float64(n), share: used / elapsed / float64(s.cores),
		displaced: end.displaced > start.displaced,
	}
}

// moment is what the clocks show.
type moment struct {
	cpu       time.Duration
	displaced int64
	wall      time.Time
}

func now() moment {
	cpu, displaced := usage()
	return moment{cpu, displaced, time.Now()}
}

// spread lets every core take chunks until n rounds are done, so that all end together. They begin together too, at
// the moment returned.
func (s *series) spread(f func(worker, n int), n int) (start moment) {
	var left, waiting atomic.Int64
	left.Store(int64(n))
	waiting.Store(int64(s.cores))
	var begun atomic.Bool
	var wg sync.WaitGroup
	for w := range s.cores {
		wg.Go(func() {
			if waiting.Add(-1) == 0 {
				start = now()
				begun.Store(true)
			}
			for !begun.Load() {
				runtime.Gosched()
			}
			for left.Add(-chunk) > -chunk {
				f(w, chunk)
			}
		})
	}
	wg.Wait()
	return start
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

// grind does nothing but plain instructions, none of which waits for another one for long. Where another machine's thread
// runs on the same core they take up to twice as long, like most of a guarded call, while a reading of the clock, which
// waits for the core anyway, hardly does.
func (s *series) grind(_, n int) {
	var a, b, c, d, e, f uint64 = 1, 2, 3, 4, 5, 6
	for range n {
		for range 8 {
			a, b, c, d, e, f = a+1, b+2, c+3, d+4, e+5, f+6
			a, b, c, d, e, f = a^5, b^6, c^7, d^8, e^1, f^2
		}
	}
	if a|b|c|d|e|f == 0 {
		s.wrong.Add(1)
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
