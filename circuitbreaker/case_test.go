package circuitbreaker_test

import (
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// A check after the breaker refuses the call that would have been the probe.
func TestB33ProbeRefusedByALaterCheck(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	if d := g.Check(at(11_000)); d != circuitbreaker.Probe {
		t.Fatalf("decision %v, want probe", d)
	}
	g.is(circuitbreaker.Open) // the later check refused: nobody acquires
	g.expect(t)

	ticket := g.passes(at(11_000)) // or it refuses after the permit was taken
	g.is(circuitbreaker.HalfOpen)
	g.GiveBack(ticket, at(11_000))
	g.is(circuitbreaker.Open)
	g.expect(t, "OPEN>HALF_OPEN", "HALF_OPEN>OPEN=1("+circuitbreaker.CauseProbeGivenBack+")")
	if got := g.RetryAt(); got != at(10_000) {
		t.Errorf("due %d ms after the start, want still 10000", (got-at(0))/ms)
	}

	g.call(at(22_000), nil)
	g.is(circuitbreaker.Closed)
}

func TestB34OneOfTwoSimultaneousCallsIsTheProbe(t *testing.T) {
	t.Parallel()
	for round := range 1000 {
		g := opened(t, circuitbreaker.Rule{})
		if n := len(g.together(2, at(10_001))); n != 1 {
			t.Fatalf("round %d: %d calls passed, want 1", round, n)
		}
		g.is(circuitbreaker.HalfOpen)
	}
}

// together enters n calls at one time and returns the tickets of those that passed.
func (g guard) together(n int, now int64) []circuitbreaker.Ticket {
	var (
		start, done sync.WaitGroup
		mu          sync.Mutex
		tickets     []circuitbreaker.Ticket
	)
	start.Add(1)
	for range n {
		done.Go(func() {
			start.Wait()
			if ticket, ok := g.enter(now); ok {
				mu.Lock()
				defer mu.Unlock()
				tickets = append(tickets, ticket)
			}
		})
	}
	start.Done()
	done.Wait()
	return tickets
}

func TestB35KeptBreakerRecovers(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	g.refuses(at(9_999))
	g.call(at(10_001), nil)
	g.is(circuitbreaker.Closed)
	g.call(at(10_010), nil)
	g.expect(t, "OPEN>HALF_OPEN", "HALF_OPEN>CLOSED")
}

func TestB38RatioOneTrips(t *testing.T) {
	t.Parallel()
	one := 1.0
	slow := guarded(t, circuitbreaker.Rule{
		Count: 100, SlowRatioThreshold: &one, MinRequestAmount: 5, StatIntervalMs: 1000, TimeWindow: 10,
	})
	failing := guarded(t, circuitbreaker.Rule{Grade: circuitbreaker.ErrorRatio, Count: 1, TimeWindow: 10})
	mixed := guarded(t, circuitbreaker.Rule{Grade: circuitbreaker.ErrorRatio, Count: 1, TimeWindow: 10})
	for i := range 5 {
		slow.Complete(at(200), 200*time.Millisecond, false, slow.passes(at(0)))
		failing.call(at(0), errCall)
		mixed.Complete(at(0), 0, i != 4, mixed.passes(at(0)))
	}
	slow.refuses(at(200))
	failing.refuses(at(0))
	mixed.passes(at(0))
}

func TestB42ProbeThatNeverEnds(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{ProbeTimeoutMs: 10_000})
	lost := g.passes(at(10_001))
	g.refuses(at(10_002))
	g.refuses(at(20_000))
	second := g.passes(at(20_002))
	g.Complete(at(20_002), 0, false, second)
	g.is(circuitbreaker.Closed)
	g.Complete(at(20_005), 10_004*time.Millisecond, true, lost)
	g.is(circuitbreaker.Closed)
	g.passes(at(20_006))
	g.expect(t, "OPEN>HALF_OPEN", "HALF_OPEN>CLOSED")

	g.call(at(20_006), errCall)
	g.passes(at(30_006))
	if got := g.RetryAt(); got != at(40_006) {
		t.Errorf("the next lease is %d ms, want 10000 as before", (got-at(30_006))/ms)
	}
}

func TestB43NoMoreProbesThanAllowed(t *testing.T) {
	t.Parallel()
	for _, probes := range []int{1, 2, 3} {
		for round := range 200 {
			g := opened(t, circuitbreaker.Rule{ProbeNum: probes})
			tickets := g.together(50, at(10_001))
			if len(tickets) != probes {
				t.Fatalf("round %d: %d calls passed, want %d", round, len(tickets), probes)
			}
			failing := rand.New(rand.NewSource(int64(round))).Intn(probes + 1)
			g.finish(tickets, failing, at(10_002))
			if failing == probes {
				g.is(circuitbreaker.Closed)
				g.expect(t, "OPEN>HALF_OPEN", "HALF_OPEN>CLOSED")
				continue
			}
			g.is(circuitbreaker.Open)
			g.expect(t, "OPEN>HALF_OPEN", "HALF_OPEN>OPEN=1")
		}
	}
}

// finish ends all probes at once, the one with the index failing with an error.
func (g guard) finish(tickets []circuitbreaker.Ticket, failing int, now int64) {
	var done sync.WaitGroup
	for i, ticket := range tickets {
		done.Go(func() { g.Complete(now, 0, i == failing, ticket) })
	}
	done.Wait()
}

func TestB44RefusalsAreNotCounted(t *testing.T) {
	t.Parallel()
	g := guarded(t, circuitbreaker.Rule{Grade: circuitbreaker.ErrorRatio, Count: 0.5, MinRequestAmount: 5, TimeWindow: 10})
	for range 5 {
		g.call(at(0), errCall)
	}
	for i := range int64(10_000) {
		g.refuses(at(min(1+i, 9_999)))
	}
	g.call(at(10_001), nil)
	for range 20 {
		g.call(at(10_002), nil)
	}
	g.is(circuitbreaker.Closed)
	if s := g.Status(at(10_002)); s.Bad != 0 || s.Total != 20 {
		t.Errorf("window holds %d of %d, want 0 of 20", s.Bad, s.Total)
	}
}

func TestB45CancelledProbeIsNoOutcome(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	g.GiveBack(g.passes(at(10_000)), at(10_100))
	g.is(circuitbreaker.Open)
	if ticket := g.passes(at(10_100)); ticket == (circuitbreaker.Ticket{}) {
		t.Error("the next call is no probe")
	}
}

func TestB47RetireReportsTheReset(t *testing.T) {
	t.Parallel()
	open, half, closed := opened(t, circuitbreaker.Rule{}), opened(t, circuitbreaker.Rule{}), opened(t, circuitbreaker.Rule{})
	probe := half.passes(at(10_000))
	closed.call(at(10_000), nil)
	for g, want := range map[guard][]string{
		open:   {"OPEN>CLOSED(rule changed)"},
		half:   {"OPEN>HALF_OPEN", "HALF_OPEN>CLOSED(rule changed)"},
		closed: {"OPEN>HALF_OPEN", "HALF_OPEN>CLOSED"},
	} {
		g.Retire(circuitbreaker.CauseRuleChanged)
		g.Retire(circuitbreaker.CauseRuleChanged)
		g.expect(t, want...)
		g.is(circuitbreaker.Closed)
		g.Complete(at(10_001), 0, true, probe)
		g.call(at(10_001), errCall) // a call that still holds it must not open it again
		g.is(circuitbreaker.Closed)
		g.expect(t)
	}
}

// Calls that fail together open the breaker once.
func TestTripsOnce(t *testing.T) {
	t.Parallel()
	for round := range 1000 {
		g := guarded(t, circuitbreaker.Rule{Grade: circuitbreaker.ErrorCount, Count: 3, MinRequestAmount: 1, TimeWindow: 1})
		var done sync.WaitGroup
		var failed atomic.Int64
		for range 8 {
			done.Go(func() {
				if ticket, ok := g.enter(at(0)); ok {
					g.Complete(at(0), 0, true, ticket)
					failed.Add(1)
				}
			})
		}
		done.Wait()
		events := g.take()
		value := 0
		if len(events) == 1 {
			_, _ = fmt.Sscanf(events[0], "CLOSED>OPEN=%d", &value)
		}
		if value < 4 || value > int(failed.Load()) {
			t.Fatalf("round %d: events %q after %d failures, want one CLOSED>OPEN", round, events, failed.Load())
		}
	}
}
