package document_test

import (
	"errors"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// source returns an engine and a loader of flow rules.
func source(t *testing.T) (*tidegate.Engine, *document.Loader) {
	t.Helper()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e, document.NewLoader(e, "file", document.WithKind(chain.KindFlow))
}

func enters(t *testing.T, e *tidegate.Engine, resource string) bool {
	t.Helper()
	entry, err := e.Enter(t.Context(), resource, tidegate.Call{})
	entry.Exit(nil)
	if err != nil && !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("%s: %v", resource, err)
	}
	return err == nil
}

func TestB64DashboardFields(t *testing.T) {
	t.Parallel()
	const text = `[{"app":"a","ip":"1.2.3.4","port":8719,"id":1,"gmtCreate":1,"gmtModified":null,"clusterMode":false,"clusterConfig":{"fallbackToLocalWhenFail":true,"sampleCount":10,"strategy":0,"thresholdType":0,"windowIntervalMs":1000},"resource":"r","limitApp":"default","grade":1,"count":1.0,"strategy":0,"controlBehavior":0}]`
	for _, options := range [][]document.Option{nil, {document.WithKind(chain.KindFlow)}} {
		e, _ := source(t)
		l := document.NewLoader(e, "file", options...)
		if err := l.Update(t.Context(), []byte(text)); err != nil {
			t.Errorf("%v", err)
		}
		if accepted, refused := l.RuleCounts(); accepted != 1 || refused != 0 {
			t.Errorf("%d accepted, %d refused, want 1 and 0", accepted, refused)
		}
		rules := e.FlowRules().Rules()
		if len(rules) != 1 || rules[0].Count != 1 || rules[0].ID != 1 || rules[0].ClusterConfig == nil {
			t.Fatalf("rules %+v", rules)
		}
		if !enters(t, e, "r") || enters(t, e, "r") {
			t.Error("want one call to pass and one to be refused")
		}
	}
}

func TestB65ObjectNullOrGarbage(t *testing.T) {
	t.Parallel()
	const active = `[{"resource":"r","grade":1,"count":0}]`
	for _, c := range []struct {
		name, text string
		refused    bool // an error, and the rules before stay
		passes     bool
	}{
		{"object", `{}`, true, false},
		{"truncated", `[{"resource":"r"`, true, false},
		{"garbage", `<html>`, true, false},
		{"byte order mark", "\ufeff" + `[{"resource":"r","grade":1,"count":5}]`, false, true},
		{"null", `null`, false, true},
		{"empty list", `[]`, false, true},
	} {
		e, l := source(t)
		if err := l.Update(t.Context(), []byte(active)); err != nil {
			t.Fatal(err)
		}
		if enters(t, e, "r") {
			t.Fatal("the first rule is not in force")
		}
		if err := l.Update(t.Context(), []byte(c.text)); (err != nil) != c.refused {
			t.Errorf("%s: error %v", c.name, err)
		}
		if got := enters(t, e, "r"); got != c.passes {
			t.Errorf("%s: passes %v, want %v", c.name, got, c.passes)
		}
		if cleared := len(e.FlowRules().Rules()) == 0; cleared != (c.name == "null" || c.name == "empty list") {
			t.Errorf("%s: rules %+v", c.name, e.FlowRules().Rules())
		}
	}
}

// A rule that names no parameter is refused by its member; the others are in force and the count is known.
func TestB56ParameterIndexMissing(t *testing.T) {
	t.Parallel()
	e, _ := source(t)
	l := document.NewLoader(e, "file", document.WithKind(chain.KindParam))
	const text = `[{"resource":"r","grade":1,"count":2,"durationInSec":86400},{"resource":"s","paramIdx":0,"grade":1,"count":1,"durationInSec":1}]`
	partly(t, l, text, "paramIdx")
	if accepted, refused := l.RuleCounts(); accepted != 1 || refused != 1 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
	status := e.ParamRules().Status()
	if len(status.Rules) != 2 || status.Rules[0].Verdict != chain.Refused || status.Rules[0].Member != "paramIdx" || status.Rules[0].Index != 0 {
		t.Errorf("status %v", status.Rules)
	}
	if rules := e.ParamRules().Rules(); len(rules) != 1 || rules[0].Resource != "s" {
		t.Errorf("in force %+v", rules)
	}
}
