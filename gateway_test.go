package tidegate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/gateway"
)

// request is a request with parts by name: "ip", "host", "header:X", "param:x", "cookie:x".
type request map[string]string

func (r request) part(name string) (string, bool)     { v, ok := r[name]; return v, ok }
func (r request) ClientIP() (string, bool)            { return r.part("ip") }
func (r request) Host() (string, bool)                { return r.part("host") }
func (r request) Header(name string) (string, bool)   { return r.part("header:" + name) }
func (r request) URLParam(name string) (string, bool) { return r.part("param:" + name) }
func (r request) Cookie(name string) (string, bool)   { return r.part("cookie:" + name) }
func (r request) call() tidegate.Call {
	return tidegate.Call{Inbound: true, Args: []tidegate.Arg{tidegate.RequestArg(r)}}
}

func (r request) group() tidegate.Call {
	return tidegate.Call{Inbound: true, Group: true, Args: []tidegate.Arg{tidegate.RequestArg(r)}}
}

// carrying makes a request of names and values.
func carrying(pairs ...string) request {
	r := request{}
	for pair := range slices.Chunk(pairs, 2) {
		r[pair[0]] = pair[1]
	}
	return r
}

func TestGatewayParsesEveryPart(t *testing.T) {
	t.Parallel()
	for part, item := range map[string]string{
		"ip":          `{"parseStrategy":0}`,
		"host":        `{"parseStrategy":1}`,
		"header:X-ID": `{"parseStrategy":2,"fieldName":"X-ID"}`,
		"param:q":     `{"parseStrategy":3,"fieldName":"q"}`,
		"cookie:s":    `{"parseStrategy":4,"fieldName":"s"}`,
	} {
		g := newGuard(t)
		load(t, g.GatewayRules(), `{"resource":"route","count":2,"paramItem":`+item+`}`)
		others := carrying("ip", "i", "host", "h", "header:X-ID", "x", "param:q", "q", "cookie:s", "s")
		for _, value := range []string{"a", "b"} {
			others[part] = value
			if got := g.count(5, "route", others.call()); got != 2 {
				t.Errorf("%s %s: %d of 5 passed, want 2", part, value, got)
			}
		}
		delete(others, part)
		if got := g.count(5, "route", others.call()); got != 5 {
			t.Errorf("%s is absent: %d of 5 passed", part, got)
		}
		if got := g.count(5, "route"); got != 5 {
			t.Errorf("no request: %d of 5 passed", got)
		}
	}
}

func TestGatewayMatchesValues(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		`"pattern":"abc"`:                             "abc",
		`"pattern":"abc","matchStrategy":1`:           "abc abcd",
		`"pattern":"b.","matchStrategy":2`:            "bc",
		`"pattern":"a(bc)?d?","matchStrategy":2`:      "abc abcd",
		`"pattern":"bc","matchStrategy":3`:            "abc abcd bc xbcx",
		`"pattern":""`:                                "abc abcd bc xbcx ABC",
		`"pattern":"abc","matchStrategy":0`:           "abc",
		`"pattern":"(?i)abc","matchStrategy":2`:       "abc ABC",
		`"pattern":"(?i:a)bc|none","matchStrategy":2`: "abc",
	} {
		g := newGuard(t)
		load(t, g.GatewayRules(), `{"resource":"route","count":0,"paramItem":{"parseStrategy":1,`+item+`}}`)
		var limited []string
		for _, host := range []string{"abc", "abcd", "bc", "xbcx", "ABC"} {
			if g.count(1, "route", carrying("host", host).call()) == 0 {
				limited = append(limited, host)
			}
		}
		if got := strings.Join(limited, " "); got != want {
			t.Errorf("%s: limits %q, want %q", item, got, want)
		}
	}
}

// Rules are for a route or for an API group; one of the other mode, of the same name, is left out alone.
func TestGatewayRoutesAndGroups(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.GatewayRules(), `{"resource":"orders","count":2,"paramItem":{"parseStrategy":0}}`,
		`{"resource":"orders","resourceMode":1,"count":1}`, `{"resource":"orders","resourceMode":1,"count":0,"paramItem":{"parseStrategy":1,"pattern":"bad"}}`)
	r := carrying("ip", "1.1.1.1", "host", "good")
	if got := g.count(9, "orders", r.call()); got != 2 {
		t.Errorf("route: %d of 9 passed, want 2", got)
	}
	if got := g.count(9, "orders", r.group()); got != 1 {
		t.Errorf("group: %d of 9 passed, want 1", got)
	}
	r["host"] = "bad"
	g.at(5000).blocked("orders", tidegate.ErrGateway, r.group())
	g.call("orders", nil, r.call())
	g.call("orders", nil, carrying("host", "good").group())
}

func TestGatewayBurstIntervalAndUnits(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.GatewayRules(), `{"resource":"burst","count":2,"burst":3}`, `{"resource":"long","count":4,"intervalSec":10}`,
		`{"resource":"slow","count":0.5}`)
	r := carrying()
	for _, c := range []struct {
		at       int64
		resource string
		want     int
	}{{0, "burst", 5}, {1001, "burst", 2}, {2000, "long", 4}, {12_000, "long", 0}, {12_001, "long", 4}, {20_000, "slow", 1}, {22_000, "slow", 0}, {22_001, "slow", 1}} {
		if got := g.at(c.at).count(9, c.resource, r.call()); got != c.want {
			t.Errorf("+%d %s: %d of 9 passed, want %d", c.at, c.resource, got, c.want)
		}
	}
	blocked := g.refusal("long", tidegate.ErrGateway, r.call())
	x := blocked.Explain()
	if rule, ok := blocked.Rule.(gateway.Rule); !ok || rule.IntervalSec != 10 || x.Measured != 4 || x.Limit != 4 || x.Window != 10*time.Second || x.RetryAfter <= 0 {
		t.Errorf("%+v, %+v", blocked, x)
	}
}

func TestGatewayThrottling(t *testing.T) {
	t.Parallel()
	g := newStill(t)
	load(t, g.GatewayRules(), `{"resource":"all","count":4,"controlBehavior":2}`, `{"resource":"each","count":2,"controlBehavior":2,"maxQueueingTimeoutMs":900,"paramItem":{"parseStrategy":0}}`,
		`{"resource":"none","count":2,"controlBehavior":2,"maxQueueingTimeoutMs":0}`)
	waits := func(resource string, r request) (list []time.Duration) {
		for range 4 {
			if entry, err := g.enter(resource, r.call()); err == nil {
				list = append(list, entry.Waited())
				entry.Exit(nil)
			}
		}
		return list
	}
	a, b := carrying("ip", "a"), carrying("ip", "b")
	for _, c := range []struct {
		resource string
		r        request
		want     []time.Duration
	}{
		{"all", a, []time.Duration{0, 250 * time.Millisecond}}, // the third would wait for 500 ms, which is not below 500 ms
		{"all", b, nil},
		{"each", a, []time.Duration{0, 500 * time.Millisecond}},
		{"each", b, []time.Duration{0, 500 * time.Millisecond}},
		{"none", a, []time.Duration{0}},
	} {
		if got := waits(c.resource, c.r); !slices.Equal(got, c.want) {
			t.Errorf("%s: waits %v, want %v", c.resource, got, c.want)
		}
	}
	if x := g.refusal("all", tidegate.ErrGateway, a.call()).Explain(); x.Unit != "ms in queue" || x.Measured != 500 || x.Limit != 500 {
		t.Errorf("%+v", x)
	}
}

func TestGatewayConcurrency(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	load(t, g.GatewayRules(), `{"resource":"all","grade":0,"count":2}`, `{"resource":"each","grade":0,"count":1,"paramItem":{"parseStrategy":0}}`)
	load(t, g.FlowRules(), `{"resource":"all","count":0,"limitApp":"late"}`)
	a, b := carrying("ip", "a").call(), carrying("ip", "b").call()
	held := []tidegate.Entry{g.pass("all", a), g.pass("all", b), g.pass("each", a), g.pass("each", b)}
	if x := g.refusal("all", tidegate.ErrGateway, a).Explain(); x.Unit != "requests in flight" || x.Measured != 2 || x.Limit != 2 {
		t.Errorf("%+v", x)
	}
	g.blocked("each", tidegate.ErrGateway, a)
	held[0].Exit(nil)
	held[2].Exit(nil)
	late := a
	late.Origin = "late"
	for range 3 { // refused by a flow rule: the place is given back
		g.blocked("all", tidegate.ErrFlow, late)
	}
	g.call("all", nil, a)
	g.call("each", nil, a)
	held[1].Exit(nil)
	held[3].Exit(nil)
	if got := len(g.together(50, "all", a)); got != 2 {
		t.Errorf("%d of 50 at once passed, want 2", got)
	}
}

// Equal rules, also such with a parameter, keep what they counted; an update leaves no gap.
func TestGatewayReloadAndModes(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	rule := `{"resource":"r","count":1,"intervalSec":60,"paramItem":{"parseStrategy":0,"pattern":"a","matchStrategy":1}}`
	load(t, g.GatewayRules(), rule)
	a := carrying("ip", "a").call()
	g.call("r", nil, a)
	load(t, g.GatewayRules(), `{"resource":"r","count":9}`, rule)
	g.blocked("r", tidegate.ErrGateway, a)
	g.SetKindEnabled(chain.KindGateway, false)
	g.call("r", nil, a)
	g.SetKindEnabled(chain.KindGateway, true)
	g.blocked("r", tidegate.ErrGateway, a)
	load(t, g.GatewayRules(), `{"resource":"r","count":0,"mode":"observe"}`)
	g.call("r", nil, a)
	if g.WouldBlock("r") != 1 {
		t.Errorf("%d would have been refused", g.WouldBlock("r"))
	}
	report, err := g.GatewayRules().Load(parse[gateway.Rule](t, `{"resource":"r","count":0}`, `{"resource":"s","count":1,"paramItem":{"parseStrategy":1,"pattern":"(","matchStrategy":2}}`,
		`{"resource":"t","count":1,"paramItem":{"parseStrategy":2}}`)...)
	if err == nil || report.Count(chain.Loaded) != 1 || report.Rules[1].Member != "paramItem.pattern" || report.Rules[2].Member != "paramItem.fieldName" {
		t.Errorf("%v", report.Rules)
	}
	g.blocked("r", tidegate.ErrGateway, a)
}

func TestAPIDefinitions(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	report := load(t, g.APIDefinitions(),
		`{"apiName":"exact","predicateItems":[{"pattern":"/a"},{"pattern":"/a/b"}]}`,
		`{"apiName":"prefix","predicateItems":[{"pattern":"/a/","matchStrategy":1}]}`,
		`{"apiName":"ant","predicateItems":[{"pattern":"/x/**","matchStrategy":1},{"pattern":"/?/*.html","matchStrategy":1},{"pattern":"/**/end","matchStrategy":1},{"pattern":"/v?","matchStrategy":1}]}`,
		`{"apiName":"regex","predicateItems":[{"pattern":"/[ab](/.*)?","matchStrategy":2}]}`,
		`{"apiName":"blank","predicateItems":[{"pattern":" "}]}`, `{"apiName":"exact","predicateItems":[{"pattern":"/z"}]}`)
	if report.Rules[5].Verdict != chain.Duplicate || len(report.Rules[4].Warnings) != 1 {
		t.Errorf("%v", report.Rules)
	}
	for path, want := range map[string]string{
		"/a": "exact regex", "/a/b": "exact prefix regex", "/a/b/c": "prefix regex", "/ab": "", "/x": "ant", "/x/y/z": "ant", "/xy": "",
		"/q/i.html": "ant", "/qq/i.html": "", "/q/r/i.html": "", "/end": "ant", "/q/r/end": "ant", "/q/end/r": "", "/v1": "ant", "/v": "", "/v?1": "", "/z": "", "": "", " ": "", "/b\n": "",
	} {
		if got := strings.Join(g.APIGroups(path), " "); got != want {
			t.Errorf("%q: groups %q, want %q", path, got, want)
		}
	}
	bad, err := g.APIDefinitions().Load(parse[gateway.API](t, `{"apiName":"new","predicateItems":[{"pattern":"/n"}]}`,
		`{"apiName":"bad","predicateItems":[{"pattern":"(","matchStrategy":2}]}`)...)
	if err == nil || bad.Rules[1].Member != "predicateItems[0].pattern" || strings.Join(g.APIGroups("/n"), " ") != "new" || g.APIGroups("/a") != nil {
		t.Errorf("%v", bad.Rules)
	}
}
