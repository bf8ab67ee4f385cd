package document_test

import (
	"errors"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

func newEngine(t *testing.T) *tidegate.Engine {
	t.Helper()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// passes says whether a call of the resource passes now.
func passes(t *testing.T, e *tidegate.Engine, resource string) bool {
	t.Helper()
	entry, err := e.Enter(t.Context(), resource, tidegate.Call{Inbound: true})
	if err != nil {
		if !errors.Is(err, tidegate.ErrBlocked) {
			t.Errorf("%s: %v", resource, err)
		}
		return false
	}
	entry.Exit(nil)
	return true
}

func expect(t *testing.T, e *tidegate.Engine, resource string, want bool) {
	t.Helper()
	if got := passes(t, e, resource); got != want {
		t.Errorf("%s passes: %v, want %v", resource, got, want)
	}
}

func TestLoaderOnEngine(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	l := document.NewLoader(e, "rules.json")
	update(t, l, `{"flowRules":[{"resource":"a","count":0},{"resource":"b","count":0,"enabled":false}],"isolationRules":[{"resource":"c","count":0}]}`)
	expect(t, e, "a", false)
	expect(t, e, "b", true)
	expect(t, e, "c", false)
	update(t, l, `{"slots":{"flow":false},"flowRules":[{"resource":"a","count":0}],"isolationRules":[{"resource":"c","count":0}]}`)
	expect(t, e, "a", true)
	expect(t, e, "c", false)
	if e.KindEnabled(chain.KindFlow) {
		t.Error("the flow slot is on")
	}
	update(t, l, `{"sentinelEnabled":false,"flowRules":[{"resource":"a","count":0}]}`)
	if e.Enabled() || !e.KindEnabled(chain.KindFlow) {
		t.Error("the master switch is on, or the flow slot off")
	}
	expect(t, e, "a", true)
	update(t, l, `{"mode":"observe","flowRules":[{"resource":"a","count":0}]}`)
	if !e.Enabled() || !e.Observe() {
		t.Error("the master switch is off, or the engine enforces")
	}
	expect(t, e, "a", true)
	update(t, l, `{"flowRules":[{"resource":"a","count":0}]}`)
	expect(t, e, "a", false)
	if err := l.Deleted(t.Context()); err != nil {
		t.Error(err)
	}
	expect(t, e, "a", true)
}

// A rule that stays keeps what it counted, whatever the document changes around it.
func TestEqualRulesKeepTheirState(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	l := document.NewLoader(e, "rules.json")
	update(t, l, `{"flowRules":[{"resource":"a","count":1,"statIntervalInMs":3600000}]}`)
	expect(t, e, "a", true)
	for _, text := range []string{
		`{"flowRules":[{"resource":"b"},{"resource":"a","count":1,"statIntervalInMs":3600000,"description":"again"}]}`,
		`{"slots":{"flow":true},"flowRules":[{"resource":"a","count":1,"statIntervalInMs":3600000}]}`,
	} {
		update(t, l, text)
		expect(t, e, "a", false)
	}
}

// B66: a source replaces its own rules only.
func TestSourcesOnEngine(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	a, b := document.NewLoader(e, "a"), document.NewLoader(e, "b", document.WithKind(chain.KindFlow))
	update(t, a, `[{"resource":"a","count":0}]`)
	update(t, b, `[{"resource":"b","count":0}]`)
	update(t, b, `[{"resource":"b","count":0,"description":"changed"}]`)
	expect(t, e, "a", false)
	if _, err := e.FlowRules().LoadResource("a"); err != nil {
		t.Error(err)
	}
	expect(t, e, "a", true)
	expect(t, e, "b", false)
}

func TestEveryKindReachesTheEngine(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	update(t, document.NewLoader(e, "all"), complete)
	for kind, n := range map[chain.Kind]int{
		chain.KindAPI: len(e.APIDefinitions().Rules()), chain.KindGateway: len(e.GatewayRules().Rules()), chain.KindParam: len(e.ParamRules().Rules()),
		chain.KindFlow: len(e.FlowRules().Rules()), chain.KindIsolation: len(e.IsolationRules().Rules()), chain.KindDegrade: len(e.DegradeRules().Rules()),
		chain.KindSystem: len(e.SystemRules().Rules()),
	} {
		if n != 1 {
			t.Errorf("%d %v rules in force, want 1", n, kind)
		}
	}
	if n := len(e.AuthorityRules().Rules()); n != 0 {
		t.Errorf("%d authority rules in force though their slot is off", n)
	}
}
