package tidegate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// events collects changes of breakers' states.
type events struct {
	mu   sync.Mutex
	list []string // guarded by mu
}

func (e *events) take() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := strings.Join(e.list, " ")
	e.list = nil
	return text
}

func (g guard) listen() *events {
	e := &events{}
	g.OnBreakerChange(func(event tidegate.BreakerEvent) {
		e.mu.Lock()
		defer e.mu.Unlock()
		text := fmt.Sprintf("%s:%v>%v", event.Resource, event.From, event.To)
		if event.Cause != "" {
			text += "(" + event.Cause + ")"
		}
		e.list = append(e.list, text)
	})
	return e
}

const tripsAtOnce = `{"resource":"r","grade":2,"count":0,"minRequestAmount":1,"timeWindow":10}`

// opened returns an engine whose breaker of r opened at +0 and is due at +10000.
func opened(t *testing.T, rules ...string) guard {
	t.Helper()
	g := newGuard(t)
	load(t, g.DegradeRules(), rules...)
	g.at(0).call("r", errCall)
	g.expectBreakers("r", strings.TrimSpace(strings.Repeat("OPEN ", len(g.Breakers("r")))))
	return g
}

func TestB33ProbeBlockedByALaterBreaker(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.DegradeRules(),
		`{"resource":"r","grade":2,"count":1,"minRequestAmount":1,"timeWindow":10}`,
		`{"resource":"r","grade":2,"count":1,"minRequestAmount":1,"timeWindow":20}`)
	heard := g.listen()
	entries := []tidegate.Entry{g.at(0).pass("r"), g.pass("r"), g.pass("r")}
	for _, entry := range entries {
		entry.Exit(errCall)
	}
	g.expectBreakers("r", "OPEN OPEN")
	heard.take()
	for range 3 {
		g.at(11_000).blocked("r", tidegate.ErrCircuitOpen)
		g.expectBreakers("r", "OPEN OPEN")
	}
	if got := heard.take(); got != "" {
		t.Errorf("events %s, want none", got)
	}
	g.at(21_001).call("r", nil)
	g.expectBreakers("r", "CLOSED CLOSED")
	g.at(21_010).call("r", nil)
}

// refusing is a custom check that refuses until a time.
type refusing struct{ until int64 }

func (*refusing) Name() string { return "refusing" }
func (*refusing) Order() int   { return 0 }
func (r *refusing) Check(c *chain.Context) error {
	if c.Now < t0+r.until*ms {
		return errors.New("not yet")
	}
	return nil
}

func TestB33ProbeBlockedByALaterCheck(t *testing.T) {
	t.Parallel()
	check := &refusing{until: 0}
	g := newGuard(t, tidegate.WithCheck(check))
	load(t, g.DegradeRules(), tripsAtOnce)
	g.at(0).call("r", errCall)
	check.until = 12_000
	g.at(11_000).blocked("r", tidegate.ErrCustom)
	g.expectBreakers("r", "OPEN")
	g.at(22_000).call("r", nil)
	g.expectBreakers("r", "CLOSED")
}

func TestB34SameRuleTwice(t *testing.T) {
	t.Parallel()
	rule := `{"resource":"r","grade":2,"count":1,"timeWindow":10,"minRequestAmount":1}`
	g := newGuard(t)
	if report := load(t, g.DegradeRules(), rule, rule); report.Rules[1].Verdict != chain.Duplicate {
		t.Fatalf("report %v", report.Rules)
	}
	for round := range int64(1_000) {
		g.at(round*20_000).call("r", errCall)
		g.call("r", errCall)
		if len(g.Breakers("r")) != 1 {
			t.Fatalf("%d breakers", len(g.Breakers("r")))
		}
		g.expectBreakers("r", "OPEN")
		probes := g.at(round*20_000+10_001).together(2, "r")
		if len(probes) != 1 {
			t.Fatalf("round %d: %d calls passed, want one as probe", round, len(probes))
		}
		probes[0].Exit(nil)
		g.expectBreakers("r", "CLOSED")
	}
}

func TestB35ReloadedBreaker(t *testing.T) {
	t.Parallel()
	g := opened(t, tripsAtOnce)
	for at := int64(1_000); at <= 5_000; at += 1_000 {
		g.at(at)
		load(t, g.DegradeRules(), tripsAtOnce)
		g.expectBreakers("r", "OPEN")
	}
	g.at(9_999).blocked("r", tidegate.ErrCircuitOpen)
	g.at(10_001).call("r", nil)
	g.expectBreakers("r", "CLOSED")
	g.at(10_010).call("r", nil)
}

func TestB38RatioOne(t *testing.T) {
	t.Parallel()
	slow := newGuard(t)
	load(t, slow.DegradeRules(), `{"resource":"r","grade":0,"count":100,"slowRatioThreshold":1.0,"minRequestAmount":5,"statIntervalMs":1000,"timeWindow":10}`)
	var entries []tidegate.Entry
	for range 5 {
		entries = append(entries, slow.at(0).pass("r"))
	}
	slow.at(200)
	for _, entry := range entries {
		entry.Exit(nil)
	}
	slow.blocked("r", tidegate.ErrCircuitOpen)

	for _, last := range []error{errCall, nil} {
		g := newGuard(t)
		load(t, g.DegradeRules(), `{"resource":"r","grade":1,"count":1.0,"timeWindow":10}`)
		for range 4 {
			g.call("r", errCall)
		}
		g.call("r", last)
		if last != nil {
			g.blocked("r", tidegate.ErrCircuitOpen)
		} else {
			g.call("r", nil)
		}
	}
}

func TestB42ProbeNeverCompletes(t *testing.T) {
	t.Parallel()
	g := opened(t, tripsAtOnce[:len(tripsAtOnce)-1]+`,"probeTimeoutMs":10000}`)
	lost := g.at(10_001).pass("r")
	g.at(10_002).blocked("r", tidegate.ErrCircuitOpen)
	g.at(20_002).call("r", nil)
	g.expectBreakers("r", "CLOSED")
	g.at(20_005)
	lost.Exit(errCall)
	g.expectBreakers("r", "CLOSED")
	g.at(20_006).call("r", nil)
	g.idle()
}

func TestB43MoreProbesThanAllowed(t *testing.T) {
	t.Parallel()
	rule := tripsAtOnce[:len(tripsAtOnce)-1] + `,"probeNum":2}`
	for _, c := range []struct {
		outcomes [2]error
		want     string
	}{
		{[2]error{nil, nil}, "CLOSED"},
		{[2]error{errCall, nil}, "OPEN"},
		{[2]error{nil, errCall}, "OPEN"},
	} {
		g := opened(t, rule)
		for round := range int64(50) {
			if g.at(round*20_000).breakers("r") == "CLOSED" {
				g.call("r", errCall)
			}
			entries := g.at(round*20_000+10_001).together(50, "r")
			if len(entries) != 2 {
				t.Fatalf("%d passed, want exactly 2", len(entries))
			}
			for i, entry := range entries {
				entry.Exit(c.outcomes[i])
			}
			g.expectBreakers("r", c.want)
		}
	}
}

func TestB44OwnRejectionsAreNoOutcomes(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.DegradeRules(), `{"resource":"r","grade":1,"count":0.5,"minRequestAmount":5,"timeWindow":10}`)
	for range 5 {
		g.at(0).call("r", errCall)
	}
	for i := range int64(10_000) {
		g.at(min(1+i, 9_999)).blocked("r", tidegate.ErrCircuitOpen)
	}
	g.at(10_001).call("r", nil)
	for range 20 {
		g.at(10_002).call("r", nil)
	}
	g.expectBreakers("r", "CLOSED")
	if b := g.Breakers("r")[0]; b.Bad != 0 || b.Total != 20 {
		t.Errorf("the window shows %d of %d, want 0 of 20", b.Bad, b.Total)
	}
}

func TestB45CallersCancellation(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.DegradeRules(), `{"resource":"r","grade":1,"count":0.5,"minRequestAmount":5,"timeWindow":10}`)
	canceled := fmt.Errorf("q: %w", context.Canceled)
	for range 10 {
		g.at(0).call("r", canceled)
	}
	g.call("r", nil)
	failed := 0
	for ; failed < 10; failed++ {
		entry, err := g.enter("r")
		if err != nil {
			break
		}
		entry.Exit(errCall)
	}
	if failed == 10 {
		t.Error("never blocked")
	}
	g.blocked("r", tidegate.ErrCircuitOpen)
	g.at(10_000).call("r", canceled)
	g.expectBreakers("r", "OPEN")
	probe := g.pass("r")
	g.expectBreakers("r", "HALF_OPEN")
	probe.Exit(nil)
	g.expectBreakers("r", "CLOSED")
}

func TestB47EditingRulesResetsOnlyThem(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	other := `{"resource":"r2","grade":2,"count":%d,"minRequestAmount":1,"timeWindow":10}`
	load(t, g.DegradeRules(), tripsAtOnce, fmt.Sprintf(other, 5))
	g.at(0).call("r", errCall)
	g.call("r2", nil)
	heard := g.listen()
	load(t, g.DegradeRules(), tripsAtOnce, fmt.Sprintf(other, 6))
	g.blocked("r", tidegate.ErrCircuitOpen)
	if got := heard.take(); got != "" {
		t.Errorf("events %s, want none", got)
	}
	changed := strings.Replace(tripsAtOnce, `"timeWindow":10`, `"timeWindow":11`, 1)
	load(t, g.DegradeRules(), changed, fmt.Sprintf(other, 6))
	g.expectBreakers("r", "CLOSED")
	load(t, g.DegradeRules(), changed, fmt.Sprintf(other, 6))
	if got := heard.take(); got != "r:OPEN>CLOSED("+circuitbreaker.CauseRuleChanged+")" {
		t.Errorf("events %s, want one", got)
	}
}

func TestBreakerObservers(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.DegradeRules(), tripsAtOnce)
	g.OnBreakerChange(func(tidegate.BreakerEvent) { panic("observer") })
	heard := g.listen()
	var times []int64
	cancel := g.OnBreakerChange(func(e tidegate.BreakerEvent) { times = append(times, (e.Time.UnixNano()-t0)/ms) })
	g.at(5).call("r", errCall)
	cancel()
	cancel()
	g.at(20_000).call("r", nil)
	if got := heard.take(); got != "r:CLOSED>OPEN r:OPEN>HALF_OPEN r:HALF_OPEN>CLOSED" {
		t.Errorf("events %s", got)
	}
	if len(times) != 1 || times[0] != 5 {
		t.Errorf("times %v, want one event at +5", times)
	}
	if n := g.Counters().InternalErrors; n != 3 {
		t.Errorf("%d internal errors counted, want 3", n)
	}
	load(t, g.DegradeRules())
	if got := heard.take(); got != "" {
		t.Errorf("removing a closed breaker: %s", got)
	}
}

// Default breakers guard resources without a rule of their own, except those excluded.
func TestDefaultBreakers(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.DegradeRules(), `{"resource":"*","grade":2,"count":0,"minRequestAmount":1,"timeWindow":10}`,
		`{"resource":"own","grade":2,"count":5,"minRequestAmount":1,"timeWindow":10}`)
	for _, name := range []string{"r", "own", "spared"} {
		g.call(name, errCall)
	}
	g.blocked("r", tidegate.ErrCircuitOpen)
	g.call("own", nil)
	g.blocked("spared", tidegate.ErrCircuitOpen)
	g.ExcludeFromDefaultBreakers("spared")
	g.call("spared", nil)
	g.blocked("r", tidegate.ErrCircuitOpen)
	g.ExcludeFromDefaultBreakers()
	g.call("spared", nil)
	load(t, g.DegradeRules())
	g.call("r", nil)
}
