package tidegate_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
)

func TestB01ClockSetBack(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := newGuard(t, tidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	load(t, g.FlowRules(), `{"resource":"r","grade":1,"count":2}`)
	g.at(10_000).call("r", nil)
	g.at(10_001).call("r", nil)
	g.at(10_002).blocked("r", tidegate.ErrFlow)
	passed := 0
	for _, at := range []int64{5_000, 5_001, 5_002} {
		passed += g.at(at).count(1, "r")
	}
	if passed > 2 {
		t.Errorf("%d calls passed after the jump, want at most 2", passed)
	}
	g.at(6_500).call("r", nil)
	g.idle()
	if lines := strings.Count(log.String(), "\n"); lines > 1 {
		t.Errorf("%d lines logged: %s", lines, log.String())
	}
}

func TestB02StaleTimestamp(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":1,"count":10,"controlBehavior":2,"maxQueueingTimeMs":0}`)
	g.at(1_000).call("r", nil)
	g.at(1_100).call("r", nil)
	for range 50 {
		g.at(1_099).blocked("r", tidegate.ErrFlow)
		g.at(1_100).blocked("r", tidegate.ErrFlow)
	}
	g.at(1_199).blocked("r", tidegate.ErrFlow)
	g.at(1_200).call("r", nil)
}

func TestB07RefusalExplainsItself(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","grade":1,"count":8}`)
	for range 8 {
		g.at(900).call("r", nil)
	}
	why := g.at(1_100).refusal("r", tidegate.ErrFlow).Explain()
	if why.Measured != 8 || why.Limit != 8 || why.Window != time.Second || why.RetryAfter <= 0 || why.RetryAfter > time.Second {
		t.Errorf("explanation %+v, want 8 of 8 in a second and when to retry", why)
	}
	g.at(1_100+why.RetryAfter.Milliseconds()-1).blocked("r", tidegate.ErrFlow)
	g.at(2_000).call("r", nil)

	g = newGuard(t) // the figures, without the call in between
	load(t, g.FlowRules(), `{"resource":"r","grade":1,"count":8}`)
	g.at(900).count(8, "r")
	g.at(1_100).blocked("r", tidegate.ErrFlow)
	g.at(2_000).call("r", nil)
	var got [][3]int64
	for _, s := range g.at(3_000).Seconds("r", time.Unix(0, t0)) {
		got = append(got, [3]int64{(s.Time.UnixNano() - t0) / ms, s.Pass, s.Block})
	}
	want := [][3]int64{{0, 8, 0}, {1_000, 0, 1}, {2_000, 1, 0}}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("seconds %v, want %v", got, want)
	}
}

func TestB08LongInterval(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":100,"statIntervalInMs":60000}`)
	for _, step := range []struct {
		at   int64
		want int
	}{{59_900, 100}, {60_000, 0}, {120_000, 100}} {
		if got := g.at(step.at).count(100, "r"); got != step.want {
			t.Errorf("+%d ms: %d of 100 passed, want %d", step.at, got, step.want)
		}
	}
}

// A step back of less than a second is waited out; a longer one is bridged.
func TestEngineTimeNeverDecreases(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, step := range []struct{ clock, engine int64 }{
		{1_000, 1_000},
		{100, 1_000}, // 900 ms back: stands still
		{900, 1_000},
		{1_001, 1_001},
		{2, 1_001}, // 999 ms back
		{1, 1_001}, // 1 s back: bridged from here
		{501, 1_501},
		{500, 1_501}, // stands still again
		{1_501, 2_501},
		{90_000, 91_000}, // forwards
		{0, 91_000},      // 90 s back
		{10, 91_010},
	} {
		if got := (g.at(step.clock).Now().UnixNano() - t0) / ms; got != step.engine {
			t.Errorf("clock at +%d: engine at +%d, want +%d", step.clock, got, step.engine)
		}
	}
}

func TestClockSetBackInEveryPart(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.DegradeRules(), `{"resource":"b","grade":2,"count":0,"minRequestAmount":1,"timeWindow":10}`)
	load(t, g.FlowRules(), `{"resource":"q","count":10,"controlBehavior":2,"maxQueueingTimeMs":0}`)
	g.at(100_000).call("b", errCall)
	g.call("q", nil)
	open := g.pass("x")
	g.at(40_000).blocked("b", tidegate.ErrCircuitOpen) // a minute back: goes on from there
	g.blocked("q", tidegate.ErrFlow)
	g.at(40_100).call("q", nil)
	open.Exit(nil)
	if s := g.stats("x"); s.AvgRT != 100 {
		t.Errorf("a response time of %v ms, want 100", s.AvgRT)
	}
	g.at(49_999).blocked("b", tidegate.ErrCircuitOpen)
	g.at(50_000).call("b", nil)
	g.expectBreakers("b", "CLOSED")
}
