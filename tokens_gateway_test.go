package tidegate_test

import (
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/gateway"
)

// A gateway rule asks for a place of all requests, or of the value of the request's part, and only about requests that it
// concerns.
func TestGatewayRulesAsk(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenOK))
	load(t, g.GatewayRules(), clusterFlow(1, `,"count":0`, ""), clusterFlow(2, `,"count":0,"paramItem":{"parseStrategy":2,"fieldName":"X","pattern":"a.*","matchStrategy":2}`, ""),
		`{"resource":"r","resourceMode":1,"count":0,"clusterMode":true,"clusterConfig":{"flowId":3}}`)
	if got := g.count(1, "r", carrying("header:X", "abc").call()); got != 1 {
		t.Error("a request that the server lets in is refused")
	}
	f.expect(t, "route", "flow 1 x1", "param 2 x1 abc/0")
	g.count(1, "r", carrying("header:X", "b").call())
	f.expect(t, "another value", "flow 1 x1")
	g.count(1, "r", request{}.group())
	f.expect(t, "group", "flow 3 x1")
	if got := g.count(1, "r"); got != 1 {
		t.Error("a call that is no request is refused")
	}
	f.expect(t, "no request")
	f.set(status(chain.TokenBlocked))
	err := g.refusal("r", tidegate.ErrGateway, carrying("header:X", "abc").call())
	if e := err.Explain(); !e.ByServer || e.Unit != "requests" {
		t.Errorf("%+v", e)
	}
}

// While no server decides, each gateway has its share of the threshold, of each value too.
func TestFallbackOfGatewayRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, config string
		want         int
	}{
		{`,"count":10`, "", 2},
		{`,"count":10,"burst":5`, "", 3},
		{`,"count":10,"intervalSec":60`, "", 2},
		{`,"count":10`, `,"thresholdType":0`, 10},
		{`,"count":10`, `,"fallbackPolicy":"local"`, 10},
		{`,"count":10`, `,"fallbackPolicy":"local","fallbackCount":4`, 4},
		{`,"count":10`, `,"fallbackPolicy":"pass"`, 20},
		{`,"count":10`, `,"fallbackPolicy":"block"`, 0},
	} {
		for _, item := range []string{"", `,"paramItem":{}`} {
			g, _ := noServer(t, 5)
			load(t, g.GatewayRules(), clusterFlow(1, c.rule+item, c.config))
			for _, ip := range []string{"a", "b"} {
				want := c.want
				if ip == "b" && item == "" && want < 20 {
					want = 0 // a had it all
				}
				if got := g.count(20, "r", carrying("ip", ip).call()); got != want {
					t.Errorf("%s%s%s, %s: %d pass, want %d", c.rule, item, c.config, ip, got, want)
				}
			}
		}
	}
}

// Places in flight are never asked for.
func TestGatewayRuleInFlight(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenBlocked))
	f.connect(2)
	load(t, g.GatewayRules(), clusterFlow(1, `,"count":4,"grade":0`, ""))
	for range 2 {
		defer g.pass("r", request{}.call()).Exit(nil)
	}
	g.blocked("r", tidegate.ErrGateway, request{}.call())
	f.expect(t, "in flight")
}

func TestTokenRulesOfGatewayRules(t *testing.T) {
	t.Parallel()
	config := &gateway.ClusterConfig{FlowID: 9, ThresholdType: chain.ThresholdGlobal}
	r := gateway.Rule{Resource: "r", Count: 10, IntervalSec: 4, ClusterMode: true, ClusterConfig: config}
	f, ok := r.FlowRule()
	if !ok || f.Validate() != nil || f.Count != 2.5 || f.ClusterConfig.Window() != 4000 || f.ClusterConfig.FlowID != 9 {
		t.Errorf("%+v, %v", f, ok)
	}
	if _, ok := r.ParamRule(); ok {
		t.Error("a rule for all requests is a parameter rule")
	}
	r.ParamItem = &gateway.ParamItem{}
	p, ok := r.ParamRule()
	if !ok || p.Validate() != nil || p.Count != 2.5 || p.ClusterConfig.Window() != 4000 {
		t.Errorf("%+v, %v", p, ok)
	}
	for _, other := range []gateway.Rule{{Resource: "r"}, {Resource: "r", Grade: gateway.GradeConcurrency, ClusterMode: true, ClusterConfig: config}, {Resource: "r", ClusterConfig: config}, {ClusterMode: true}} {
		if _, ok := other.FlowRule(); ok {
			t.Errorf("%+v: a token server decides it", other)
		}
	}
}
