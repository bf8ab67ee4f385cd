package circuitbreaker_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/internal/ruletest"
)

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, circuitbreaker.Parse, []ruletest.Case{
		{JSON: `{"resource":"r","timeWindow":1}`},
		{JSON: `{"resource":"*","timeWindow":1,"grade":1,"count":0.5}`},
		{JSON: `{"resource":"r","grade":0,"count":50,"timeWindow":10,"slowRatioThreshold":0.25,"minRequestAmount":7,"statIntervalMs":30000}`},
		{JSON: `{"resource":"r","timeWindow":10,"slowRatioThreshold":0}`},
		{JSON: `{"resource":"r","grade":1,"count":1,"timeWindow":10,"enabled":false,"mode":"off"}`},
		{JSON: `{"resource":"r","grade":2,"count":100,"timeWindow":10,"regex":true}`},
		{JSON: `{"resource":"r","timeWindow":10.0,"statBucketCount":4,"probeNum":3,"probeTimeoutMs":500}`},
		{JSON: `{"resource":"r","timeWindow":1,"minRequestAmount":null,"statIntervalMs":null}`},
		// warned of
		{JSON: `{"resource":"r","timeWindow":1,"timewindow":3}`, Warning: `unknown member "timewindow"`},
		{JSON: `{"resource":"r","grade":1,"timeWindow":1,"slowRatioThreshold":2}`, Warning: "slowRatioThreshold has no effect"},
		// refused
		{JSON: `{"timeWindow":1}`, Member: "resource", Reason: "blank"},
		{JSON: `{"resource":"*","regex":true,"timeWindow":1}`, Member: "resource", Reason: "default rule"},
		{JSON: `{"resource":"r"}`, Member: "timeWindow", Reason: "above 0"},
		{JSON: `{"resource":"r","timeWindow":0}`, Member: "timeWindow", Reason: "above 0"},
		{JSON: `{"resource":"r","timeWindow":-1}`, Member: "timeWindow", Reason: "negative"},
		{JSON: `{"resource":"r","timeWindow":2147483648}`, Member: "timeWindow", Reason: "out of range"},
		{JSON: `{"resource":"r","timeWindow":"10"}`, Member: "timeWindow", Reason: "whole number"},
		{JSON: `{"resource":"r","timeWindow":1.5}`, Member: "timeWindow", Reason: "whole number"},
		{JSON: `{"resource":"r","timeWindow":1,"grade":3}`, Member: "grade", Reason: "not one of [0 1 2]"},
		{JSON: `{"resource":"r","timeWindow":1,"count":-0.5}`, Member: "count", Reason: "negative"},
		{JSON: `{"resource":"r","timeWindow":1,"grade":1,"count":1.01}`, Member: "count", Reason: "at most 1"},
		{JSON: `{"resource":"r","timeWindow":1,"slowRatioThreshold":1.5}`, Member: "slowRatioThreshold", Reason: "0 to 1"},
		{JSON: `{"resource":"r","timeWindow":1,"slowRatioThreshold":-0.1}`, Member: "slowRatioThreshold", Reason: "0 to 1"},
		{JSON: `{"resource":"r","timeWindow":1,"minRequestAmount":0}`, Member: "minRequestAmount", Reason: "above 0"},
		{JSON: `{"resource":"r","timeWindow":1,"statIntervalMs":0}`, Member: "statIntervalMs", Reason: "above 0"},
		{JSON: `{"resource":"r","timeWindow":1,"statIntervalMs":1e12}`, Member: "statIntervalMs", Reason: "out of range"},
		{JSON: `{"resource":"r","timeWindow":1,"statBucketCount":0}`, Member: "statBucketCount", Reason: "above 0"},
		{JSON: `{"resource":"r","timeWindow":1,"statBucketCount":3}`, Member: "statBucketCount", Reason: "divide"},
		{JSON: `{"resource":"r","timeWindow":1,"probeNum":0}`, Member: "probeNum", Reason: "above 0"},
		{JSON: `{"resource":"r","timeWindow":1,"probeTimeoutMs":0}`, Member: "probeTimeoutMs", Reason: "above 0"},
	})
}

func TestRuleEqual(t *testing.T) {
	t.Parallel()
	ruletest.Same(t, circuitbreaker.Parse,
		`{"resource":"r","timeWindow":2}`,
		`{"resource":"r","timeWindow":2,"limitApp":"default","minRequestAmount":5,"slowRatioThreshold":1.0,"statIntervalMs":1000,"probeNum":1,"probeTimeoutMs":2000,"statBucketCount":1,"id":3,"mode":"off"}`)
	ruletest.Differ(t, circuitbreaker.Parse,
		`{"resource":"r","timeWindow":2}`, `{"resource":"s","timeWindow":2}`, `{"resource":"r","timeWindow":2,"regex":true}`,
		`{"resource":"r","timeWindow":3}`, `{"resource":"r","timeWindow":2,"grade":1}`, `{"resource":"r","timeWindow":2,"count":1}`,
		`{"resource":"r","timeWindow":2,"minRequestAmount":6}`, `{"resource":"r","timeWindow":2,"slowRatioThreshold":0}`,
		`{"resource":"r","timeWindow":2,"statIntervalMs":2000}`, `{"resource":"r","timeWindow":2,"statBucketCount":2}`,
		`{"resource":"r","timeWindow":2,"probeNum":2}`, `{"resource":"r","timeWindow":2,"probeTimeoutMs":1}`)
}

func TestRuleInGo(t *testing.T) {
	t.Parallel()
	rule := circuitbreaker.Rule{Resource: "r", TimeWindow: 3}
	interval, buckets := rule.Window()
	if rule.MinRequests() != 5 || rule.SlowRatio() != 1 || interval != time.Second || buckets != 1 || rule.Probes() != 1 || rule.ProbeTimeout() != 3*time.Second {
		t.Errorf("defaults of %+v are not Sentinel's", rule)
	}
	nan := math.NaN()
	for member, bad := range map[string]circuitbreaker.Rule{
		"count":              {Resource: "r", TimeWindow: 1, Count: nan},
		"slowRatioThreshold": {Resource: "r", TimeWindow: 1, SlowRatioThreshold: &nan},
		"grade":              {Resource: "r", TimeWindow: 1, Grade: 9},
		"minRequestAmount":   {Resource: "r", TimeWindow: 1, MinRequestAmount: -1},
		"statIntervalMs":     {Resource: "r", TimeWindow: 1, StatIntervalMs: -1},
		"probeTimeoutMs":     {Resource: "r", TimeWindow: 1, ProbeTimeoutMs: -1},
		"statBucketCount":    {Resource: "r", TimeWindow: 1, StatIntervalMs: 2_000_000_000, StatBucketCount: 2_000_000_000},
	} {
		var at *chain.MemberError
		if err := bad.Validate(); !errors.As(err, &at) || at.Member != member {
			t.Errorf("%+v: %v, want %s at fault", bad, err, member)
		}
	}
}

// B71: ratios and amounts survive being written and read.
func TestRatiosSurviveSaving(t *testing.T) {
	t.Parallel()
	rule, _, err := circuitbreaker.Parse([]byte(`{"resource":"r","grade":0,"count":100,"timeWindow":5,"slowRatioThreshold":0.25,"minRequestAmount":7,"statIntervalMs":30000}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		text, err := rule.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if rule, _, err = circuitbreaker.Parse(text); err != nil {
			t.Fatal(err)
		}
	}
	if rule.SlowRatio() != 0.25 || rule.MinRequestAmount != 7 || rule.StatIntervalMs != 30000 {
		t.Errorf("%+v", rule)
	}
}

func FuzzRuleJSON(f *testing.F) {
	ruletest.Fuzz(f, circuitbreaker.Parse, `{"resource":"r","grade":1,"count":0.5,"timeWindow":10,"statBucketCount":2,"probeNum":3,"probeTimeoutMs":500}`)
}
