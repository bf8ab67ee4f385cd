package tidegate_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
)

func TestIsolationCountsUnits(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	before := g.pass("r", tidegate.Call{Count: 2}) // without a permit: entered before the rule
	load(t, g.IsolationRules(), `{"resource":"r","count":10}`, `{"resource":"r","count":20}`, `{"resource":"none","count":0}`)
	three := tidegate.Call{Count: 3}
	entries := []tidegate.Entry{g.pass("r", three), g.pass("r", three), g.pass("r", three)}
	g.blocked("r", tidegate.ErrIsolation, three)
	why := g.refusal("r", tidegate.ErrIsolation).Explain() // 9 permits and the call from before
	if why.Measured != 10 || why.Limit != 10 || why.Window != 0 {
		t.Errorf("explanation %+v", why)
	}
	before.Exit(nil)
	entries = append(entries, g.pass("r"))
	g.blocked("r", tidegate.ErrIsolation)
	g.pass("r", tidegate.Call{Free: true}).Exit(nil)
	entries[0].ExitN(1, nil) // gives back what was taken, not what was counted
	g.blocked("r", tidegate.ErrIsolation, tidegate.Call{Count: 4})
	g.call("r", nil, three)
	for _, entry := range entries {
		entry.Exit(nil)
	}
	g.blocked("none", tidegate.ErrIsolation)
	g.call("none", nil, tidegate.Call{Free: true})
	g.idle()
	g.call("r", nil, tidegate.Call{Count: 10})
	g.blocked("r", tidegate.ErrIsolation, tidegate.Call{Count: 11})
}

func TestIsolationPatternAndReload(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.IsolationRules(), `{"resource":"a.*","regex":true,"count":1}`)
	a1, a2 := g.pass("a1"), g.pass("a2") // permits of their own
	g.blocked("a1", tidegate.ErrIsolation)
	load(t, g.IsolationRules())
	without := g.pass("a1")
	load(t, g.IsolationRules(), `{"resource":"a.*","regex":true,"count":2}`)
	g.blocked("a1", tidegate.ErrIsolation)
	without.Exit(nil)
	last := g.pass("a1")
	g.blocked("a1", tidegate.ErrIsolation)
	for _, entry := range []tidegate.Entry{a1, a2, last} {
		entry.Exit(nil)
	}
	g.idle()
	if n := len(g.together(20, "a1")); n != 2 {
		t.Errorf("%d passed, want 2", n)
	}
}

// Whose calls a rule counts, by limitApp, strategy and the call's origin and entrance.
func TestWhoseCallsARuleCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rules            []string
		origin, entrance string
		limited          bool
	}{
		{[]string{`"limitApp":"default"`}, "", "", true},
		{[]string{`"limitApp":"default"`}, "app", "web", true},
		{[]string{`"limitApp":"app"`}, "app", "", true},
		{[]string{`"limitApp":"app"`}, "App", "", false},
		{[]string{`"limitApp":"app"`}, "", "", false},
		{[]string{`"limitApp":"app,web"`}, "app", "", false},
		{[]string{`"limitApp":"other"`}, "app", "", true},
		{[]string{`"limitApp":"other"`}, "", "", false},
		{[]string{`"limitApp":"other"`, `"limitApp":"app","grade":0`}, "app", "", false},
		{[]string{`"limitApp":"other"`, `"limitApp":"app","grade":0`}, "else", "", true},
		{[]string{`"strategy":2,"refResource":"web"`}, "", "web", true},
		{[]string{`"strategy":2,"refResource":"web"`}, "app", "", false},
		{[]string{`"strategy":2,"refResource":"sentinel_default_context"`}, "", "", true},
		{[]string{`"strategy":2,"refResource":"web","limitApp":"app"`}, "app", "web", true},
		{[]string{`"strategy":2,"refResource":"web","limitApp":"app"`}, "else", "web", false},
		{[]string{`"strategy":2,"refResource":"web","limitApp":"other"`}, "else", "web", true},
		{[]string{`"strategy":1,"refResource":"never called"`}, "", "", false},
	} {
		g := newGuard(t)
		rules := make([]string, len(c.rules))
		for i, r := range c.rules {
			rules[i] = fmt.Sprintf(`{"resource":"r","count":1,%s}`, r)
		}
		load(t, g.FlowRules(), rules...)
		call := tidegate.Call{Origin: c.origin, Entrance: c.entrance}
		got := g.count(3, "r", call)
		if want := map[bool]int{true: 1, false: 3}[c.limited]; got != want {
			t.Errorf("%v for origin %q in %q: %d of 3 passed, want %d", c.rules, c.origin, c.entrance, got, want)
		}
		if c.limited && c.rules[0] != `"limitApp":"default"` && c.origin == "app" {
			g.call("r", nil, tidegate.Call{Origin: "third", Entrance: "third"}) // not their fault
		}
	}
}

func TestRelatedResource(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"read","count":2,"strategy":1,"refResource":"write"}`, `{"resource":"batch","grade":0,"count":1,"strategy":1,"refResource":"write"}`)
	for range 5 {
		g.at(0).call("read", nil) // its own calls do not matter
	}
	g.call("write", nil)
	g.call("read", nil)
	g.call("write", nil)
	g.blocked("read", tidegate.ErrFlow)
	g.at(1_000).call("read", nil)
	held := g.pass("write")
	g.blocked("batch", tidegate.ErrFlow)
	held.Exit(nil)
	g.call("batch", nil)
	g.call("write", nil) // the second one after the window has moved on
	why := g.refusal("read", tidegate.ErrFlow).Explain()
	if why.Measured != 2 || why.Limit != 2 {
		t.Errorf("explanation %+v, want the related resource's", why)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.FlowRules(), `{"resource":"reject","count":2}`, `{"resource":"calls","grade":0,"count":1}`, `{"resource":"gap","count":0.5}`,
		`{"resource":"queue","count":2,"controlBehavior":2,"maxQueueingTimeMs":0}`, `{"resource":"own","count":1,"statIntervalInMs":10000}`,
		`{"resource":"zero","count":0}`)
	load(t, g.DegradeRules(), `{"resource":"breaker","grade":2,"count":0,"minRequestAmount":1,"timeWindow":10}`)
	g.at(200)
	for _, resource := range []string{"reject", "reject", "gap", "queue", "own"} {
		g.call(resource, nil)
	}
	g.call("breaker", errCall)
	held := g.pass("calls")
	defer held.Exit(nil)
	g.at(400)
	for _, c := range []struct {
		resource string
		want     tidegate.Explanation
	}{
		{"reject", tidegate.Explanation{Measured: 2, Limit: 2, Unit: "calls", Window: time.Second, RetryAfter: 600 * time.Millisecond}},
		{"calls", tidegate.Explanation{Measured: 1, Limit: 1, Unit: "calls in flight"}},
		{"gap", tidegate.Explanation{Measured: 1, Limit: 1, Unit: "calls", Window: 2 * time.Second, RetryAfter: 1800 * time.Millisecond}},
		{"queue", tidegate.Explanation{Measured: 300, Limit: 0, Unit: "ms in queue", Window: 500 * time.Millisecond, RetryAfter: 300 * time.Millisecond}},
		{"own", tidegate.Explanation{Measured: 1, Limit: 1, Unit: "calls", Window: 10 * time.Second, RetryAfter: 9600 * time.Millisecond}},
		{"zero", tidegate.Explanation{Limit: 0, Unit: "calls", Window: time.Second}},
	} {
		blocked := g.refusal(c.resource, tidegate.ErrFlow)
		if got := blocked.Explain(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.resource, got, c.want)
		}
		if rule, ok := blocked.Rule.(flow.Rule); !ok || rule.Resource != c.resource || blocked.Resource != c.resource || blocked.Kind.String() != "flow" {
			t.Errorf("%s: %+v", c.resource, blocked)
		}
	}
	if got := g.refusal("breaker", tidegate.ErrCircuitOpen).Explain(); got.RetryAfter != 9800*time.Millisecond {
		t.Errorf("breaker: %+v", got)
	}
}

func TestUnusualCounts(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	g := newGuard(t)
	report, err := g.FlowRules().Load(flow.Rule{Resource: "inf", Count: inf}, flow.Rule{Resource: "nan", Count: nan},
		flow.Rule{Resource: "negative", Count: -1}, flow.Rule{Resource: "fraction", Count: 2.7}, flow.Rule{Resource: "huge", Count: 1e300})
	if err == nil || report.Count(chain.Refused) != 2 {
		t.Errorf("report %v", report.Rules)
	}
	most := tidegate.Call{Count: math.MaxInt32}
	for range 3 { // no sum wraps round
		g.call("inf", nil, most)
		g.call("huge", nil, most)
	}
	g.call("fraction", nil)
	g.blocked("fraction", tidegate.ErrFlow, most)
	if got := g.count(5, "fraction"); got != 1 {
		t.Errorf("%d more passed under 2.7, want 1", got)
	}
	g.call("fraction", nil, tidegate.Call{Free: true})
	if got := g.count(3, "fraction", tidegate.Call{Free: true}); got != 3 {
		t.Errorf("%d of 3 free calls passed a full window, want all: they acquire nothing", got)
	}
}

func TestWarmUpRises(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.FlowRules(), `{"resource":"r","count":100,"controlBehavior":1,"warmUpPeriodSec":10}`)
	var passed []int
	for second := range int64(20) {
		passed = append(passed, g.at(second*1000).count(200, "r"))
	}
	if passed[0] != 33 || passed[19] != 100 || !slices.IsSorted(passed) {
		t.Errorf("passed %v, want from 33 up to 100", passed)
	}
	if got := g.at(60_000).count(200, "r"); got > 40 {
		t.Errorf("%d passed after an idle time, want it cold again", got)
	}
}

func TestClusterRulesFallBack(t *testing.T) {
	t.Parallel()
	for fallback, want := range map[string]int{
		``:                                            2,
		`,"fallbackToLocalWhenFail":true`:             2,
		`,"fallbackToLocalWhenFail":false`:            9,
		`,"fallbackPolicy":"pass"`:                    9,
		`,"fallbackPolicy":"block"`:                   0,
		`,"fallbackPolicy":"share"`:                   2,
		`,"fallbackPolicy":"local"`:                   2,
		`,"fallbackPolicy":"local","fallbackCount":4`: 4,
	} {
		g := newGuard(t)
		load(t, g.FlowRules(), `{"resource":"r","count":2,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1`+fallback+`}}`)
		if got := g.count(9, "r"); got != want {
			t.Errorf("%s: %d of 9 passed, want %d", fallback, got, want)
		}
	}
}

// The permits in use are known at once when isolation rules come back: also those of calls that entered without any.
func TestIsolationRulesComeBack(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.IsolationRules(), `{"resource":"r","count":6}`)
	three := g.pass("r", tidegate.Call{Count: 3})
	load(t, g.IsolationRules())
	free := g.pass("r", tidegate.Call{Count: 2})
	load(t, g.IsolationRules(), `{"resource":"r","count":6}`)
	last := g.pass("r")
	g.blocked("r", tidegate.ErrIsolation)
	three.Exit(nil)
	g.blocked("r", tidegate.ErrIsolation, tidegate.Call{Count: 4})
	g.pass("r", tidegate.Call{Count: 3}).Exit(nil)
	free.Exit(nil)
	last.Exit(nil)
	g.pass("r", tidegate.Call{Count: 6}).Exit(nil)
}
