package figure

import (
	"runtime"
	"strconv"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

// NewNamesGrowth returns by how much the heap grows while n distinct names pass through a cap, after as many names
// as the cap allows.
func NewNamesGrowth(limit, n int) (float64, error) {
	e, err := tidegate.New(tidegate.WithMaxResources(limit))
	if err != nil {
		return 0, err
	}
	defer e.Close()
	enter := func(from, to int) {
		for i := from; i < to; i++ {
			call(e, "new-"+strconv.Itoa(1_000_000+i))
		}
	}
	enter(0, 2*limit)
	before := heap()
	enter(2*limit, n)
	after := heap()
	runtime.KeepAlive(e)
	return after - before, nil
}

// NewNamesRatio returns the time of n calls with n distinct names through a cap, over that of n calls with the names
// that fill the cap.
func NewNamesRatio(limit, n int) (float64, error) {
	e, err := tidegate.New(tidegate.WithMaxResources(limit))
	if err != nil {
		return 0, err
	}
	defer e.Close()
	known, fresh := guard.Names("res", limit), guard.Names("new", n)
	for _, name := range known {
		call(e, name)
	}
	part := n / 10
	var ratios []float64
	for round := range 10 {
		old := cpuOf(func() {
			for i := range part {
				call(e, known[i%limit])
			}
		})
		changed := cpuOf(func() {
			for _, name := range fresh[round*part : (round+1)*part] {
				call(e, name)
			}
		})
		ratios = append(ratios, float64(changed)/float64(old))
	}
	return measure.Median(ratios), nil
}

// Days returns by how much the heap grows from the tenth minute of traffic with new names every minute to its end,
// on a clock moved by hand.
func Days(length time.Duration, perMinute int) (float64, error) {
	c := newClock()
	e, err := engineOn(c)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	const steps = 2 // per minute, each with a pass of maintenance
	var early float64
	name := 0
	for minute := range int(length / time.Minute) {
		if minute == 10 {
			early = heap()
		}
		for range steps {
			for range perMinute / steps {
				call(e, "new-"+strconv.Itoa(10_000_000+name))
				name++
			}
			c.advance(time.Minute / steps)
			e.Maintain()
		}
	}
	after := heap()
	runtime.KeepAlive(e)
	return after - early, nil
}

func cpuOf(f func()) time.Duration {
	start := measure.CPUTime()
	f()
	return measure.CPUTime() - start
}
