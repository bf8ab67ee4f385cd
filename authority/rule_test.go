package authority_test

import (
	"slices"
	"testing"

	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/internal/ruletest"
)

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, authority.Parse, []ruletest.Case{
		{JSON: `{"resource":"r","limitApp":"appA,appB","strategy":0}`, Warning: "calls without an origin pass"},
		{JSON: `{"resource":"r","limitApp":"appA","strategy":0,"strict":true}`},
		{JSON: `{"resource":"r","limitApp":"appA","strategy":1}`},
		{JSON: `{"resource":"a.*","limitApp":"appA","strategy":1,"regex":true,"enabled":false,"mode":"observe"}`},
		{JSON: `{"resource":"r","limitApp":"appA","strategy":1,"strict":true}`, Warning: "strict has no effect"},
		{JSON: `{"resource":"r","limitApp":"appA","strategy":1,"limitapp":"x"}`, Warning: `unknown member "limitapp"`},
		{JSON: `{"limitApp":"appA"}`, Member: "resource", Reason: "blank"},
		{JSON: `{"resource":"r"}`, Member: "limitApp", Reason: "name the origins"},
		{JSON: `{"resource":"r","limitApp":" , "}`, Member: "limitApp", Reason: "name the origins"},
		{JSON: `{"resource":"r","limitApp":["a"]}`, Member: "limitApp", Reason: "must be a string, not an array"},
		{JSON: `{"resource":"r","limitApp":"a","strategy":2}`, Member: "strategy", Reason: "not one of [0 1]"},
		{JSON: `{"resource":"r","limitApp":"a","strict":1}`, Member: "strict", Reason: "true or false"},
		{JSON: `{"resource":"*","limitApp":"a","regex":true}`, Member: "resource", Reason: "regular expression"},
	})
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	rule := authority.Rule{LimitApp: " appA,appB ,, app C,"}
	if got := rule.Origins(); !slices.Equal(got, []string{"appA", "appB", "app C"}) {
		t.Errorf("origins %q", got)
	}
}

func TestRuleEqual(t *testing.T) {
	t.Parallel()
	ruletest.Same(t, authority.Parse, `{"resource":"r","limitApp":"a"}`, `{"resource":"r","limitApp":"a","strategy":0,"strict":false,"id":3,"mode":"off"}`)
	ruletest.Differ(t, authority.Parse, `{"resource":"r","limitApp":"a"}`, `{"resource":"s","limitApp":"a"}`, `{"resource":"r","limitApp":"b"}`,
		`{"resource":"r","limitApp":"a","strategy":1}`, `{"resource":"r","limitApp":"a","strict":true}`, `{"resource":"r","limitApp":"a","regex":true}`)
}

func FuzzRuleJSON(f *testing.F) {
	ruletest.Fuzz(f, authority.Parse, `{"resource":"r","limitApp":"appA,appB","strategy":1,"strict":true}`)
}
