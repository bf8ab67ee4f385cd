package flow_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/internal/ruletest"
)

const clusterRule = `{"resource":"createOrder","limitApp":"default","grade":1,"count":50,"clusterMode":true,
 "clusterConfig":{"flowId":101,"thresholdType":1,"fallbackToLocalWhenFail":true,"strategy":0,"sampleCount":10,"windowIntervalMs":1000}}`

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, flow.Parse, []ruletest.Case{
		{JSON: `{"resource":"r"}`},
		{JSON: `{"resource":"r","count":10,"limitApp":null,"clusterConfig":null,"enabled":null,"mode":null,"id":null}`},
		{JSON: `{"resource":"achang:1","grade":1,"count":0.1,"controlBehavior":2,"maxQueueingTimeMs":30000}`},
		{JSON: `{"resource":"r","grade":1,"count":5,"controlBehavior":2,"maxQueueingTimeMs":0}`},
		{JSON: `{"resource":"r","grade":0,"count":2,"enabled":false,"mode":"observe","description":"d","tags":["a","b"],"id":7}`},
		{JSON: `{"resource":"a.*","regex":true,"count":1e2}`},
		{JSON: `{"resource":"r","count":1,"strategy":1,"refResource":"w"}`},
		{JSON: `{"resource":"r","count":1,"strategy":2,"refResource":"entrance"}`},
		{JSON: `{"resource":"r","count":1,"controlBehavior":3,"warmUpPeriodSec":5}`},
		{JSON: `{"resource":"r","count":1,"warmUpPeriodSec":0}`},
		{JSON: `{"resource":"r","count":1,"statIntervalInMs":60000,"statBucketCount":6}`},
		{JSON: `{"resource":"r","count":1,"statIntervalInMs":0}`},
		{JSON: `{"resource":"r","lowMemUsageThreshold":1000,"highMemUsageThreshold":100,"memLowWaterMarkBytes":1024,"memHighWaterMarkBytes":2048}`},
		{JSON: clusterRule},
		{JSON: `{"resource":"r","clusterConfig":{"sampleCount":0}}`},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"fallbackPolicy":"local","fallbackCount":0}}`},
		// warned of
		{JSON: `{"resource":"r","cout":10}`, Warning: `unknown member "cout"`},
		{JSON: `{"resource":"r","Count":10}`, Warning: `unknown member "Count"`},
		{JSON: `{"resource":"r","clusterConfig":{"flowID":1}}`, Warning: `unknown member "clusterConfig.flowID"`},
		{JSON: `{"resource":"r","statBucketCount":2}`, Warning: "statBucketCount has no effect"},
		{JSON: `{"resource":"r","refResource":"x"}`, Warning: "refResource has no effect"},
		{JSON: `{"resource":"r","grade":0,"controlBehavior":2}`, Warning: "controlBehavior has no effect"},
		// refused
		{JSON: `[]`, Member: "rule", Reason: "must be an object, not an array"},
		{JSON: `{"resource":"r"`, Member: "rule", Reason: "not JSON"},
		{JSON: `{}`, Member: "resource", Reason: "blank"},
		{JSON: `{"resource":" \t"}`, Member: "resource", Reason: "blank"},
		{JSON: `{"resource":5}`, Member: "resource", Reason: "must be a string, not the number 5"},
		{JSON: `{"resource":"(","regex":true}`, Member: "resource", Reason: "regular expression"},
		{JSON: `{"resource":"r","count":-1}`, Member: "count", Reason: "negative"},
		{JSON: `{"resource":"r","count":"10"}`, Member: "count", Reason: "must be a number, not a string"},
		{JSON: `{"resource":"r","count":1e999}`, Member: "count", Reason: "out of range"},
		{JSON: `{"resource":"r","grade":2}`, Member: "grade", Reason: "2 is not one of [0 1]"},
		{JSON: `{"resource":"r","grade":1.5}`, Member: "grade", Reason: "whole"},
		{JSON: `{"resource":"r","grade":99999999999}`, Member: "grade", Reason: "out of range"},
		{JSON: `{"resource":"r","strategy":1}`, Member: "refResource", Reason: "strategy 1"},
		{JSON: `{"resource":"r","grade":0,"strategy":2,"refResource":" "}`, Member: "refResource", Reason: "strategy 2"},
		{JSON: `{"resource":"r","strategy":3}`, Member: "strategy", Reason: "not one of"},
		{JSON: `{"resource":"r","controlBehavior":9}`, Member: "controlBehavior", Reason: "not one of"},
		{JSON: `{"resource":"r","controlBehavior":-1}`, Member: "controlBehavior", Reason: "not one of"},
		{JSON: `{"resource":"r","controlBehavior":1,"warmUpPeriodSec":0}`, Member: "warmUpPeriodSec", Reason: "must be above 0"},
		{JSON: `{"resource":"r","controlBehavior":3,"warmUpPeriodSec":-5}`, Member: "warmUpPeriodSec", Reason: "must be above 0"},
		{JSON: `{"resource":"r","controlBehavior":2,"maxQueueingTimeMs":-1}`, Member: "maxQueueingTimeMs", Reason: "negative"},
		{JSON: `{"resource":"r","controlBehavior":2,"maxQueueingTimeMs":2147483648}`, Member: "maxQueueingTimeMs", Reason: "out of range"},
		{JSON: `{"resource":"r","maxQueueingTimeMs":1e30}`, Member: "maxQueueingTimeMs", Reason: "out of range"},
		{JSON: `{"resource":"r","maxQueueingTimeMs":1e999999999}`, Member: "maxQueueingTimeMs", Reason: "out of range"},
		{JSON: `{"resource":".*","regex":true,"controlBehavior":2}`, Member: "controlBehavior", Reason: "regex"},
		{JSON: `{"resource":".*","regex":true,"clusterMode":true,"clusterConfig":{"flowId":1}}`, Member: "clusterMode", Reason: "regex"},
		{JSON: `{"resource":"r","statIntervalInMs":-1}`, Member: "statIntervalInMs", Reason: "negative"},
		{JSON: `{"resource":"r","statIntervalInMs":1000,"statBucketCount":3}`, Member: "statBucketCount", Reason: "does not divide"},
		{JSON: `{"resource":"r","statIntervalInMs":2000000000,"statBucketCount":2000000000}`, Member: "statBucketCount", Reason: "at most 1000"},
		{JSON: `{"resource":"r","statIntervalInMs":1001}`, Member: "statBucketCount", Reason: "2 does not divide"},
		{JSON: `{"resource":"r","statIntervalInMs":1000,"statBucketCount":0}`, Member: "statBucketCount", Reason: "above 0"},
		{JSON: `{"resource":"r","clusterMode":true}`, Member: "clusterConfig", Reason: "needed"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{}}`, Member: "clusterConfig.flowId", Reason: "above 0"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"sampleCount":0}}`, Member: "clusterConfig.sampleCount", Reason: "above 0"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"sampleCount":3}}`, Member: "clusterConfig.sampleCount", Reason: "divide"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"strategy":1}}`, Member: "clusterConfig.strategy", Reason: "must be 0"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":7}}`, Member: "clusterConfig.thresholdType", Reason: "not one of"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"fallbackPolicy":"maybe"}}`, Member: "clusterConfig.fallbackPolicy", Reason: "not one of"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":[]}`, Member: "clusterConfig", Reason: "must be an object"},
		{JSON: `{"resource":"r","enabled":"false"}`, Member: "enabled", Reason: "true or false"},
		{JSON: `{"resource":"r","mode":"dry"}`, Member: "mode", Reason: "enforce, observe, off"},
		{JSON: `{"resource":"r","mode":1}`, Member: "mode", Reason: "string"},
		{JSON: `{"resource":"r","tags":"a"}`, Member: "tags", Reason: "array of strings"},
		{JSON: `{"resource":"r","tags":[null]}`, Member: "tags", Reason: "array of strings"},
		{JSON: `{"resource":"r","id":"7"}`, Member: "id", Reason: "whole number"},
		{JSON: `{"resource":"r","lowMemUsageThreshold":1000}`, Member: "highMemUsageThreshold", Reason: "above 0"},
		{
			JSON:   `{"resource":"r","lowMemUsageThreshold":100,"highMemUsageThreshold":100,"memLowWaterMarkBytes":1024,"memHighWaterMarkBytes":2048}`,
			Member: "highMemUsageThreshold", Reason: "below",
		},
		{
			JSON:   `{"resource":"r","lowMemUsageThreshold":100,"highMemUsageThreshold":10,"memLowWaterMarkBytes":1024,"memHighWaterMarkBytes":1024}`,
			Member: "memLowWaterMarkBytes", Reason: "below",
		},
	})
}

// B64: members that only a console writes do not make a rule unacceptable.
func TestConsoleMembersAreIgnored(t *testing.T) {
	t.Parallel()
	rule, warnings, err := flow.Parse([]byte(`{"app":"a","ip":"1.2.3.4","port":8719,"id":1,"gmtCreate":1,"gmtModified":null,"clusterMode":false,
		"clusterConfig":{"fallbackToLocalWhenFail":true,"sampleCount":10,"strategy":0,"thresholdType":0,"windowIntervalMs":1000},
		"resource":"r","limitApp":"default","grade":1,"count":1.0,"strategy":0,"controlBehavior":0}`))
	if err != nil || rule.Validate() != nil || rule.Count != 1 || rule.ID != 1 {
		t.Errorf("%+v, %v", rule, err)
	}
	if len(warnings) != 5 {
		t.Errorf("warnings %q, want one for each of the five members", warnings)
	}
}

func TestRefusedRuleKeepsItsResource(t *testing.T) {
	t.Parallel()
	rule, _, err := flow.Parse([]byte(`{"grade":"x","resource":"r"}`))
	if err == nil || rule.Resource != "r" {
		t.Errorf("%+v, %v: want an error and the resource", rule, err)
	}
}

func TestRuleEqual(t *testing.T) {
	t.Parallel()
	ruletest.Same(t, flow.Parse,
		`{"resource":"r"}`,
		`{"resource":"r","limitApp":"default","grade":1,"count":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":500}`,
		`{"resource":"r","limitApp":"","id":4,"mode":"observe","enabled":false,"description":"x","tags":["y"]}`)
	ruletest.Differ(t, flow.Parse,
		`{"resource":"r"}`, `{"resource":"s"}`, `{"resource":"r","regex":true}`, `{"resource":"r","limitApp":"a"}`, `{"resource":"r","grade":0}`,
		`{"resource":"r","count":1}`, `{"resource":"r","strategy":1,"refResource":"x"}`, `{"resource":"r","strategy":1,"refResource":"y"}`,
		`{"resource":"r","controlBehavior":2}`, `{"resource":"r","warmUpPeriodSec":9}`, `{"resource":"r","maxQueueingTimeMs":0}`,
		`{"resource":"r","statIntervalInMs":1000}`, `{"resource":"r","statIntervalInMs":1000,"statBucketCount":1}`,
		`{"resource":"r","clusterMode":true}`, `{"resource":"r","clusterConfig":{"flowId":1}}`, `{"resource":"r","clusterConfig":{"flowId":2}}`,
		`{"resource":"r","clusterConfig":{"flowId":2,"fallbackToLocalWhenFail":false}}`, `{"resource":"r","clusterConfig":{"flowId":2,"fallbackCount":1}}`,
		`{"resource":"r","lowMemUsageThreshold":1}`)
}

func TestRuleInGo(t *testing.T) {
	t.Parallel()
	rule := flow.Rule{Resource: "r", Count: 10}
	if err := rule.Validate(); err != nil {
		t.Error(err)
	}
	if rule.WarmUpPeriod() != 10 || rule.MaxQueueing() != 500*time.Millisecond || rule.Origin() != "default" || rule.MemoryAdaptive() {
		t.Errorf("defaults of %+v are not Sentinel's", rule)
	}
	for member, bad := range map[string]flow.Rule{
		"count":           {Resource: "r", Count: math.NaN()},
		"grade":           {Resource: "r", Grade: 7},
		"strategy":        {Resource: "r", Strategy: 7},
		"controlBehavior": {Resource: "r", ControlBehavior: 7},
		"warmUpPeriodSec": {Resource: "r", ControlBehavior: flow.WarmUp, WarmUpPeriodSec: -1},
		"mode":            {Resource: "r", Mode: 7},
	} {
		var at *chain.MemberError
		if err := bad.Validate(); !errors.As(err, &at) || at.Member != member {
			t.Errorf("%+v: %v, want %s at fault", bad, err, member)
		}
	}
	rule.Count = math.Inf(1)
	if err := rule.Validate(); err != nil {
		t.Errorf("infinity is no limit, got %v", err)
	}
	if _, err := rule.MarshalJSON(); err != nil {
		t.Errorf("infinity cannot be written: %v", err)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	wait, local := int64(1), true
	rule := flow.Rule{Resource: "r", Tags: []string{"a"}, MaxQueueingTimeMs: &wait, ClusterConfig: &flow.ClusterConfig{FallbackToLocalWhenFail: &local}}
	c := rule.Clone()
	c.Tags[0], *c.MaxQueueingTimeMs, *c.ClusterConfig.FallbackToLocalWhenFail, c.ClusterConfig.FlowID = "b", 2, false, 9
	if rule.Tags[0] != "a" || wait != 1 || !local || rule.ClusterConfig.FlowID != 0 {
		t.Errorf("changing the clone changed %+v", rule)
	}
}

func FuzzRuleJSON(f *testing.F) {
	ruletest.Fuzz(f, flow.Parse, clusterRule, `{"resource":"r","count":1,"controlBehavior":2,"statIntervalInMs":60000,"statBucketCount":6}`)
}
