package circuitbreaker_test

import (
	"math/rand"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// Calls of all sorts at once on a moving clock: no more probes than allowed hold a permit, events follow each other,
// and when the resource is well again the breaker closes.
func TestStressFindsItsWayBack(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		for _, probes := range []int{1, 3} {
			stress(t, procs, probes)
		}
	}
}

func stress(t *testing.T, procs, probes int) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var last circuitbreaker.State
	changes := 0
	rule := circuitbreaker.Rule{
		Resource: "r", Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 1, StatIntervalMs: 100,
		StatBucketCount: 2, ProbeNum: probes, ProbeTimeoutMs: 500,
	}
	b := circuitbreaker.NewBreaker(rule, "r", func(e circuitbreaker.Event) {
		if e.From != last {
			t.Errorf("%v>%v after a change to %v", e.From, e.To, last)
		}
		last = e.To
		changes++
	})
	var clock atomic.Int64
	clock.Store(at(0))
	var done sync.WaitGroup
	for worker := range 8 {
		done.Go(func() { stressCalls(t, b, &clock, int64(worker), probes) })
	}
	done.Wait()
	if changes < 20 {
		t.Errorf("%d procs, %d probes: only %d changes of state", procs, probes, changes)
	}
	recover3(t, b, clock.Load()+int64(3*time.Second), probes)
}

func stressCalls(t *testing.T, b *circuitbreaker.Breaker, clock *atomic.Int64, seed int64, probes int) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	for range 4000 {
		now := clock.Add(r.Int63n(2 * ms))
		decision := b.Check(now)
		if decision == circuitbreaker.Refuse {
			clock.Add(5 * ms)
			continue
		}
		var ticket circuitbreaker.Ticket
		if decision == circuitbreaker.Probe {
			var ok bool
			if ticket, ok = b.Acquire(now); !ok {
				continue
			}
			if n := b.Status(now).Probes; n > probes {
				t.Errorf("%d probes hold a permit, want at most %d", n, probes)
			}
		}
		if r.Intn(50) == 0 {
			runtime.Gosched()
		}
		now = clock.Add(r.Int63n(2 * ms))
		switch outcome := r.Intn(10); {
		case outcome == 0: // never ends
		case outcome <= 2:
			b.GiveBack(ticket, now)
		default:
			b.Complete(now, time.Millisecond, outcome <= 6, ticket)
		}
	}
}

// recover3 ends with a closed breaker after as many successful calls as there are probes.
func recover3(t *testing.T, b *circuitbreaker.Breaker, now int64, probes int) {
	t.Helper()
	for range probes {
		if b.Check(now) == circuitbreaker.Pass {
			break
		}
		ticket, ok := b.Acquire(now)
		if !ok {
			t.Fatalf("refused in state %v long after the recovery time: %+v", b.State(), b.Status(now))
		}
		b.Complete(now, 0, false, ticket)
	}
	if b.State() != circuitbreaker.Closed {
		t.Errorf("state %v after %d successes: %+v", b.State(), probes, b.Status(now))
	}
}
