package gateway_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/internal/ruletest"
)

func TestRuleJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, gateway.Parse, []ruletest.Case{
		{JSON: `{"resource":"route-a","count":50}`},
		{JSON: `{"resource":"api","resourceMode":1,"grade":0,"count":5,"enabled":false,"mode":"observe","id":4}`},
		{JSON: `{"resource":"route-a","count":0.5,"intervalSec":60,"controlBehavior":2,"maxQueueingTimeoutMs":0}`},
		{JSON: `{"resource":"route-a","count":50,"burst":5,"paramItem":{"index":0,"parseStrategy":2,"fieldName":"X-Tenant"}}`},
		{JSON: `{"resource":"route-a","count":50,"paramItem":{"parseStrategy":0,"pattern":"10\\..*","matchStrategy":2}}`},
		{JSON: `{"resource":"route-a","count":50,"paramItem":{"parseStrategy":4,"fieldName":"c","pattern":"x","matchStrategy":1}}`},
		{JSON: `{"resource":"route-a","paramItem":null}`},
		{JSON: `{"resource":"route-a","count":5,"clusterMode":true,"clusterConfig":{"flowId":7,"thresholdType":1,"fallbackPolicy":"block"}}`},
		{JSON: `{"resource":"route-a","count":5,"intervalSec":60,"clusterMode":true,"clusterConfig":{"flowId":7,"windowIntervalMs":1000},"paramItem":{}}`},
		{JSON: `{"resource":"route-a","clusterConfig":{"flowId":0}}`},
		// warned of
		{JSON: `{"resource":"r","burst":1,"clusterMode":true,"clusterConfig":{"flowId":7}}`, Warning: "no burst and no queueing"},
		{JSON: `{"resource":"r","grade":0,"clusterMode":true,"clusterConfig":{"flowId":7}}`, Warning: "its fallback decides"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":7,"windowIntervalMs":2000}}`, Warning: "windowIntervalMs is ignored"},
		{JSON: `{"resource":"route-a","maxQueueingTimeMs":5}`, Warning: `unknown member "maxQueueingTimeMs"`},
		{JSON: `{"resource":"route-a","paramItem":{"fieldname":"x"}}`, Warning: `unknown member "paramItem.fieldname"`},
		{JSON: `{"resource":"route-a","paramItem":{"matchStrategy":3}}`, Warning: "no effect without a pattern"},
		{JSON: `{"resource":"route-a","controlBehavior":2,"burst":3}`, Warning: "burst has no effect"},
		// refused
		{JSON: `{"count":1}`, Member: "resource", Reason: "blank"},
		{JSON: `{"resource":"r","resourceMode":2}`, Member: "resourceMode", Reason: "not one of [0 1]"},
		{JSON: `{"resource":"r","grade":5}`, Member: "grade", Reason: "not one of"},
		{JSON: `{"resource":"r","count":-1}`, Member: "count", Reason: "negative"},
		{JSON: `{"resource":"r","intervalSec":0}`, Member: "intervalSec", Reason: "above 0"},
		{JSON: `{"resource":"r","controlBehavior":1}`, Member: "controlBehavior", Reason: "not one of [0 2]"},
		{JSON: `{"resource":"r","burst":-1}`, Member: "burst", Reason: "negative"},
		{JSON: `{"resource":"r","maxQueueingTimeoutMs":-1}`, Member: "maxQueueingTimeoutMs", Reason: "negative"},
		{JSON: `{"resource":"r","paramItem":{"parseStrategy":5}}`, Member: "paramItem.parseStrategy", Reason: "not one of"},
		{JSON: `{"resource":"r","paramItem":{"parseStrategy":2}}`, Member: "paramItem.fieldName", Reason: "parseStrategy 2"},
		{JSON: `{"resource":"r","paramItem":{"parseStrategy":3,"fieldName":" "}}`, Member: "paramItem.fieldName", Reason: "parseStrategy 3"},
		{JSON: `{"resource":"r","paramItem":{"pattern":"a","matchStrategy":4}}`, Member: "paramItem.matchStrategy", Reason: "not one of [0 1 2 3]"},
		{JSON: `{"resource":"r","paramItem":{"pattern":"(","matchStrategy":2}}`, Member: "paramItem.pattern", Reason: "regular expression"},
		{JSON: `{"resource":"r","clusterMode":true}`, Member: "clusterConfig", Reason: "needed in cluster mode"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{}}`, Member: "clusterConfig.flowId", Reason: "above 0"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"sampleCount":7}}`, Member: "clusterConfig.sampleCount", Reason: "does not divide"},
		{JSON: `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"windowIntervalMs":-1}}`, Member: "clusterConfig.windowIntervalMs", Reason: "above 0"},
		{JSON: `{"resource":"r","intervalSec":2147484,"clusterMode":true,"clusterConfig":{"flowId":1}}`, Member: "intervalSec", Reason: "cluster mode"},
		{JSON: `{"resource":"r","paramItem":[]}`, Member: "paramItem", Reason: "must be an object"},
	})
}

func TestAPIJSON(t *testing.T) {
	t.Parallel()
	ruletest.Run(t, gateway.ParseAPI, []ruletest.Case{
		{JSON: `{"apiName":"orders","predicateItems":[{"pattern":"/order/**","matchStrategy":1}]}`},
		{JSON: `{"apiName":"orders","predicateItems":[{"pattern":"/a"},{"pattern":"/b.*","matchStrategy":2}],"enabled":false,"id":2}`},
		{JSON: `{"apiName":"orders","predicateItems":[{}]}`, Warning: "blank pattern"},
		{JSON: `{"apiName":"orders","predicateItems":[{"pattern":"/a","strategy":1}]}`, Warning: `unknown member "predicateItems[0].strategy"`},
		{JSON: `{"predicateItems":[{"pattern":"/a"}]}`, Member: "apiName", Reason: "blank"},
		{JSON: `{"apiName":"orders"}`, Member: "predicateItems", Reason: "at least one"},
		{JSON: `{"apiName":"orders","predicateItems":[]}`, Member: "predicateItems", Reason: "at least one"},
		{JSON: `{"apiName":"orders","predicateItems":"/a"}`, Member: "predicateItems", Reason: "must be an array"},
		{JSON: `{"apiName":"orders","predicateItems":["/a"]}`, Member: "predicateItems[0]", Reason: "must be an object"},
		{JSON: `{"apiName":"orders","predicateItems":[{"pattern":"/a"},{"pattern":5}]}`, Member: "predicateItems[1].pattern", Reason: "must be a string"},
		{JSON: `{"apiName":"orders","predicateItems":[{"pattern":"/a","matchStrategy":3}]}`, Member: "predicateItems[0].matchStrategy", Reason: "not one of [0 1 2]"},
		{JSON: `{"apiName":"orders","predicateItems":[{"pattern":"(","matchStrategy":2}]}`, Member: "predicateItems[0].pattern", Reason: "regular expression"},
	})
	api := gateway.API{Name: "orders"}
	if got := api.Head().Resource; got != "orders" {
		t.Errorf("head names %q", got)
	}
}

func TestRuleEqual(t *testing.T) {
	t.Parallel()
	ruletest.Same(t, gateway.Parse, `{"resource":"r","paramItem":{"fieldName":"x"}}`,
		`{"resource":"r","grade":1,"intervalSec":1,"maxQueueingTimeoutMs":500,"paramItem":{"index":4,"parseStrategy":0,"fieldName":"x","matchStrategy":0},"id":3,"mode":"off"}`)
	ruletest.Differ(t, gateway.Parse, `{"resource":"r"}`, `{"resource":"s"}`, `{"resource":"r","resourceMode":1}`, `{"resource":"r","grade":0}`, `{"resource":"r","count":1}`,
		`{"resource":"r","intervalSec":2}`, `{"resource":"r","controlBehavior":2}`, `{"resource":"r","burst":1}`, `{"resource":"r","maxQueueingTimeoutMs":0}`,
		`{"resource":"r","paramItem":{}}`, `{"resource":"r","paramItem":{"parseStrategy":1}}`, `{"resource":"r","paramItem":{"pattern":"a"}}`)
	ruletest.Differ(t, gateway.ParseAPI, `{"apiName":"a"}`, `{"apiName":"b"}`, `{"apiName":"a","predicateItems":[{"pattern":"/a"}]}`,
		`{"apiName":"a","predicateItems":[{"pattern":"/a","matchStrategy":1}]}`)
}

func TestRuleInGo(t *testing.T) {
	t.Parallel()
	rule := gateway.Rule{Resource: "r"}
	if rule.Validate() != nil || rule.Interval() != time.Second || rule.MaxQueueing() != 500*time.Millisecond {
		t.Errorf("defaults of %+v are not Sentinel's", rule)
	}
	for member, bad := range map[string]gateway.Rule{
		"count":                   {Resource: "r", Count: math.NaN()},
		"intervalSec":             {Resource: "r", IntervalSec: -1},
		"resourceMode":            {Resource: "r", ResourceMode: 4},
		"paramItem.matchStrategy": {Resource: "r", ParamItem: &gateway.ParamItem{MatchStrategy: 9}},
	} {
		var at *chain.MemberError
		if err := bad.Validate(); !errors.As(err, &at) || at.Member != member {
			t.Errorf("%+v: %v, want %s at fault", bad, err, member)
		}
	}
}

func FuzzRuleJSON(f *testing.F) {
	ruletest.Fuzz(f, gateway.Parse, `{"resource":"r","count":50,"paramItem":{"parseStrategy":2,"fieldName":"X-Tenant","pattern":"a.*","matchStrategy":2}}`)
}

func FuzzAPIJSON(f *testing.F) {
	ruletest.Fuzz(f, gateway.ParseAPI, `{"apiName":"orders","predicateItems":[{"pattern":"/order/**","matchStrategy":1}]}`)
}
