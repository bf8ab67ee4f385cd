package hotspot_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/ruletest"
)

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, hotspot.Parse, []ruletest.Case{
		{JSON: `{"resource":"r","paramIdx":0,"count":5}`},
		{JSON: `{"resource":"r","paramIdx":-1,"count":0.5,"durationInSec":60,"burstCount":3,"paramsMaxCapacity":100}`},
		{JSON: `{"resource":"r","paramKey":"user","grade":0,"count":5,"enabled":false,"mode":"observe"}`},
		{JSON: `{"resource":"r","paramIdx":0,"count":5,"controlBehavior":2,"maxQueueingTimeMs":500}`},
		{JSON: `{"resource":"getUser","paramIdx":0,"count":5,"paramFlowItemList":[{"object":"42","count":100,"classType":"int"}]}`},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"a","count":1},{"object":"b","count":0,"classType":"java.lang.String"}]}`},
		{JSON: `{"resource":"r.*","regex":true,"paramIdx":0}`},
		{JSON: `{"resource":"r","paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":1,"fallbackToLocalWhenFail":true}}`},
		// warned of
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"x","count":1,"classType":"int"}]}`, Warning: `paramFlowItemList[0] is left out: object "x" is no int`},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"1","count":-1}]}`, Warning: "must not be negative: -1"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"","count":1,"classType":"char"}]}`, Warning: "no char"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"300","count":1,"classType":"byte"}]}`, Warning: "no byte"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"a","count":1,"classType":"com.acme.Id"}]}`, Warning: `unknown classType "com.acme.Id"`},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"count":1}]}`, Warning: "it has no object"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"a"}]}`, Warning: "it has no count"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"a","count":"1"}]}`, Warning: "must be a whole number, not a string"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[7]}`, Warning: "must be an object, not the number 7"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"a","count":1,"clasType":"int"}]}`, Warning: `unknown member "paramFlowItemList[0].clasType"`},
		{JSON: `{"resource":"r","paramIdx":0,"controlBehavior":2,"burstCount":1}`, Warning: "burstCount has no effect"},
		// refused
		{JSON: `{"resource":"r","count":5}`, Member: "paramIdx", Reason: "paramKey"},
		{JSON: `{"resource":"r","paramIdx":null}`, Member: "paramIdx", Reason: "paramKey"},
		{JSON: `{"resource":"r","paramIdx":"0"}`, Member: "paramIdx", Reason: "whole number"},
		{JSON: `{"resource":"r","paramIdx":0,"paramKey":"user"}`, Member: "paramKey", Reason: "one of the two"},
		{JSON: `{"paramIdx":0}`, Member: "resource", Reason: "blank"},
		{JSON: `{"resource":"r","paramIdx":0,"grade":2}`, Member: "grade", Reason: "not one of [0 1]"},
		{JSON: `{"resource":"r","paramIdx":0,"count":-1}`, Member: "count", Reason: "negative"},
		{JSON: `{"resource":"r","paramIdx":0,"controlBehavior":1}`, Member: "controlBehavior", Reason: "not one of [0 2]"},
		{JSON: `{"resource":"r","paramIdx":0,"durationInSec":0}`, Member: "durationInSec", Reason: "above 0"},
		{JSON: `{"resource":"r","paramIdx":0,"durationInSec":-1}`, Member: "durationInSec", Reason: "above 0"},
		{JSON: `{"resource":"r","paramIdx":0,"burstCount":-1}`, Member: "burstCount", Reason: "negative"},
		{JSON: `{"resource":"r","paramIdx":0,"maxQueueingTimeMs":-1}`, Member: "maxQueueingTimeMs", Reason: "negative"},
		{JSON: `{"resource":"r","paramIdx":0,"paramFlowItemList":{}}`, Member: "paramFlowItemList", Reason: "must be an array, not an object"},
		{JSON: `{"resource":".*","regex":true,"paramIdx":0,"controlBehavior":2}`, Member: "controlBehavior", Reason: "regex"},
		{JSON: `{"resource":".*","regex":true,"paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":1}}`, Member: "clusterMode", Reason: "regex"},
		{JSON: `{"resource":"r","paramIdx":0,"clusterMode":true}`, Member: "clusterConfig", Reason: "needed"},
		{JSON: `{"resource":"r","paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":0}}`, Member: "clusterConfig.flowId", Reason: "above 0"},
	})
}

func TestItemValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		object, class string
		want          chain.Arg
	}{
		{"42", "int", chain.Int("", 42)},
		{"42", "java.lang.Long", chain.Int("", 42)},
		{"-5", "short", chain.Int("", -5)},
		{"1.5", "double", chain.Float64("", 1.5)},
		{"1.5", "java.lang.Float", chain.Float64("", 1.5)},
		{"TRUE", "boolean", chain.Bool("", true)},
		{"yes", "java.lang.Boolean", chain.Bool("", false)},
		{"äb", "char", chain.String("", "ä")},
		{"ab", "java.lang.Character", chain.String("", "ab")},
		{"42", "", chain.String("", "42")},
		{"42", "com.acme.Id", chain.String("", "42")},
	} {
		got, err := hotspot.Item{Object: c.object, ClassType: c.class}.Value()
		if err != nil || got.Kind() != c.want.Kind() || got.Value() != c.want.Value() {
			t.Errorf("%q as %q: %v %v, want %v", c.object, c.class, got.Value(), err, c.want.Value())
		}
	}
}

func TestItemObjectMayBeANumber(t *testing.T) {
	t.Parallel()
	rule, warnings, err := hotspot.Parse([]byte(`{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":42,"count":1,"classType":"int"}]}`))
	if err != nil || len(warnings) > 0 || len(rule.Items) != 1 || rule.Items[0].Object != "42" {
		t.Errorf("%+v, %v, %v", rule.Items, warnings, err)
	}
}

func TestRuleEqual(t *testing.T) {
	t.Parallel()
	ruletest.Same(t, hotspot.Parse, `{"resource":"r","paramIdx":0}`,
		`{"resource":"r","paramIdx":0,"limitApp":"default","grade":1,"durationInSec":1,"paramsMaxCapacity":20000,"paramFlowItemList":[],"id":3,"mode":"off"}`)
	ruletest.Differ(t, hotspot.Parse, `{"resource":"r","paramIdx":0}`, `{"resource":"s","paramIdx":0}`, `{"resource":"r","paramIdx":1}`, `{"resource":"r","paramKey":"0"}`,
		`{"resource":"r","paramIdx":0,"grade":0}`, `{"resource":"r","paramIdx":0,"count":1}`, `{"resource":"r","paramIdx":0,"controlBehavior":2}`,
		`{"resource":"r","paramIdx":0,"maxQueueingTimeMs":1}`, `{"resource":"r","paramIdx":0,"burstCount":1}`, `{"resource":"r","paramIdx":0,"durationInSec":2}`,
		`{"resource":"r","paramIdx":0,"paramsMaxCapacity":1}`, `{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"a","count":1}]}`,
		`{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"a","count":2}]}`, `{"resource":"r","paramIdx":0,"regex":true}`,
		`{"resource":"r","paramIdx":0,"clusterConfig":{"flowId":1}}`)
}

func TestRuleInGo(t *testing.T) {
	t.Parallel()
	index := 0
	rule := hotspot.Rule{Resource: "r", ParamIdx: &index}
	if rule.Validate() != nil || rule.Duration() != time.Second || rule.Capacity() != 20_000 {
		t.Errorf("defaults of %+v are not Sentinel's", rule)
	}
	rule.DurationInSec = math.MaxInt32
	if rule.Capacity() != 200_000 {
		t.Errorf("capacity %d, want at most 200000", rule.Capacity())
	}
	for member, bad := range map[string]hotspot.Rule{
		"count":             {Resource: "r", ParamKey: "a", Count: math.NaN()},
		"durationInSec":     {Resource: "r", ParamKey: "a", DurationInSec: -1},
		"grade":             {Resource: "r", ParamKey: "a", Grade: 4},
		"controlBehavior":   {Resource: "r", ParamKey: "a", ControlBehavior: 4},
		"paramsMaxCapacity": {Resource: "r", ParamKey: "a", ParamsMaxCapacity: -4},
	} {
		var at *chain.MemberError
		if err := bad.Validate(); !errors.As(err, &at) || at.Member != member {
			t.Errorf("%+v: %v, want %s at fault", bad, err, member)
		}
	}
}

func FuzzRuleJSON(f *testing.F) {
	ruletest.Fuzz(f, hotspot.Parse, `{"resource":"r","paramIdx":0,"count":5,"paramFlowItemList":[{"object":"42","count":100,"classType":"int"}]}`,
		`{"resource":"r","paramKey":"a","clusterMode":true,"clusterConfig":{"flowId":1}}`)
}
