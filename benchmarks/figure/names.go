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

func cpuOf(f func()) time.Duration {
	start := measure.CPUTime()
	f()
	return measure.CPUTime() - start
}
