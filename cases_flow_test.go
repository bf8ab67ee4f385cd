package tidegate_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

func TestB10ParallelBurst(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.FlowRules(),
		`{"resource":"reject","grade":1,"count":20}`,
		`{"resource":"throttle","grade":1,"count":10,"controlBehavior":2,"maxQueueingTimeMs":0}`)
	g.at(0)
	if got := len(g.together(200, "reject")); got != 20 {
		t.Errorf("reject: %d passed, want exactly 20", got)
	}
	if got := len(g.together(16, "throttle")); got != 1 {
		t.Errorf("throttle: %d passed, want exactly 1", got)
	}
}

func TestB11QueueingAboveAThousandPerSecond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		want int
		gap  time.Duration
	}{
		{`{"resource":"r","grade":1,"count":2000,"controlBehavior":2,"maxQueueingTimeMs":500}`, 1_001, 500 * time.Microsecond},
		{`{"resource":"r","grade":1,"count":5000,"controlBehavior":2,"maxQueueingTimeMs":500}`, 2_501, 200 * time.Microsecond},
	} {
		g := newStill(t)
		load(t, g.FlowRules(), c.rule)
		passed := 0
		for range 10_000 {
			entry, err := g.enter("r")
			if err != nil {
				continue
			}
			if want := time.Duration(passed) * c.gap; entry.Waited() != want {
				t.Fatalf("call %d waited %v, want %v", passed, entry.Waited(), want)
			}
			passed++
			entry.Exit(nil)
		}
		if passed != c.want {
			t.Errorf("%s: %d passed, want %d", c.rule, passed, c.want)
		}
	}
}

func TestB14LongQueue(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"r","count":3,"controlBehavior":2,"maxQueueingTimeMs":20000,"statIntervalInMs":1000}`)
	for i := range 10 {
		entry := g.pass("r")
		if got, want := entry.Waited().Seconds()*1000, float64(i)*1000/3; math.Abs(got-want) > 1 {
			t.Errorf("call %d waited %v ms, want %v", i, got, want)
		}
		entry.Exit(nil)
	}
}

func TestB15BatchAfterIdle(t *testing.T) {
	t.Parallel()
	batch := func(n int) tidegate.Call { return tidegate.Call{Count: n} }
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"r","count":1000,"controlBehavior":2,"maxQueueingTimeMs":5}`)
	g.at(0).call("r", nil)
	g.at(10_000).blocked("r", tidegate.ErrFlow, batch(15_000))
	g.at(10_001).call("r", nil)
	entry := g.at(20_000).pass("r", batch(5_000))
	if entry.Waited() != 0 {
		t.Errorf("the batch waited %v", entry.Waited())
	}
}

func TestB17PacingAfterAGap(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":0}`)
	for _, step := range []struct {
		at   int64
		pass bool
	}{{0, true}, {2_000, true}, {2_001, false}, {2_999, false}, {3_000, true}, {3_001, false}} {
		if got := g.at(step.at).count(1, "r") == 1; got != step.pass {
			t.Errorf("+%d ms: passed %v, want %v", step.at, got, step.pass)
		}
	}
}

// Of five calls at one instant the first passes at once, the next three wait 10, 20 and 30 s, the fifth is refused.
func TestSlowThrottling(t *testing.T) {
	t.Parallel()
	rule := `{"resource":"achang:1","grade":1,"count":0.1,"controlBehavior":2,"maxQueueingTimeMs":30000}`
	g := newStill(t)
	load(t, g.FlowRules(), rule)
	for i := range 4 {
		entry := g.pass("achang:1")
		if want := time.Duration(i) * 10 * time.Second; entry.Waited() != want {
			t.Errorf("call %d waited %v, want %v", i, entry.Waited(), want)
		}
		entry.Exit(nil)
	}
	why := g.refusal("achang:1", tidegate.ErrFlow).Explain()
	if why.RetryAfter != 10*time.Second {
		t.Errorf("explanation %+v, want to retry after 10 s", why)
	}
	g = newStill(t)
	report := load(t, g.FlowRules(), rule[:len(rule)-1]+`,"enabled":false}`)
	if report.Count(chain.Disabled) != 1 || g.count(20, "achang:1") != 20 {
		t.Errorf("disabled, it still enforces: %v", report)
	}
}

func TestB32CallerGivesUp(t *testing.T) {
	t.Parallel()
	m := newManual()
	clock := &deadlineClock{manual: m}
	g := newGuardWith(t, clock, m)
	load(t, g.FlowRules(), `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":10000}`)
	g.at(0).call("r", nil)
	entry, err := g.Enter(clock.within(50*time.Millisecond), "r", tidegate.Call{})
	var blocked *tidegate.BlockError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, tidegate.ErrBlocked) || !errors.As(err, &blocked) {
		t.Errorf("error %v, want a refusal because of the deadline", err)
	}
	if entry.Open() {
		t.Error("the entry is open")
	}
	if took := (m.ns.Load() - t0) / ms; took != 50 {
		t.Errorf("returned after %d ms, want 50", took)
	}
	third := g.at(1_000).pass("r")
	if third.Waited() != 0 {
		t.Errorf("the third call waited %v: the place was not given back", third.Waited())
	}
	third.Exit(nil)
	if s := g.stats("r"); s.TotalPass != 2 || s.TotalBlock != 1 {
		t.Errorf("figures %+v, want 2 passed and 1 blocked", s)
	}
	g.idle()
}

// deadlineClock waits on its own time, also for deadlines of contexts that it made.
type deadlineClock struct {
	*manual
}

type deadlineKey struct{}

func (c *deadlineClock) within(d time.Duration) context.Context {
	return context.WithValue(context.Background(), deadlineKey{}, c.Now().Add(d))
}

func (c *deadlineClock) Wait(ctx context.Context, d time.Duration) error {
	if deadline, ok := ctx.Value(deadlineKey{}).(time.Time); ok && deadline.Before(c.Now().Add(d)) {
		c.Advance(deadline.Sub(c.Now()))
		return context.DeadlineExceeded
	}
	c.Advance(d)
	return ctx.Err()
}

// The same with the machine's clock and a real deadline.
func TestB32RealDeadline(t *testing.T) {
	t.Parallel()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	load(t, e.FlowRules(), `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":10000}`)
	first, err := e.Enter(t.Context(), "r", tidegate.Call{})
	if err != nil {
		t.Fatal(err)
	}
	first.Exit(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := e.Enter(ctx, "r", tidegate.Call{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := e.Enter(gone, "r", tidegate.Call{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A refused call spends nothing of other rules: five real uses in ten seconds, however often the other rule refuses.
func TestB73RefusedCallsSpendNothing(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"grade":1,"count":5,"durationInSec":10}`)
	load(t, g.FlowRules(), `{"resource":"r","grade":1,"count":1}`)
	call := tidegate.Call{Args: []tidegate.Arg{tidegate.String("", "a")}}
	if got := g.at(0).count(5, "r", call); got != 1 {
		t.Errorf("%d of 5 passed, want 1", got)
	}
	for _, at := range []int64{1_100, 2_200, 3_300, 4_400} {
		g.at(at).call("r", nil, call)
	}
	g.at(5_500).blocked("r", tidegate.ErrParam, call)
}

// The same between two flow rules and in the other order.
func TestB73BetweenFlowRules(t *testing.T) {
	t.Parallel()
	for _, rules := range [][]string{
		{`{"resource":"r","count":5,"statIntervalInMs":10000}`, `{"resource":"r","count":1}`},
		{`{"resource":"r","count":1}`, `{"resource":"r","count":5,"statIntervalInMs":10000}`},
	} {
		g := newGuard(t)
		load(t, g.FlowRules(), rules...)
		passed := g.at(0).count(5, "r")
		for _, at := range []int64{1_100, 2_200, 3_300, 4_400} {
			passed += g.at(at).count(1, "r")
		}
		if passed != 5 {
			t.Errorf("%v: %d passed, want 5", rules, passed)
		}
		g.at(5_500).blocked("r", tidegate.ErrFlow)
	}
}

func TestB74ObserveOnly(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":4,"mode":"observe"}`)
	if got := g.at(0).count(10, "r"); got != 10 {
		t.Errorf("%d of 10 passed", got)
	}
	if g.WouldBlock("r") != 6 || g.stats("r").TotalBlock != 0 {
		t.Errorf("would block %d, blocked %d, want 6 and 0", g.WouldBlock("r"), g.stats("r").TotalBlock)
	}
}
