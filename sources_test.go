package tidegate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// Every source replaces only its own rules, of every kind; rules in force are listed in the order of the sources' names.
func TestB66SourcesOfEveryKind(t *testing.T) {
	t.Parallel()
	position := 0
	sources(t, "flow", tidegate.ErrFlow, (*tidegate.Engine).FlowRules, func(r string) flow.Rule { return flow.Rule{Resource: r} })
	sources(t, "isolation", tidegate.ErrIsolation, (*tidegate.Engine).IsolationRules, func(r string) isolation.Rule { return isolation.Rule{Resource: r} })
	sources(t, "param", tidegate.ErrParam, (*tidegate.Engine).ParamRules, func(r string) hotspot.Rule { return hotspot.Rule{Resource: r, ParamIdx: &position} })
	sources(t, "authority", tidegate.ErrAuthority, (*tidegate.Engine).AuthorityRules, func(r string) authority.Rule {
		return authority.Rule{Resource: r, LimitApp: "someone else"}
	})
	sources(t, "gateway", tidegate.ErrGateway, (*tidegate.Engine).GatewayRules, func(r string) gateway.Rule { return gateway.Rule{Resource: r} })
	sources(t, "degrade", tidegate.ErrCircuitOpen, (*tidegate.Engine).DegradeRules, func(r string) circuitbreaker.Rule {
		return circuitbreaker.Rule{Resource: r, Grade: circuitbreaker.ErrorCount, MinRequestAmount: 1, TimeWindow: 100}
	})
}

func sources[R any](t *testing.T, kind string, refusal error, rules func(*tidegate.Engine) *tidegate.RuleSet[R], rule func(resource string) R) {
	t.Helper()
	t.Run(kind, func(t *testing.T) {
		t.Parallel()
		g := newGuard(t)
		set := rules(g.Engine)
		call := args("value")
		call.Origin, call.Args = "app", append(call.Args, tidegate.RequestArg(request{}))
		state := func() (refused string) {
			for _, resource := range []string{"a", "b", "c", "d"} {
				for range 2 { // a breaker has to see an error first
					entry, err := g.enter(resource, call)
					entry.Exit(errCall)
					if err != nil && !strings.Contains(refused, resource) {
						refused += resource
					}
				}
			}
			return refused
		}
		expect := func(after, want string) {
			t.Helper()
			if got := state(); got != want {
				t.Errorf("after %s: %q refused, want %q", after, got, want)
			}
		}
		set.LoadFrom("A", items(rule("a"), rule("d")))
		set.LoadFrom("B", items(rule("b")))
		if _, err := set.Load(rule("c")); err != nil {
			t.Error(err)
		}
		expect("three sources", "abcd")
		set.LoadFrom("B", items(rule("b"), rule("a"))) // the second is equal to A's
		if got := set.Status().Count(chain.Duplicate); got != 1 {
			t.Errorf("%d duplicates", got)
		}
		expect("a push of B", "abcd")
		set.LoadFrom("A", nil)
		expect("A left", "abc")
		if _, err := set.LoadResource("a"); err != nil {
			t.Error(err)
		}
		expect("the rules of a were removed", "bc")
		report, err := set.LoadResource("d", rule("d"), rule("elsewhere"))
		if err == nil || report.Rules[0].Verdict != chain.Loaded || report.Rules[1].Verdict != chain.Refused {
			t.Errorf("%v", report.Rules)
		}
		expect("the rules of d were loaded", "bcd")
		set.LoadFrom("B", nil)
		if _, err := set.Load(); err != nil || state() != "" || len(set.Rules()) != 0 || len(set.Status().Rules) != 0 {
			t.Errorf("rules are left: %v, %q refused", set.Rules(), state())
		}
		set.LoadFrom("A", items(rule("a")))
		blocked := g.refusalAfter("a", refusal, call)
		if blocked.Kind.String() != kind {
			t.Errorf("%+v", blocked)
		}
	})
}

// refusalAfter is refusal after a call that may pass and fails.
func (g guard) refusalAfter(resource string, want error, call tidegate.Call) *tidegate.BlockError {
	g.t.Helper()
	entry, _ := g.enter(resource, call)
	entry.Exit(errCall)
	return g.refusal(resource, want, call)
}

func TestSubscribersOfEveryKind(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	var told []string
	limit := 5.0
	cancels := []func(){
		g.FlowRules().Subscribe(func(r []flow.Rule) { told = append(told, fmt.Sprint("flow ", len(r))) }),
		g.ParamRules().Subscribe(func(r []hotspot.Rule) { told = append(told, fmt.Sprint("param ", len(r))) }),
		g.SystemRules().Subscribe(func(r []system.Rule) {
			told = append(told, fmt.Sprint("system ", len(r)))
			for _, rule := range r {
				*rule.QPS = 0 // a copy
			}
		}),
		g.APIDefinitions().Subscribe(func(r []gateway.API) { told = append(told, fmt.Sprint("api ", len(r))) }),
	}
	change := func() {
		load(t, g.FlowRules(), `{"resource":"r","count":1}`)
		load(t, g.FlowRules(), `{"resource":"r","count":1}`) // nothing changed
		load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1}`)
		if _, err := g.SystemRules().Load(system.Rule{QPS: &limit}); err != nil {
			t.Error(err)
		}
		load(t, g.APIDefinitions(), `{"apiName":"a","predicateItems":[{"pattern":"/a"}]}`)
		load(t, g.FlowRules())
		g.SetKindEnabled(chain.KindParam, false)
		g.SetKindEnabled(chain.KindParam, true)
	}
	change()
	if got := strings.Join(told, ", "); got != "flow 1, param 1, system 1, api 1, flow 0, param 0, param 1" {
		t.Errorf("told %s", got)
	}
	g.call("r", nil, inbound)
	for _, cancel := range cancels {
		cancel()
		cancel()
	}
	told = nil
	load(t, g.ParamRules())
	change()
	if told != nil {
		t.Errorf("told %q after the cancel", told)
	}
}

// What is wrong with a rule is named with its place and member; the other rules of the list are in force, and those
// that worked before where the list as a whole cannot be read.
func TestBadRulesAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind     chain.Kind
		good     string
		bad      map[string]string // rule to the member at fault
		resource string
		call     tidegate.Call
	}{
		{chain.KindParam, `{"resource":"r","paramIdx":0,"count":0}`, map[string]string{
			`{"resource":"x","paramIdx":0,"grade":7}`: "grade", `{"resource":"x","paramIdx":0,"controlBehavior":1}`: "controlBehavior",
			`{"resource":"x","paramIdx":"0"}`: "paramIdx", `{"resource":"x","paramIdx":0,"count":"5"}`: "count", `{"resource":"x","paramIdx":0,"durationInSec":0}`: "durationInSec",
			`{"resource":"x","paramIdx":0,"burstCount":-1}`: "burstCount", `{"resource":"x","paramIdx":0,"mode":"dream"}`: "mode", `{"resource":" ","paramIdx":0}`: "resource",
			`{"resource":"x","paramIdx":0,"paramFlowItemList":{}}`: "paramFlowItemList", `{"resource":"(","regex":true,"paramIdx":0}`: "resource",
		}, "r", args("a")},
		{chain.KindAuthority, `{"resource":"r","limitApp":"a"}`, map[string]string{
			`{"resource":"x","limitApp":"a","strategy":2}`: "strategy", `{"resource":"x","limitApp":" , "}`: "limitApp", `{"resource":"x","limitApp":["a"]}`: "limitApp",
			`{"resource":"x","limitApp":"a","strict":"yes"}`: "strict",
		}, "r", from("b")},
		{chain.KindSystem, `{"qps":0}`, map[string]string{
			`{"qps":"many"}`: "qps", `{"maxThread":1.5}`: "maxThread", `{"avgRt":true}`: "avgRt", `{"mode":3}`: "mode",
		}, "r", inbound},
		{chain.KindGateway, `{"resource":"r","count":0}`, map[string]string{
			`{"resource":"x","resourceMode":2}`: "resourceMode", `{"resource":"x","grade":-1}`: "grade", `{"resource":"x","intervalSec":0}`: "intervalSec",
			`{"resource":"x","controlBehavior":1}`: "controlBehavior", `{"resource":"x","paramItem":{"parseStrategy":5}}`: "paramItem.parseStrategy",
			`{"resource":"x","paramItem":{"parseStrategy":2}}`: "paramItem.fieldName", `{"resource":"x","paramItem":{"pattern":"[","matchStrategy":2}}`: "paramItem.pattern",
			`{"resource":"x","paramItem":{"matchStrategy":4,"pattern":"a"}}`: "paramItem.matchStrategy",
		}, "r", request{}.call()},
	} {
		for bad, member := range c.bad {
			g := newGuard(t)
			loader := document.NewLoader(g.Engine, "file", document.WithKind(c.kind))
			err := loader.Update(t.Context(), []byte("["+bad+",null,7,"+c.good+"]"))
			for _, part := range []string{"[0]", ": " + member + ": ", "[1]: ", "null", "[2]: "} {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%s: the error does not name %q: %v", bad, part, err)
				}
			}
			if _, err := g.enter(c.resource, c.call); err == nil {
				t.Errorf("%s: the good rule is not in force", bad)
			}
			if err := loader.Update(t.Context(), []byte("["+c.good+`,{"resource":`)); err == nil {
				t.Errorf("%v: a broken list was accepted", c.kind)
			}
			if _, err := g.enter(c.resource, c.call); err == nil {
				t.Errorf("%s: a broken list cleared the rules", bad)
			}
		}
	}
}

func TestUnknownClassTypeIsNamed(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	report := load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":1,"paramFlowItemList":[{"object":"a","classType":"Long","count":2},`+
		`{"object":"x","classType":"int","count":3},{"object":"b","classType":"java.util.UUID","count":4},{"object":"c","count":5}]}`)
	warnings := report.Rules[0].Warnings
	if report.Rules[0].Verdict != chain.Loaded || len(warnings) != 3 || !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "[2]") && strings.Contains(w, "java.util.UUID") }) {
		t.Errorf("%+v", report.Rules[0])
	}
	if got := g.count(9, "r", args("c")); got != 5 {
		t.Errorf("%d of 9 passed, want 5: the other items count", got)
	}
}
