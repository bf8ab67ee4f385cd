package system_test

import (
	"math"
	"testing"

	"github.com/tidegate-go/tidegate/internal/ruletest"
	"github.com/tidegate-go/tidegate/system"
)

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, system.Parse, []ruletest.Case{
		{JSON: `{"highestSystemLoad":2.5,"highestCpuUsage":0.85,"qps":100,"avgRt":50,"maxThread":20}`},
		{JSON: `{"highestSystemLoad":-1,"highestCpuUsage":-1.0,"qps":0,"avgRt":-1,"maxThread":-1,"resource":null,"limitApp":null,"regex":false}`},
		{JSON: `{"maxThread":0,"enabled":false,"mode":"observe","id":3,"description":"d","tags":["x"]}`},
		{JSON: `{}`, Warning: "does nothing"},
		{JSON: `{"qps":-1}`, Warning: "does nothing"},
		{JSON: `{"highestCpuUsage":85}`, Warning: "highestCpuUsage is above 1"},
		{JSON: `{"qps":1,"maxThreads":4}`, Warning: `unknown member "maxThreads"`},
		{JSON: `{"qps":"1"}`, Member: "qps", Reason: "must be a number"},
		{JSON: `{"avgRt":1.5}`, Member: "avgRt", Reason: "whole"},
		{JSON: `{"maxThread":9223372036854775808}`, Member: "maxThread", Reason: "out of range"},
		{JSON: `{"mode":"x"}`, Member: "mode", Reason: "enforce"},
		{JSON: `5`, Member: "rule", Reason: "must be an object, not the number 5"},
	})
}

func TestLimits(t *testing.T) {
	t.Parallel()
	rule, _, err := system.Parse([]byte(`{"highestSystemLoad":0,"highestCpuUsage":1.5,"qps":-1,"maxThread":3}`))
	if err != nil {
		t.Fatal(err)
	}
	if load, set := rule.Load(); load != 0 || !set {
		t.Errorf("load %v %v, want 0 true", load, set)
	}
	if _, set := rule.CPU(); set {
		t.Error("a CPU usage above 1 is ignored")
	}
	if _, set := rule.Rate(); set {
		t.Error("a negative qps is not set")
	}
	if _, set := rule.ResponseTime(); set {
		t.Error("an absent avgRt is not set")
	}
	if n, set := rule.Concurrency(); n != 3 || !set {
		t.Errorf("maxThread %v %v, want 3 true", n, set)
	}
	nan := math.NaN()
	if (system.Rule{QPS: &nan}).Validate() == nil {
		t.Error("NaN is valid")
	}
}

func TestRuleEqual(t *testing.T) {
	t.Parallel()
	ruletest.Same(t, system.Parse, `{"qps":1}`, `{"qps":1,"avgRt":-1,"highestCpuUsage":-3,"id":3,"mode":"off"}`)
	ruletest.Differ(t, system.Parse, `{}`, `{"qps":0}`, `{"qps":1}`, `{"avgRt":1}`, `{"maxThread":1}`, `{"highestCpuUsage":0.5}`, `{"highestSystemLoad":1}`)
}

func FuzzRuleJSON(f *testing.F) {
	ruletest.Fuzz(f, system.Parse, `{"highestSystemLoad":2.5,"highestCpuUsage":0.85,"qps":100,"avgRt":50,"maxThread":20}`)
}
