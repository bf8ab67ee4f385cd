package tidegate_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/system"
)

var inbound = tidegate.Call{Inbound: true}

// machine is what a test says of the machine.
type machine struct {
	now atomic.Pointer[tidegate.SystemReadings]
}

func (m *machine) set(r tidegate.SystemReadings) { m.now.Store(&r) }

func newMachine() (*machine, tidegate.Option) {
	m := &machine{}
	m.set(tidegate.SystemReadings{})
	return m, tidegate.WithSystemReadings(func() tidegate.SystemReadings { return *m.now.Load() })
}

func TestSystemQPS(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.SystemRules(), `{"qps":10}`)
	if got := g.at(0).count(7, "a", inbound) + g.count(20, "b", inbound); got != 10 {
		t.Errorf("%d passed, want 10 over all resources", got)
	}
	blocked := g.refusal("a", tidegate.ErrSystem, inbound)
	if rule, ok := blocked.Rule.(system.Rule); !ok || rule.QPS == nil || *rule.QPS != 10 || blocked.Type != "qps" || blocked.Kind != chain.KindSystem {
		t.Errorf("%+v", blocked)
	}
	if x := blocked.Explain(); x.Measured != 10 || x.Limit != 10 || x.RetryAfter != time.Second {
		t.Errorf("%+v", x)
	}
	if got := g.count(50, "a"); got != 50 {
		t.Errorf("%d of 50 outbound calls passed", got)
	}
	if got := g.at(1000).count(3, "a", tidegate.Call{Inbound: true, Count: 4}); got != 2 {
		t.Errorf("%d of 3 calls of four units passed, want 2", got)
	}
	load(t, g.SystemRules(), `{"qps":0}`)
	g.at(5000).blocked("a", tidegate.ErrSystem, inbound)
	g.call("a", nil)
}

func TestSystemQPSBelowOne(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.SystemRules(), `{"qps":0.5}`)
	g.at(0).call("r", nil, inbound)
	blocked := g.at(1999).refusal("s", tidegate.ErrSystem, inbound)
	if x := blocked.Explain(); x.RetryAfter != time.Millisecond || x.Window != 2*time.Second {
		t.Errorf("%+v", x)
	}
	g.at(2000).call("s", nil, inbound)
	g.at(3999).blocked("r", tidegate.ErrSystem, inbound)
}

// No number of simultaneous callers passes more than the limit.
func TestSystemIsExact(t *testing.T) {
	t.Parallel()
	for range 20 {
		g := newGuard(t)
		load(t, g.SystemRules(), `{"qps":20}`)
		if got := len(g.together(200, "r", inbound)); got != 20 {
			t.Errorf("%d of 200 calls at once passed 20 a second", got)
		}
		g = newGuard(t)
		load(t, g.SystemRules(), `{"maxThread":10}`)
		if got := len(g.together(200, "r", inbound)); got != 10 {
			t.Errorf("%d of 200 calls at once passed 10 in flight", got)
		}
	}
}

func TestSystemMaxThread(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	before := g.pass("r", inbound) // counts although it came before the rule
	load(t, g.SystemRules(), `{"maxThread":3}`)
	entries := []tidegate.Entry{before, g.pass("a", inbound), g.pass("b", inbound)}
	blocked := g.refusal("c", tidegate.ErrSystem, inbound)
	if x := blocked.Explain(); x.Measured != 3 || x.Limit != 3 || blocked.Type != "thread" {
		t.Errorf("%+v, %+v", x, blocked)
	}
	g.call("c", nil)
	for _, entry := range entries {
		entry.Exit(nil)
		g.call("c", nil, inbound)
	}
	load(t, g.SystemRules(), `{"maxThread":0}`)
	g.blocked("c", tidegate.ErrSystem, inbound)
	g.idle()
}

func TestSystemResponseTime(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.SystemRules(), `{"avgRt":50}`)
	complete := func(rt int64, call tidegate.Call) {
		entry := g.pass("r", call)
		g.clock.Advance(msec(rt))
		entry.Exit(nil)
	}
	g.at(0)
	complete(40, inbound)
	complete(60, inbound)
	g.call("r", nil, inbound) // 33 on average
	complete(900, tidegate.Call{})
	g.at(2000)
	complete(51, inbound)
	blocked := g.refusal("r", tidegate.ErrSystem, inbound)
	if x := blocked.Explain(); x.Measured != 51 || x.Limit != 50 || x.Unit != "ms" || blocked.Type != "rt" {
		t.Errorf("%+v, %+v", x, blocked)
	}
	g.call("r", nil)
	g.at(4000).call("r", nil, inbound)
}

func TestSystemLoad(t *testing.T) {
	t.Parallel()
	m, reading := newMachine()
	g := newGuard(t, reading)
	load(t, g.SystemRules(), `{"highestSystemLoad":2}`)
	m.set(tidegate.SystemReadings{Load: 2.1, LoadKnown: true})
	// At most 10 completed in a bucket of half a second, at least 100 ms each: 2 calls in flight explain that.
	g.at(0)
	var entries []tidegate.Entry
	for range 10 {
		m.set(tidegate.SystemReadings{Load: 2, LoadKnown: true}) // equal is not above
		entries = append(entries, g.pass("r", inbound))
	}
	g.at(100)
	for _, entry := range entries {
		entry.Exit(nil)
	}
	m.set(tidegate.SystemReadings{Load: 2.1, LoadKnown: true})
	held := []tidegate.Entry{g.pass("r", inbound), g.pass("r", inbound), g.pass("r", inbound)}
	blocked := g.refusal("r", tidegate.ErrSystem, inbound)
	if x := blocked.Explain(); x.Measured != 2.1 || x.Limit != 2 || blocked.Type != "load" {
		t.Errorf("%+v, %+v", x, blocked)
	}
	g.call("r", nil)
	held[0].Exit(nil)
	held[1].Exit(nil)
	g.pass("r", inbound).Exit(nil) // one in flight
	m.set(tidegate.SystemReadings{Load: 99, LoadKnown: false})
	more := []tidegate.Entry{g.pass("r", inbound), g.pass("r", inbound), g.pass("r", inbound), g.pass("r", inbound)}
	for _, entry := range append(more, held[2]) {
		entry.Exit(nil)
	}
	g.idle()
}

func TestSystemCPU(t *testing.T) {
	t.Parallel()
	m, reading := newMachine()
	g := newGuard(t, reading)
	load(t, g.SystemRules(), `{"highestCpuUsage":0.8}`)
	for _, c := range []struct {
		usage  float64
		known  bool
		passes bool
	}{{0, false, true}, {0.8, true, true}, {0.81, true, false}, {0.99, false, true}, {0.1, true, true}} {
		m.set(tidegate.SystemReadings{CPU: c.usage, CPUKnown: c.known})
		if got := g.count(1, "r", inbound) == 1; got != c.passes {
			t.Errorf("usage %v, known %v: passes %v", c.usage, c.known, got)
		}
		g.call("r", nil)
	}
	m.set(tidegate.SystemReadings{CPU: 1, CPUKnown: true})
	blocked := g.refusal("r", tidegate.ErrSystem, inbound)
	if x := blocked.Explain(); x.Measured != 1 || x.Limit != 0.8 || blocked.Type != "cpu" {
		t.Errorf("%+v, %+v", x, blocked)
	}
	report := load(t, g.SystemRules(), `{"highestCpuUsage":80}`)
	if len(report.Rules[0].Warnings) != 1 || g.count(1, "r", inbound) != 1 {
		t.Errorf("a usage above 1: %+v", report.Rules[0])
	}
}

// The limits are asked in a fixed order; what an earlier one reserved is given back if a later one refuses.
func TestSystemOrder(t *testing.T) {
	t.Parallel()
	m, reading := newMachine()
	g := newGuard(t, reading)
	m.set(tidegate.SystemReadings{CPU: 1, CPUKnown: true})
	load(t, g.SystemRules(), `{"qps":3,"maxThread":1,"highestCpuUsage":0.5}`)
	for range 9 {
		if b := g.refusal("r", tidegate.ErrSystem, inbound); b.Type != "cpu" {
			t.Errorf("refused by %s", b.Type)
		}
	}
	m.set(tidegate.SystemReadings{})
	held := g.pass("r", inbound)
	if b := g.refusal("r", tidegate.ErrSystem, inbound); b.Type != "thread" {
		t.Errorf("refused by %s", b.Type)
	}
	held.Exit(nil)
	g.call("r", nil, inbound)
	g.call("r", nil, inbound)
	if b := g.refusal("r", tidegate.ErrSystem, inbound); b.Type != "qps" {
		t.Errorf("refused by %s", b.Type)
	}
}

// Of several rules the smallest value of each limit counts, whichever comes last.
func TestSystemRulesAreMerged(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	report := load(t, g.SystemRules(), `{"qps":3,"maxThread":9}`, `{"qps":5}`, `{"maxThread":2,"qps":-1}`, `{"avgRt":-1}`, `{"highestCpuUsage":7}`)
	if report.Count(chain.Loaded) != 5 || len(report.Rules[3].Warnings) != 1 || len(report.Rules[4].Warnings) != 1 {
		t.Errorf("%+v", report.Rules)
	}
	a, b := g.pass("r", inbound), g.pass("r", inbound)
	blocked := g.refusal("r", tidegate.ErrSystem, inbound)
	if rule := blocked.Rule.(system.Rule); *rule.QPS != 3 || *rule.MaxThread != 2 || rule.AvgRT != nil || blocked.Type != "thread" {
		t.Errorf("%+v", rule)
	}
	a.Exit(nil)
	b.Exit(nil)
	if got := g.count(9, "r", inbound); got != 1 {
		t.Errorf("%d more passed, want 1", got)
	}
	g.SystemRules().LoadFrom("file", items(system.Rule{QPS: new(float64)}))
	g.at(5000).blocked("r", tidegate.ErrSystem, inbound)
	g.SystemRules().LoadFrom("file", nil)
	g.call("r", nil, inbound)
	load(t, g.SystemRules())
	if got := g.count(99, "r", inbound); got != 99 {
		t.Errorf("%d of 99 passed without rules", got)
	}
}

// Rules that observe see the calls that the others let in.
func TestSystemObserve(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.SystemRules(), `{"qps":10,"maxThread":5}`, `{"qps":4,"maxThread":2,"mode":"observe"}`)
	if got := g.at(0).count(20, "r", inbound); got != 10 {
		t.Errorf("%d passed, want 10", got)
	}
	if got := g.WouldBlock("r"); got != 6 {
		t.Errorf("%d would have been refused, want 6", got)
	}
	g.at(2000)
	var entries []tidegate.Entry // one after another: an observing check sees what simultaneous calls hold for a moment
	for range 5 {
		entry, err := g.enter("s", inbound)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	if got := g.WouldBlock("s"); len(entries) != 5 || got != 3 {
		t.Errorf("%d would have been refused, want 3 of 5", got)
	}
	for _, entry := range entries {
		entry.Exit(nil)
	}
	g.idle()

	g = newGuard(t)
	load(t, g.SystemRules(), `{"qps":2,"mode":"observe"}`)
	if got := g.count(5, "r", inbound); got != 5 || g.WouldBlock("r") != 3 {
		t.Errorf("%d passed, %d would have been refused", got, g.WouldBlock("r"))
	}
	g = newGuard(t)
	load(t, g.SystemRules(), `{"qps":2}`)
	g.SetObserve(true)
	if got := g.count(5, "r", inbound); got != 5 || g.WouldBlock("r") != 3 {
		t.Errorf("everything observed: %d passed, %d would have been refused", got, g.WouldBlock("r"))
	}
	g.SetObserve(false)
	g.SetKindEnabled(chain.KindSystem, false)
	if got := g.count(5, "r", inbound); got != 5 {
		t.Errorf("switched off: %d passed", got)
	}
	g.SetKindEnabled(chain.KindSystem, true)
	g.at(0).blocked("r", tidegate.ErrSystem, inbound)
}

func TestSystemReadingsThatPanic(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithSystemReadings(func() tidegate.SystemReadings { panic("no figures") }))
	load(t, g.SystemRules(), `{"highestSystemLoad":0,"highestCpuUsage":0}`)
	g.call("r", nil, inbound)
	if g.Counters().InternalErrors == 0 {
		t.Error("not counted")
	}
	if got := strings.Join(g.InactiveSystemLimits(), "; "); got != "inactive: CPU usage unavailable; inactive: load unavailable" {
		t.Errorf("inactive: %q", got)
	}
}

func TestInactiveSystemLimits(t *testing.T) {
	t.Parallel()
	m, reading := newMachine()
	g := newGuard(t, reading)
	expect := func(want string) {
		t.Helper()
		if got := strings.Join(g.InactiveSystemLimits(), "; "); got != want {
			t.Errorf("inactive: %q, want %q", got, want)
		}
	}
	expect("")
	load(t, g.SystemRules(), `{"highestSystemLoad":1}`, `{"highestSystemLoad":2,"mode":"observe"}`, `{"qps":5}`)
	expect("inactive: load unavailable")
	m.set(tidegate.SystemReadings{LoadKnown: true})
	expect("")
	load(t, g.SystemRules(), `{"highestCpuUsage":0.5}`)
	expect("inactive: CPU usage unavailable")
}

// The goroutine that reads the machine exists only while a rule compares what it reads.
func TestSamplerLivesWithItsRules(t *testing.T) {
	t.Parallel()
	memory := `{"resource":"r","lowMemUsageThreshold":9,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2}`
	synctest.Test(t, func(t *testing.T) {
		e, err := tidegate.New()
		if err != nil {
			t.Fatal(err)
		}
		sampling := func(want bool) {
			t.Helper()
			time.Sleep(3 * time.Second)
			synctest.Wait()
			r := e.Readings()
			if got := r != (tidegate.SystemReadings{}); got != want {
				t.Errorf("readings %+v, want them %v", r, want)
			}
		}
		sampling(false)
		load(t, e.SystemRules(), `{"qps":5}`)
		sampling(false)
		load(t, e.SystemRules(), `{"highestSystemLoad":1e9}`)
		sampling(true)
		load(t, e.FlowRules(), memory)
		load(t, e.SystemRules())
		sampling(true)
		load(t, e.FlowRules())
		sampling(false)
		load(t, e.SystemRules(), `{"highestCpuUsage":1,"mode":"observe"}`)
		sampling(true)
		e.SetKindEnabled(chain.KindSystem, false)
		sampling(false)
		e.SetKindEnabled(chain.KindSystem, true)
		sampling(true)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		sampling(false)
		load(t, e.SystemRules(), `{"highestSystemLoad":1}`)
		sampling(false)
	}) // a goroutine left behind would fail the test
}

// Loads of several kinds at once leave the sampling as the rules in force need it.
func TestSamplerUnderSimultaneousLoads(t *testing.T) {
	t.Parallel()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	memory := parse[system.Rule](t, `{"highestSystemLoad":1e9}`)
	for round := range 100 {
		var wg sync.WaitGroup
		wg.Go(func() { load(t, e.FlowRules()) })
		wg.Go(func() { _, _ = e.SystemRules().Load(memory...) })
		wg.Wait()
		until(t, fmt.Sprint("round ", round), func() bool { return e.Readings() != tidegate.SystemReadings{} })
		wg.Go(func() { load(t, e.SystemRules()) })
		wg.Go(func() {
			load(t, e.FlowRules(), `{"resource":"r","lowMemUsageThreshold":9,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2}`)
		})
		wg.Wait()
		until(t, fmt.Sprint("round ", round), func() bool { return e.Readings() != tidegate.SystemReadings{} })
	}
}

// until waits for what another goroutine does soon.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 5 s", what)
		}
	}
}

// While limits change, every call is under one of them: none slips through between the old and the new.
func TestSystemSnapshotIsSwapped(t *testing.T) {
	t.Parallel()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	one, two := int64(1), int64(2)
	none, zero := 0.0, int64(0)
	sets := [][]system.Rule{{{MaxThread: &zero}}, {{QPS: &none}}, {{MaxThread: &zero}, {MaxThread: &one}}, {{MaxThread: &two}, {QPS: &none}}}
	if _, err := e.SystemRules().Load(sets[0]...); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for !stop.Load() {
				entry, err := e.Enter(t.Context(), fmt.Sprint("r", w%2), inbound)
				if !errors.Is(err, tidegate.ErrSystem) {
					t.Errorf("%v, want every call refused", err)
					entry.Exit(nil)
					return
				}
			}
		})
	}
	loads := 500
	if raceEnabled {
		loads = 100
	}
	for i := range loads {
		if _, err := e.SystemRules().Load(sets[i%len(sets)]...); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if s := e.InboundStats(); s.Active != 0 || s.TotalPass != 0 {
		t.Errorf("%+v", s)
	}
}
