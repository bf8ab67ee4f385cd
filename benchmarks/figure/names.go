package figure

import (
	"fmt"
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
// that fill the cap. All names lie scattered in memory, each call's in a place of its own: what is compared is what the
// engine does, not how far a name is from the processor.
func NewNamesRatio(limit, n int) (float64, error) {
	e, err := tidegate.New(tidegate.WithMaxResources(limit))
	if err != nil {
		return 0, err
	}
	defer e.Close()
	known := guard.Scattered(n, func(i int) string { return fmt.Sprintf("res-%06d", i%limit) })
	fresh := guard.Scattered(n, func(i int) string { return fmt.Sprintf("new-%06d", i) })
	for _, name := range known[:limit] {
		call(e, name)
	}
	part := n / 10
	var ratios []float64
	for from := 0; from < n; from += part {
		costs := [2]time.Duration{}
		for k, names := range [...][]string{known, fresh} {
			costs[k] = cpuOf(func() {
				for _, name := range names[from : from+part] {
					call(e, name)
				}
			})
		}
		ratios = append(ratios, float64(costs[1])/float64(costs[0]))
	}
	return measure.Median(ratios), nil
}

func cpuOf(f func()) time.Duration {
	start := measure.CPUTime()
	f()
	return measure.CPUTime() - start
}
