package tidegate_test

import (
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
)

func from(origin string) tidegate.Call { return tidegate.Call{Origin: origin} }

// admits says which of the origins get in.
func (g guard) admits(resource string, origins ...string) string {
	var in []string
	for _, origin := range origins {
		if g.count(1, resource, from(origin)) == 1 {
			in = append(in, "<"+origin+">")
		}
	}
	return strings.Join(in, " ")
}

func TestB72WhiteListAndCallersWithoutOrigin(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	report := load(t, g.AuthorityRules(), `{"resource":"r","limitApp":"appA,appB","strategy":0}`, `{"resource":"strict","limitApp":"appA,appB","strict":true}`,
		`{"resource":"black","limitApp":"appA,appB","strategy":1}`, `{"resource":"spaced","limitApp":" appA , appB,,","strict":true}`)
	for i, warned := range []bool{true, false, false, false} {
		if got := len(report.Rules[i].Warnings) > 0; got != warned {
			t.Errorf("rule %d: warnings %q", i, report.Rules[i].Warnings)
		}
	}
	if w := report.Rules[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "strict") {
		t.Errorf("warnings %q", w)
	}
	origins := []string{"", "appA", "app", " appB", "appC", "appa", "appA,appB"}
	for resource, want := range map[string]string{
		"r": "<> <appA>", "strict": "<appA>", "black": "<> <app> < appB> <appC> <appa> <appA,appB>", "spaced": "<appA>", "free": "<> <appA> <app> < appB> <appC> <appa> <appA,appB>",
	} {
		if got := g.admits(resource, origins...); got != want {
			t.Errorf("%s: admits %q, want %q", resource, got, want)
		}
	}
	blocked := g.refusal("r", tidegate.ErrAuthority, from("appC"))
	if rule, ok := blocked.Rule.(authority.Rule); !ok || rule.LimitApp != "appA,appB" || blocked.Kind != chain.KindAuthority {
		t.Errorf("%+v", blocked)
	}
	g.idle()
}

func TestAuthorityBlocksAndWildcards(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.AuthorityRules(), `{"resource":"r","limitApp":"10.0.0.0/8, team-*, 2001:db8::/32, *.internal","strict":true}`)
	got := g.admits("r", "", "10.1.2.3", "11.0.0.1", "team-", "team-a", "team", "2001:db8::1", "2001:db9::1", "a.internal", "::ffff:10.0.0.1", "10.1.2.3:80")
	if want := "<10.1.2.3> <team-> <team-a> <2001:db8::1> <a.internal> <::ffff:10.0.0.1>"; got != want {
		t.Errorf("admits %q, want %q", got, want)
	}
}

// A plain rule and those by pattern apply together; of rules for one resource string the first counts.
func TestAuthorityRulesOfOneResource(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	report := load(t, g.AuthorityRules(), `{"resource":"r","limitApp":"a,b"}`, `{"resource":"r","limitApp":"c"}`, `{"resource":"r|s","regex":true,"limitApp":"b","strategy":1}`,
		`{"resource":"s.*","regex":true,"limitApp":"b"}`)
	if report.Rules[1].Verdict != chain.Duplicate || report.Count(chain.Loaded) != 3 {
		t.Errorf("%v", report.Rules)
	}
	for resource, want := range map[string]string{"r": "<a>", "s": "", "s1": "<b>", "rr": "<a> <b> <c>"} {
		if got := g.admits(resource, "a", "b", "c"); got != want {
			t.Errorf("%s: admits %q, want %q", resource, got, want)
		}
	}
	load(t, g.AuthorityRules(), `{"resource":"r","limitApp":"c"}`)
	if got := g.admits("r", "a", "b", "c"); got != "<c>" {
		t.Errorf("after the change: admits %q", got)
	}
}

func TestAuthorityOfTheContext(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.AuthorityRules(), `{"resource":"r","limitApp":"a","strict":true}`)
	ctx := tidegate.WithOrigin(t.Context(), "a")
	entry, err := g.Enter(ctx, "r", tidegate.Call{})
	if err != nil {
		t.Error(err)
	}
	entry.Exit(nil)
	if _, err := g.Enter(ctx, "r", from("b")); err == nil {
		t.Error("the context's origin won over the call's")
	}
}

func TestAuthorityObserveAndSwitch(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.AuthorityRules(), `{"resource":"o","limitApp":"a","mode":"observe"}`, `{"resource":"r","limitApp":"a","strict":true}`)
	g.call("o", nil, from("b"))
	if g.WouldBlock("o") != 1 {
		t.Errorf("%d would have been refused", g.WouldBlock("o"))
	}
	g.blocked("r", tidegate.ErrAuthority)
	g.SetKindEnabled(chain.KindAuthority, false)
	g.call("r", nil)
	g.SetKindEnabled(chain.KindAuthority, true)
	g.blocked("r", tidegate.ErrAuthority)
}

// Who may not call is told so before any other rule is asked, and spends nothing.
func TestAuthorityComesFirst(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.AuthorityRules(), `{"resource":"r","limitApp":"a"}`)
	load(t, g.FlowRules(), `{"resource":"r","count":1}`)
	load(t, g.SystemRules(), `{"qps":1}`)
	for range 3 {
		g.blocked("r", tidegate.ErrAuthority, tidegate.Call{Origin: "b", Inbound: true})
	}
	g.call("r", nil, tidegate.Call{Origin: "a", Inbound: true})
	g.blocked("r", tidegate.ErrSystem, tidegate.Call{Origin: "a", Inbound: true})
	g.blocked("r", tidegate.ErrFlow, from("a"))
}

func TestDoubtfulAddressBlock(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	report, err := e.AuthorityRules().Load(authority.Rule{Resource: "d", LimitApp: "10.0.0.0/33,app", Strategy: authority.Black})
	if err != nil || len(report.Rules[0].Warnings) != 1 || !strings.Contains(report.Rules[0].Warnings[0], "10.0.0.0/33") {
		t.Errorf("%v %q", err, report.Rules)
	}
}
