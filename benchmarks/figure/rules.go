package figure

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/measure"
	"github.com/tidegate-go/tidegate/flow"
)

func resourceName(i int) string { return "res-" + strconv.Itoa(1_000_000+i) }

func loadFlow(e *tidegate.Engine, n int, count float64) error {
	rules := make([]flow.Rule, n)
	for i := range rules {
		rules[i] = flow.Rule{Resource: resourceName(i), Count: count}
	}
	_, err := e.FlowRules().Load(rules...)
	return err
}

// LoadRules returns the seconds that loading n flow rules into a new engine takes, the least of three.
func LoadRules(n int) (float64, error) {
	best := time.Hour
	for range 3 {
		e, err := tidegate.New()
		if err != nil {
			return 0, err
		}
		start := time.Now()
		err = loadFlow(e, n, 1e9)
		best = min(best, time.Since(start))
		_ = e.Close()
		if err != nil {
			return 0, err
		}
	}
	return best.Seconds(), nil
}

// UpdateLatency returns the 99.9th percentile of a call's duration, in milliseconds, while n rules that differ each time are
// loaded one time after the other; the caller keeps half of one core busy.
func UpdateLatency(n int, length time.Duration) (float64, error) {
	e, err := tidegate.New()
	if err != nil {
		return 0, err
	}
	defer e.Close()
	if err := loadFlow(e, n, 1e9); err != nil {
		return 0, err
	}
	for i := range n {
		call(e, resourceName(i))
	}
	var stop atomic.Bool
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() {
		for generation := 2; !stop.Load(); generation++ {
			if err := loadFlow(e, n, float64(generation)*1e9); err != nil {
				failed = err
				return
			}
		}
	})
	took := halfBusy(length, func(i int) { call(e, resourceName(i%n)) })
	stop.Store(true)
	wg.Wait()
	slices.Sort(took)
	return float64(took[len(took)*999/1000]) / float64(time.Millisecond), failed
}

// halfBusy calls f for half of the time and returns how long each call took.
func halfBusy(length time.Duration, f func(i int)) []time.Duration {
	const busy = 500 * time.Microsecond
	took := make([]time.Duration, 0, 1<<22)
	i := 0
	for begin := time.Now(); time.Since(begin) < length; time.Sleep(busy) {
		for burst := time.Now(); time.Since(burst) < busy; i++ {
			start := time.Now()
			f(i)
			took = append(took, time.Since(start))
		}
	}
	return took
}

// IdleCPU returns the share of one core, in percent, that an engine with n idle resources uses: what its passes of
// maintenance cost, one every ten seconds.
func IdleCPU(n int) (float64, error) {
	e, err := tidegate.New()
	if err != nil {
		return 0, err
	}
	defer e.Close()
	for _, name := range guard.Names("res", n) {
		call(e, name)
	}
	var passes []float64
	for range 11 {
		start := measure.CPUTime()
		e.Maintain()
		passes = append(passes, (measure.CPUTime() - start).Seconds())
	}
	return measure.Median(passes) / 10 * 100, nil
}
