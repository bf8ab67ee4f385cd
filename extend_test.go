package tidegate_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
)

// budget is a control behaviour that lets so many calls in, then none.
type budget struct{ left atomic.Int64 }

func (b *budget) Admit(*chain.Context) bool { return b.left.Add(-1) >= 0 }

func budgets(rule flow.Rule) (flow.Behavior, error) {
	if rule.Count > 1000 {
		return nil, errors.New("too much of it")
	}
	b := &budget{}
	b.left.Store(int64(rule.Count))
	return b, nil
}

// behavior is a control behaviour made of a function.
type behavior func(c *chain.Context) bool

func (b behavior) Admit(c *chain.Context) bool { return b(c) }

func TestFlowBehavior(t *testing.T) {
	t.Parallel()
	g := newStill(t, tidegate.WithFlowBehavior(99, budgets), tidegate.WithFlowBehavior(4, func(flow.Rule) (flow.Behavior, error) {
		return behavior(func(c *chain.Context) bool { c.Wait(int64(70 * time.Millisecond)); return true }), nil
	}), tidegate.WithFlowBehavior(5, func(flow.Rule) (flow.Behavior, error) {
		return behavior(func(*chain.Context) bool { panic("broken behaviour") }), nil
	}))
	load(t, g.FlowRules(), `{"resource":"r","count":3,"controlBehavior":99}`, `{"resource":"slow","count":1,"controlBehavior":4}`,
		`{"resource":"broken","count":1,"controlBehavior":5}`, `{"resource":"o","count":1,"controlBehavior":99,"mode":"observe"}`)
	if got := g.count(9, "r"); got != 3 {
		t.Errorf("%d of 9 passed, want 3", got)
	}
	blocked := g.refusal("r", tidegate.ErrFlow)
	if rule, ok := blocked.Rule.(flow.Rule); !ok || rule.ControlBehavior != 99 {
		t.Errorf("%+v", blocked)
	}
	_ = blocked.Explain()
	if w := g.pass("slow").Waited(); w != 70*time.Millisecond {
		t.Errorf("waited %v", w)
	}
	g.call("broken", nil)
	if n := g.Counters().InternalErrors; n != 1 {
		t.Errorf("%d internal errors, want 1", n)
	}
	if got := g.count(5, "o"); got != 5 || g.WouldBlock("o") != 4 {
		t.Errorf("%d passed, %d would have been refused", got, g.WouldBlock("o"))
	}
	// An equal rule keeps its state; a factory's error refuses its rule alone.
	report, err := g.FlowRules().Load(parse[flow.Rule](t, `{"resource":"r","count":3,"controlBehavior":99}`, `{"resource":"s","count":2000,"controlBehavior":99}`)...)
	if err == nil || report.Rules[0].Verdict != chain.Loaded || report.Rules[1].Verdict != chain.Refused || !strings.Contains(report.Rules[1].Reason, "too much") {
		t.Errorf("%v", report.Rules)
	}
	g.blocked("r", tidegate.ErrFlow)
	g.call("s", nil)
}

func TestFlowBehaviorsAreTheEnginesOwn(t *testing.T) {
	t.Parallel()
	with, without := newGuard(t, tidegate.WithFlowBehavior(99, budgets)), newGuard(t)
	rule := flow.Rule{Resource: "r", Count: 0, ControlBehavior: 99}
	if _, err := with.FlowRules().Load(rule); err != nil {
		t.Error(err)
	}
	report, err := without.FlowRules().Load(rule)
	if err == nil || report.Rules[0].Member != "controlBehavior" {
		t.Errorf("%v", report.Rules)
	}
	with.blocked("r", tidegate.ErrFlow)
	without.call("r", nil)
	for _, option := range []tidegate.Option{tidegate.WithFlowBehavior(flow.WarmUp, budgets), tidegate.WithFlowBehavior(99, nil)} {
		if _, err := tidegate.New(option); err == nil || !strings.Contains(err.Error(), "control behaviour") {
			t.Errorf("%v", err)
		}
	}
}

// A factory that panics refuses its rule alone; the load tells, and the other rules are in force.
func TestB69FactoryThatPanics(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithFlowBehavior(99, func(flow.Rule) (flow.Behavior, error) { panic("no such behaviour") }))
	load(t, g.FlowRules(), `{"resource":"r","count":0}`, `{"resource":"kept","count":1}`)
	g.call("kept", nil)
	g.blocked("r", tidegate.ErrFlow)
	report, err := g.FlowRules().Load(parse[flow.Rule](t, `{"resource":"r","count":5}`, `{"resource":"r","count":1,"controlBehavior":99}`, `{"resource":"kept","count":1}`)...)
	if err == nil || !strings.Contains(err.Error(), "flow[1] r") || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("error %v", err)
	}
	if report.Count(chain.Loaded) != 2 || report.Rules[1].Verdict != chain.Refused || len(g.FlowRules().Rules()) != 2 {
		t.Errorf("%v", report.Rules)
	}
	if got := g.count(9, "r"); got != 5 {
		t.Errorf("%d of 9 passed, want 5", got)
	}
	g.blocked("kept", tidegate.ErrFlow)
	g.idle()
}

func TestMemoryAdaptiveFlow(t *testing.T) {
	t.Parallel()
	m, reading := newMachine()
	g := newStill(t, reading)
	load(t, g.FlowRules(), `{"resource":"r","lowMemUsageThreshold":100,"highMemUsageThreshold":20,"memLowWaterMarkBytes":1000,"memHighWaterMarkBytes":2000}`,
		`{"resource":"q","controlBehavior":2,"maxQueueingTimeMs":0,"lowMemUsageThreshold":100,"highMemUsageThreshold":10,"memLowWaterMarkBytes":1000,"memHighWaterMarkBytes":2000}`)
	for i, c := range []struct {
		memory uint64
		known  bool
		want   int
	}{
		{0, false, 100}, {500, true, 100}, {1000, true, 100}, {1250, true, 80}, {1500, true, 60}, {1999, true, 20}, {2000, true, 20}, {1 << 60, true, 20}, {1500, false, 100},
	} {
		m.set(tidegate.SystemReadings{Memory: c.memory, MemoryKnown: c.known})
		if got := g.at(int64(i)*5000).count(200, "r"); got != c.want {
			t.Errorf("memory %d, known %v: %d of 200 passed, want %d", c.memory, c.known, got, c.want)
		}
	}
	m.set(tidegate.SystemReadings{Memory: 1500, MemoryKnown: true})
	if x := g.refusal("r", tidegate.ErrFlow).Explain(); x.Limit != 60 {
		t.Errorf("%+v", x)
	}
	m.set(tidegate.SystemReadings{Memory: 9999, MemoryKnown: true})
	g.call("q", nil)
	g.clock.Advance(99 * time.Millisecond)
	g.blocked("q", tidegate.ErrFlow)
	g.clock.Advance(time.Millisecond)
	g.call("q", nil)
}

func TestMemoryAdaptiveRulesAreValidated(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for text, member := range map[string]string{
		`"lowMemUsageThreshold":10`: "highMemUsageThreshold",
		`"lowMemUsageThreshold":10,"highMemUsageThreshold":10,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2`:                   "highMemUsageThreshold",
		`"lowMemUsageThreshold":10,"highMemUsageThreshold":5,"memLowWaterMarkBytes":2,"memHighWaterMarkBytes":2`:                    "memLowWaterMarkBytes",
		`"lowMemUsageThreshold":-1,"highMemUsageThreshold":5,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2`:                    "lowMemUsageThreshold",
		`"grade":0,"lowMemUsageThreshold":10,"highMemUsageThreshold":5,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2`:          "grade",
		`"controlBehavior":1,"lowMemUsageThreshold":9,"highMemUsageThreshold":5,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2`: "controlBehavior",
	} {
		report, err := g.FlowRules().Load(parse[flow.Rule](t, `{"resource":"r",`+text+`}`)...)
		if err == nil || report.Rules[0].Member != member {
			t.Errorf("%s: %v, want %s named", text, report.Rules[0], member)
		}
	}
}

func TestInitFunctionsAreIsolated(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var ran []string
	note := func(name string, end func() error) tidegate.Option {
		return tidegate.WithInit(name, func(e *tidegate.Engine) error {
			ran = append(ran, name)
			if _, err := e.FlowRules().LoadResource(name, flow.Rule{Resource: name}); err != nil {
				t.Error(err)
			}
			return end()
		})
	}
	g := newGuard(t, tidegate.WithLogger(slog.New(slog.NewTextHandler(&log, nil))), note("fine", func() error { return nil }),
		note("failing", func() error { return errors.New("cannot begin") }), note("panicking", func() error { panic("oh no") }), note("last", func() error { return nil }))
	if got := strings.Join(ran, " "); got != "fine failing panicking last" {
		t.Errorf("ran %q", got)
	}
	for _, name := range ran {
		g.blocked(name, tidegate.ErrFlow)
	}
	if n := g.Counters().InternalErrors; n != 2 {
		t.Errorf("%d internal errors, want 2", n)
	}
	if !strings.Contains(log.String(), "failing") || !strings.Contains(log.String(), "cannot begin") {
		t.Errorf("logged %q", log.String())
	}
	if _, err := tidegate.New(tidegate.WithInit("nothing", nil)); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("%v", err)
	}
}

// lines is a parser of documents that name a resource in each line, which refuses all its calls.
type lines struct{ bad string }

func (lines) DataID() string { return "closed" }
func (lines) Group() string  { return "DEFAULT" }
func (l lines) Load(e *tidegate.Engine, text []byte) error {
	var rules []flow.Rule
	for line := range strings.Lines(string(text)) {
		switch name := strings.TrimSpace(line); name {
		case "error":
			return errors.New("a line is wrong")
		case "panic":
			panic("in the parser")
		default:
			rules = append(rules, flow.Rule{Resource: name})
		}
	}
	return e.FlowRules().LoadFrom("lines", items(rules...)).Err()
}

func TestDocumentParsersAreIsolated(t *testing.T) {
	t.Parallel()
	g := newGuard(t, tidegate.WithDocumentParser("own", lines{bad: "replaced"}), tidegate.WithDocumentParser("lines", lines{}), tidegate.WithDocumentParser("own", lines{}))
	if got := strings.Join(g.DocumentParsers(), " "); got != "lines own" {
		t.Errorf("parsers %q", got)
	}
	if p, ok := g.DocumentParser("own"); !ok || p != (lines{}) || p.DataID() != "closed" || p.Group() != "DEFAULT" {
		t.Errorf("%+v", p)
	}
	if err := g.LoadDocument("lines", []byte("a\nb")); err != nil {
		t.Error(err)
	}
	g.blocked("a", tidegate.ErrFlow)
	for text, want := range map[string]string{"error": "a line is wrong", "panic": `"lines" panicked: in the parser`} {
		if err := g.LoadDocument("lines", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		g.blocked("b", tidegate.ErrFlow)
	}
	if err := g.LoadDocument("missing", nil); err == nil || !strings.Contains(err.Error(), "WithDocumentParser") {
		t.Errorf("%v", err)
	}
	other := newGuard(t)
	if len(other.DocumentParsers()) != 0 || other.LoadDocument("lines", []byte("a")) == nil {
		t.Error("engines share parsers")
	}
	other.call("a", nil)
	for _, option := range []tidegate.Option{tidegate.WithDocumentParser("", lines{}), tidegate.WithDocumentParser("x", nil)} {
		if _, err := tidegate.New(option); err == nil {
			t.Error("an unusable parser was registered")
		}
	}
}

func TestMemoryMarkBeyondTheMachine(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	report, err := e.FlowRules().Load(flow.Rule{
		Resource: "r", LowMemUsageThreshold: 10, HighMemUsageThreshold: 2, MemLowWaterMarkBytes: 1000, MemHighWaterMarkBytes: 1 << 60,
	})
	if err == nil || report.Rules[0].Member != "memHighWaterMarkBytes" {
		t.Errorf("%v %v", err, report.Rules)
	}
}
