package circuitbreaker_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

const ms = int64(time.Millisecond)

// at returns the time ms milliseconds after a moment that starts a bucket of any usual length.
func at(millis int64) int64 { return (1_700_000_000_000 + millis) * ms }

// journal keeps events as text, CLOSED>OPEN=0.5(cause), in order.
type journal struct {
	mu     sync.Mutex
	events []circuitbreaker.Event
}

func (j *journal) notify(e circuitbreaker.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var lines []string
	for _, e := range j.events {
		line := e.From.String() + ">" + e.To.String()
		if e.HasValue {
			line += fmt.Sprintf("=%g", e.Value)
		}
		if e.Cause != "" {
			line += "(" + e.Cause + ")"
		}
		lines = append(lines, line)
	}
	j.events = nil
	return lines
}

func (j *journal) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := j.take(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
}

var errCall = errors.New("x")

// guard plays the calls of a resource with one breaker.
type guard struct {
	*circuitbreaker.Breaker
	*journal
	t *testing.T
}

func guarded(t *testing.T, rule circuitbreaker.Rule) guard {
	t.Helper()
	rule.Resource = "r"
	if err := rule.Validate(); err != nil {
		t.Fatal(err)
	}
	j := &journal{}
	return guard{circuitbreaker.NewBreaker(rule, "r", j.notify), j, t}
}

func (g guard) enter(now int64) (circuitbreaker.Ticket, bool) {
	switch g.Check(now) {
	case circuitbreaker.Pass:
		return circuitbreaker.Ticket{}, true
	case circuitbreaker.Probe:
		return g.Acquire(now)
	case circuitbreaker.Refuse:
	}
	return circuitbreaker.Ticket{}, false
}

func (g guard) passes(now int64) circuitbreaker.Ticket {
	g.t.Helper()
	ticket, ok := g.enter(now)
	if !ok {
		g.t.Fatalf("refused in state %v", g.State())
	}
	return ticket
}

func (g guard) refuses(now int64) {
	g.t.Helper()
	if _, ok := g.enter(now); ok {
		g.t.Fatalf("admitted in state %v", g.State())
	}
}

// call enters at now and completes at once.
func (g guard) call(now int64, err error) {
	g.t.Helper()
	g.Complete(now, 0, err != nil, g.passes(now))
}

func (g guard) is(want circuitbreaker.State) {
	g.t.Helper()
	if got := g.State(); got != want {
		g.t.Fatalf("state %v, want %v", got, want)
	}
}

// opened returns a breaker that opened at at(0) and is due at at(10_000).
func opened(t *testing.T, rule circuitbreaker.Rule) guard {
	t.Helper()
	rule.Grade, rule.Count, rule.MinRequestAmount, rule.TimeWindow = circuitbreaker.ErrorCount, 0, 1, 10
	g := guarded(t, rule)
	g.call(at(0), errCall)
	g.is(circuitbreaker.Open)
	g.expect(t, "CLOSED>OPEN=1")
	return g
}

func TestTripsByGrade(t *testing.T) {
	t.Parallel()
	half := 0.5
	type outcome struct {
		bad, good int
		trips     string
	}
	tests := map[string]struct {
		rule     circuitbreaker.Rule
		outcomes []outcome // each on a breaker of its own; bad ones come first
	}{
		"error count": {
			circuitbreaker.Rule{Grade: circuitbreaker.ErrorCount, Count: 5},
			[]outcome{{5, 0, ""}, {5, 50, ""}, {6, 0, "CLOSED>OPEN=6"}},
		},
		"error ratio": {
			circuitbreaker.Rule{Grade: circuitbreaker.ErrorRatio, Count: 0.6},
			[]outcome{{4, 0, ""}, {5, 0, "CLOSED>OPEN=1"}, {3, 2, ""}, {4, 1, "CLOSED>OPEN=0.8"}, {0, 9, ""}},
		},
		"error ratio 0": {
			circuitbreaker.Rule{Grade: circuitbreaker.ErrorRatio, Count: 0},
			[]outcome{{0, 9, ""}, {1, 4, "CLOSED>OPEN=0.2"}},
		},
		"error ratio 1": {
			circuitbreaker.Rule{Grade: circuitbreaker.ErrorRatio, Count: 1},
			[]outcome{{4, 1, ""}, {4, 0, ""}, {5, 0, "CLOSED>OPEN=1"}},
		},
		"slow ratio": {
			circuitbreaker.Rule{Count: 9.5, SlowRatioThreshold: &half},
			[]outcome{{3, 2, "CLOSED>OPEN=0.6"}, {2, 3, ""}, {2, 2, ""}},
		},
		"slow ratio 1 by default": {
			circuitbreaker.Rule{Count: 9.5},
			[]outcome{{4, 1, ""}, {4, 0, ""}, {5, 0, "CLOSED>OPEN=1"}},
		},
		"no limit": {
			circuitbreaker.Rule{Count: math.Inf(1)},
			[]outcome{{9, 0, ""}},
		},
	}
	for name, test := range tests {
		for _, o := range test.outcomes {
			test.rule.TimeWindow = 1
			g := guarded(t, test.rule)
			for range o.bad {
				g.Complete(at(0), time.Duration(10*ms+1), true, circuitbreaker.Ticket{})
			}
			for range o.good {
				g.Complete(at(0), time.Duration(10*ms), false, circuitbreaker.Ticket{})
			}
			want := []string(nil)
			if o.trips != "" {
				want = []string{o.trips}
			}
			if got := g.take(); !slices.Equal(got, want) {
				t.Errorf("%s: after %d bad and %d good events are %q, want %q", name, o.bad, o.good, got, want)
			}
		}
	}
}

func TestCountsVanishAtTheBucketEdge(t *testing.T) {
	t.Parallel()
	g := guarded(t, circuitbreaker.Rule{Grade: circuitbreaker.ErrorCount, Count: 2, MinRequestAmount: 1, TimeWindow: 1})
	for _, millis := range []int64{998, 999, 1000, 1999, 2000, 2999} {
		g.call(at(millis), errCall)
		g.is(circuitbreaker.Closed)
	}
	g.call(at(2999), errCall)
	g.expect(t, "CLOSED>OPEN=3")
}

func TestSeveralBucketsSlide(t *testing.T) {
	t.Parallel()
	rule := circuitbreaker.Rule{
		Grade: circuitbreaker.ErrorCount, Count: 2, MinRequestAmount: 1, TimeWindow: 1,
		StatIntervalMs: 1000, StatBucketCount: 4,
	}
	g := guarded(t, rule)
	g.call(at(800), errCall)
	g.call(at(1200), errCall)
	g.call(at(1760), errCall) // the call at 800 has left the window
	g.is(circuitbreaker.Closed)
	g.call(at(1999), errCall)
	g.expect(t, "CLOSED>OPEN=3")
}

// A bad call that is counted after the next bucket has begun still belongs to its own.
func TestLateCompletionKeepsItsBucket(t *testing.T) {
	t.Parallel()
	g := guarded(t, circuitbreaker.Rule{Grade: circuitbreaker.ErrorCount, Count: 1, MinRequestAmount: 1, TimeWindow: 1})
	g.call(at(999), errCall)
	g.call(at(1000), errCall)
	g.is(circuitbreaker.Closed)
	g.call(at(999), errCall)
	g.expect(t, "CLOSED>OPEN=2")
	if got := g.RetryAt(); got != at(1999) {
		t.Errorf("due %d ms after the start, want 1999", (got-at(0))/ms)
	}
}

// What is left of a window that has partly been given up decides nothing.
func TestVeryLateCompletionDoesNotTrip(t *testing.T) {
	t.Parallel()
	g := guarded(t, circuitbreaker.Rule{
		Grade: circuitbreaker.ErrorRatio, Count: 0.5, MinRequestAmount: 1, TimeWindow: 1,
		StatIntervalMs: 2000, StatBucketCount: 2,
	})
	g.call(at(0), nil)
	g.call(at(3000), nil) // takes the place of the bucket at 0
	g.call(at(1000), errCall)
	g.is(circuitbreaker.Closed)
	g.call(at(5000), errCall)
	g.is(circuitbreaker.Open)
}

func TestOpenUntilRecoveryTime(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	g.refuses(at(10_000) - 1)
	if d := g.Check(at(10_000)); d != circuitbreaker.Probe {
		t.Fatalf("decision %v, want probe", d)
	}
	g.is(circuitbreaker.Open) // Check changes nothing
	probe := g.passes(at(10_000))
	if probe == (circuitbreaker.Ticket{}) {
		t.Fatal("a probe without a ticket")
	}
	g.refuses(at(10_000))
	g.Complete(at(10_500), time.Second/2, true, probe)
	g.is(circuitbreaker.Open)
	g.refuses(at(20_499))
	g.call(at(20_500), nil)
	g.expect(t, "OPEN>HALF_OPEN", "HALF_OPEN>OPEN=1", "OPEN>HALF_OPEN", "HALF_OPEN>CLOSED")
}

// Only the probe decides: calls that began earlier are ignored while open and half-open.
func TestOnlyTheProbeDecides(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	g.Complete(at(10), 0, false, circuitbreaker.Ticket{})
	g.is(circuitbreaker.Open)
	if s := g.Status(at(10)); s.Total != 1 {
		t.Errorf("%d calls counted, want only the one that opened it", s.Total)
	}
	probe := g.passes(at(10_000))
	g.Complete(at(10_000), 0, true, circuitbreaker.Ticket{})
	g.Complete(at(10_000), 0, false, circuitbreaker.Ticket{})
	g.is(circuitbreaker.HalfOpen)
	g.Complete(at(10_001), 0, false, probe)
	g.is(circuitbreaker.Closed)
	if s := g.Status(at(10_001)); s.Total != 0 || s.Bad != 0 {
		t.Errorf("window holds %d of %d after closing, want 0 of 0", s.Bad, s.Total)
	}
	g.Complete(at(10_001), 0, true, circuitbreaker.Ticket{}) // an old call, but the breaker is closed
	g.is(circuitbreaker.Open)
}

func TestAcquireAfterClosingIsAnOrdinaryCall(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	if d := g.Check(at(10_000)); d != circuitbreaker.Probe {
		t.Fatal(d)
	}
	g.call(at(10_000), nil) // another call is faster, and done
	ticket, ok := g.Acquire(at(10_000))
	if !ok || ticket != (circuitbreaker.Ticket{}) {
		t.Errorf("got ticket %v, %v; want an ordinary call", ticket, ok)
	}
}

func TestLongTimesSaturate(t *testing.T) {
	t.Parallel()
	rule := circuitbreaker.Rule{Grade: circuitbreaker.ErrorCount, MinRequestAmount: 1, TimeWindow: math.MaxInt32}
	g := guarded(t, rule)
	late := int64(math.MaxInt64 - 1)
	g.call(late, errCall)
	if got := g.RetryAt(); got != math.MaxInt64 {
		t.Errorf("due at %d, want the end of time", got)
	}
	g.refuses(late)

	g = guarded(t, rule)
	g.call(at(0), errCall) // the reference multiplies in 32 bits
	if got, want := g.RetryAt(), at(math.MaxInt32*1000); got != want {
		t.Errorf("due at %d, want %d", got, want)
	}
}

func TestZeroBreakerPasses(t *testing.T) {
	t.Parallel()
	var b circuitbreaker.Breaker
	b.Complete(at(0), time.Hour, true, circuitbreaker.Ticket{})
	b.GiveBack(circuitbreaker.Ticket{}, at(0))
	if _, ok := b.Acquire(at(0)); !ok || b.Check(at(0)) != circuitbreaker.Pass {
		t.Error("a zero Breaker refuses")
	}
	b.Retire(circuitbreaker.CauseRuleRemoved)
	if s := b.Status(at(0)); s.State != circuitbreaker.Closed || s.Total != 0 {
		t.Errorf("status %+v", s)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	rule := circuitbreaker.Rule{
		Grade: circuitbreaker.ErrorRatio, Count: 0.5, MinRequestAmount: 4, TimeWindow: 10, ProbeNum: 2, Tags: []string{"a"},
	}
	g := guarded(t, rule)
	for _, err := range []error{nil, errCall, errCall} {
		g.call(at(0), err)
	}
	s := g.Status(at(999))
	if s.State != circuitbreaker.Closed || s.Bad != 2 || s.Total != 3 || s.Ratio != 2.0/3 || !s.RetryAt.IsZero() {
		t.Errorf("closed: %+v", s)
	}
	if s := g.Status(at(1000)); s.Total != 0 || s.Ratio != 0 {
		t.Errorf("next bucket: %+v", s)
	}
	g.call(at(999), errCall)
	if s := g.Status(at(1000)); s.State != circuitbreaker.Open || !s.RetryAt.Equal(time.Unix(0, at(10_999))) {
		t.Errorf("open: %+v", s)
	}
	g.passes(at(10_999))
	s = g.Status(at(10_999))
	if s.State != circuitbreaker.HalfOpen || s.Probes != 1 || s.Resource != "r" || !s.Rule.Equal(g.Status(0).Rule) {
		t.Errorf("half-open: %+v", s)
	}
	s.Rule.Tags[0] = "changed"
	if g.Status(0).Rule.Tags[0] != "a" {
		t.Error("a status shares the breaker's rule")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	got := fmt.Sprint(
		circuitbreaker.Closed, circuitbreaker.Open, circuitbreaker.HalfOpen, circuitbreaker.State(7),
		circuitbreaker.Pass, circuitbreaker.Probe, circuitbreaker.Refuse, circuitbreaker.Decision(7))
	if want := "CLOSED OPEN HALF_OPEN STATE(7) pass probe refuse decision(7)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
