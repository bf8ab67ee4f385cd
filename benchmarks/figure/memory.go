package figure

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/hotspot"
)

// Touched returns the heap per resource without rules straight after three calls of each, names included.
func Touched(n int) (float64, error) {
	return footprint(n, func(*clock, *tidegate.Engine, []string) {})
}

// Idle is Touched, and then no call for 61 s and one pass of maintenance.
func Idle(n int) (float64, error) {
	return footprint(n, func(c *clock, e *tidegate.Engine, _ []string) {
		c.advance(61 * time.Second)
		e.Maintain()
	})
}

// Busy is the heap per resource after more than a minute in which the given number of goroutines called every
// resource twice a second, all in the same order, so that they meet.
func Busy(n, goroutines int) (float64, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(goroutines))
	return footprint(n, func(c *clock, e *tidegate.Engine, names []string) {
		for half := range 2 * 65 {
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for _, name := range names {
						call(e, name)
					}
				})
			}
			wg.Wait()
			if half%20 == 19 {
				e.Maintain() // as every ten seconds
			}
			c.advance(500 * time.Millisecond)
		}
	})
}

func footprint(n int, then func(*clock, *tidegate.Engine, []string)) (float64, error) {
	before := heap()
	c := newClock()
	e, err := engineOn(c)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	names := guard.Names("res", n)
	for range 3 {
		for _, name := range names {
			call(e, name)
		}
	}
	then(c, e, names)
	after := heap()
	runtime.KeepAlive(names)
	runtime.KeepAlive(e)
	return (after - before) / float64(n), nil
}

// HotValue returns the heap per value of a hot parameter in a table full of n strings.
func HotValue(n int) (float64, error) {
	e, err := tidegate.New()
	if err != nil {
		return 0, err
	}
	defer e.Close()
	first := 0
	rule := hotspot.Rule{Resource: "hot", ParamIdx: &first, Count: 1e9, ParamsMaxCapacity: int64(n)}
	if _, err := e.ParamRules().Load(rule); err != nil {
		return 0, err
	}
	enter := func(i int) error {
		entry, err := e.Enter(context.Background(), "hot", tidegate.Call{Args: []tidegate.Arg{tidegate.String("", "key-"+strconv.Itoa(1_000_000+i))}})
		entry.Exit(nil)
		return err
	}
	if err := enter(0); err != nil {
		return 0, err
	}
	before := heap()
	for i := range n {
		if err := enter(i); err != nil {
			return 0, err
		}
	}
	after := heap()
	runtime.KeepAlive(e)
	return (after - before) / float64(n), nil
}

// ReplacedRules returns by how much the heap grows while n rules in use are replaced by others, after they were
// replaced until all buckets of the windows had been used.
func ReplacedRules(n int) (float64, error) {
	c := newClock()
	e, err := engineOn(c)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	const warm, generations = 8, 16
	var size float64
	for generation := range generations {
		if generation == warm {
			size = heap()
		}
		if err := loadFlow(e, n, float64(generation+1)*1e9); err != nil {
			return 0, err
		}
		for i := range n {
			call(e, resourceName(i))
		}
		c.advance(250 * time.Millisecond)
	}
	after := heap()
	runtime.KeepAlive(e)
	return after - size, nil
}
