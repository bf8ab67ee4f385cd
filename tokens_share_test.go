package tidegate_test

import (
	"fmt"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// noServer is a fleet whose server does not answer.
func noServer(t *testing.T, clients int) (guard, *fakeTokens) {
	t.Helper()
	g, f := newFleet(t, func(asked) tidegate.TokenResult { return away() })
	f.connect(clients)
	return g, f
}

// While no server decides each process admits its share of a global threshold.
func TestFallbackShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, config  string
		clients, want int
	}{
		{`,"count":10`, ``, 0, 10},
		{`,"count":10`, ``, 1, 10},
		{`,"count":10`, ``, 3, 3},
		{`,"count":10`, ``, 10, 1},
		{`,"count":10`, `,"fallbackPolicy":"share"`, 5, 2},
		{`,"count":10`, `,"fallbackPolicy":"local"`, 5, 10},
		{`,"count":10`, `,"fallbackPolicy":"local","fallbackCount":4`, 5, 4},
		{`,"count":10`, `,"fallbackPolicy":"pass"`, 5, 20},
		{`,"count":10`, `,"fallbackPolicy":"block"`, 5, 0},
		{`,"count":10`, `,"fallbackToLocalWhenFail":false`, 5, 20},
		{`,"count":10`, `,"fallbackToLocalWhenFail":true`, 5, 2},
		{`,"count":10`, `,"thresholdType":0`, 5, 10},
		{`,"count":0`, ``, 5, 0},
		{`,"count":1e300`, ``, 5, 20},
		{`,"count":10,"statIntervalInMs":5000`, ``, 5, 2},
		{`,"count":10,"controlBehavior":2,"maxQueueingTimeMs":999`, ``, 5, 2},
		{`,"count":10,"controlBehavior":2,"maxQueueingTimeMs":999`, ``, 2, 5},
		{`,"count":5`, ``, 10, 1}, // 0.5: one per two seconds
	} {
		g, _ := noServer(t, c.clients)
		load(t, g.FlowRules(), clusterFlow(1, c.rule, c.config))
		if got := g.count(20, "r"); got != c.want {
			t.Errorf("flow %s%s, %d clients: %d pass, want %d", c.rule, c.config, c.clients, got, c.want)
		}
	}
}

func TestFallbackShareBelowOne(t *testing.T) {
	t.Parallel()
	g, _ := noServer(t, 10)
	load(t, g.FlowRules(), clusterFlow(1, `,"count":5`, ""))
	load(t, g.ParamRules(), `{"resource":"hot","paramIdx":0,"count":5,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1}}`)
	for ms, want := range map[int64]int{0: 1} {
		g.at(ms)
		if a, b := g.count(3, "r"), g.count(3, "hot", argCall(1)); a != want || b != want {
			t.Errorf("+%d ms: %d and %d pass, want %d", ms, a, b, want)
		}
	}
	for _, c := range []struct {
		at   int64
		want int
	}{{1999, 0}, {2001, 1}, {4000, 0}, {4002, 1}} {
		g.at(c.at)
		if a, b := g.count(3, "r"), g.count(3, "hot", argCall(1)); a != c.want || b != c.want {
			t.Errorf("+%d ms: %d and %d pass, want %d", c.at, a, b, c.want)
		}
	}
}

// The share follows the number of clients at once, and what passed before counts.
func TestFallbackShareMoves(t *testing.T) {
	t.Parallel()
	g, f := noServer(t, 2)
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""))
	load(t, g.ParamRules(), `{"resource":"hot","paramIdx":0,"count":10,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1}}`)
	step := func(what string, flow, param int) {
		t.Helper()
		if a, b := g.count(20, "r"), g.count(20, "hot", argCall(1)); a != flow || b != param {
			t.Errorf("%s: %d and %d pass, want %d and %d", what, a, b, flow, param)
		}
	}
	step("two clients", 5, 5)
	f.connect(5)
	step("five clients", 0, 0)
	f.connect(1)
	step("one client", 5, 0) // a value's bucket is filled once a second
	g.at(1500)
	step("a second later", 10, 10)
	f.connect(5)
	g.at(3000)
	step("five clients, later", 2, 2)
	g.SetTokenService(nil)
	g.at(5000)
	step("no service", 10, 10)
}

func TestFallbackShareOfCallsInFlight(t *testing.T) {
	t.Parallel()
	g, f := noServer(t, 4)
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10,"grade":0`, ""))
	if n := g.capacity(tidegate.Call{}); n != 2 {
		t.Errorf("%d calls in flight, want 2", n)
	}
	f.connect(2)
	if n := g.capacity(tidegate.Call{}); n != 5 {
		t.Errorf("%d calls in flight, want 5", n)
	}
	f.set(status(chain.TokenOK))
	a, b := g.pass("r"), g.pass("r")
	f.connect(4)
	f.set(func(asked) tidegate.TokenResult { return away() })
	g.blocked("r", tidegate.ErrFlow) // those that the server let in are in flight too
	a.Exit(nil)
	g.call("r", nil)
	b.Exit(nil)
	g.idle()
}

// A cold rule warms up to its share, as a rule with the share as its count does.
func TestFallbackShareWarmsUp(t *testing.T) {
	t.Parallel()
	for _, behavior := range []int{1, 3} {
		shared, _ := noServer(t, 4)
		load(t, shared.FlowRules(), clusterFlow(1, fmt.Sprintf(`,"count":120,"controlBehavior":%d,"warmUpPeriodSec":4,"maxQueueingTimeMs":999`, behavior), ""))
		alone := newStill(t)
		load(t, alone.FlowRules(), fmt.Sprintf(`{"resource":"r","count":30,"controlBehavior":%d,"warmUpPeriodSec":4,"maxQueueingTimeMs":999}`, behavior))
		first, last := 0, 0
		for second := range 12 {
			a, b := 0, 0
			for i := range int64(10) {
				at := int64(second)*1000 + i*100
				a += shared.at(at).count(5, "r")
				b += alone.at(at).count(5, "r")
			}
			if a < b-2 || a > b+2 {
				t.Errorf("behaviour %d, second %d: %d pass, want about %d", behavior, second, a, b)
			}
			if last = a; second == 0 {
				first = a
			}
		}
		if first > 20 || last < 28 || last > 31 {
			t.Errorf("behaviour %d: %d calls when cold, %d when warm", behavior, first, last)
		}
	}
}

func TestFallbackShareOfValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, config  string
		clients, want int
	}{
		{`,"count":10`, ``, 0, 10},
		{`,"count":10`, ``, 3, 3},
		{`,"count":10`, `,"thresholdType":0`, 3, 10},
		{`,"count":10`, `,"fallbackPolicy":"local"`, 3, 10},
		{`,"count":10`, `,"fallbackPolicy":"local","fallbackCount":4`, 3, 4},
		{`,"count":10`, `,"fallbackPolicy":"pass"`, 3, 20},
		{`,"count":10`, `,"fallbackPolicy":"block"`, 3, 0},
		{`,"count":10`, `,"fallbackToLocalWhenFail":false`, 3, 20},
		{`,"count":10,"burstCount":4`, ``, 2, 7},
		{`,"count":10,"controlBehavior":2,"maxQueueingTimeMs":1000`, ``, 2, 5},
		{`,"count":0`, ``, 3, 0},
		{`,"count":1,"paramFlowItemList":[{"object":"a","classType":"String","count":12},{"object":"b","classType":"String","count":2}]`, ``, 3, 4},
	} {
		g, _ := noServer(t, c.clients)
		load(t, g.ParamRules(), clusterParam(1, c.rule, c.config))
		if got := g.count(20, "r", argCall("a")); got != c.want {
			t.Errorf("param %s%s, %d clients: %d pass, want %d", c.rule, c.config, c.clients, got, c.want)
		}
	}
}

// What the server lets in is counted here too, so that the fallback knows it when the server goes away.
func TestTakeOverKnowsRecentCalls(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]int{
		`,"count":10`:                         2,
		`,"count":10,"statIntervalInMs":1000`: 2,
		`,"count":10,"limitApp":"app"`:        2,
		`,"count":1`:                          0, // half a call per second
		`,"count":10,"grade":1,"strategy":2,"refResource":"web"`: 2,
	} {
		g, f := newFleet(t, status(chain.TokenOK))
		f.connect(2)
		load(t, g.FlowRules(), clusterFlow(1, rule, ""))
		call := tidegate.Call{Origin: "app", Entrance: "web"}
		g.count(3, "r", call)
		f.set(func(asked) tidegate.TokenResult { return away() })
		if got := g.at(400).count(20, "r", call); got != want {
			t.Errorf("%s: %d pass after three that the server let in, want %d", rule, got, want)
		}
	}
}

// The share is exact, however many callers there are, and next to a rule of this process.
func TestFallbackShareExact(t *testing.T) {
	t.Parallel()
	g, _ := noServer(t, 3)
	load(t, g.FlowRules(), clusterFlow(1, `,"count":90`, ""))
	load(t, g.ParamRules(), `{"resource":"hot","paramIdx":0,"count":90,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1}}`)
	for resource, call := range map[string]tidegate.Call{"r": {}, "hot": argCall(1)} {
		entries := g.together(300, resource, call)
		if len(entries) != 30 {
			t.Errorf("%s: %d calls passed, want 30", resource, len(entries))
		}
		for _, entry := range entries {
			entry.Exit(nil)
		}
	}
	load(t, g.FlowRules(), clusterFlow(1, `,"count":90`, ""), `{"resource":"r","count":60}`)
	g.at(5000)
	if n := len(g.together(300, "r")); n > 30 {
		t.Errorf("%d calls passed beside another rule, want at most 30", n)
	}
}

func TestTokenCounters(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, nil)
	load(t, g.FlowRules(), clusterFlow(1, `,"count":100`, ""))
	for s := chain.TokenStatus(-4); s <= 8; s++ {
		f.set(status(s))
		_ = g.count(2, "r")
	}
	g.SetTokenService(nil)
	_ = g.count(3, "r")
	c := g.TokenCounters()
	for s := chain.TokenStatus(-4); s <= 7; s++ {
		if c.Requests[s] != 2 {
			t.Errorf("%v: %d, want 2", s, c.Requests[s])
		}
	}
	want := map[tidegate.FallbackReason]int64{
		chain.ReasonNoService: 3, chain.ReasonNoAnswer: 2, chain.ReasonTooMany: 2, chain.ReasonBadRequest: 2, chain.ReasonNoRule: 2,
	}
	if c.Unknown != 2 || fmt.Sprint(c.Fallbacks) != fmt.Sprint(want) {
		t.Errorf("%+v, want %v", c, want)
	}
	for r := range chain.FallbackReason(9) {
		if r.String() == "" {
			t.Errorf("reason %d has no name", r)
		}
	}
}

func TestTokensOfNoEngine(t *testing.T) {
	t.Parallel()
	var none *tidegate.Engine
	for _, e := range []*tidegate.Engine{none, {}} {
		e.SetTokenService(newTokens(status(chain.TokenBlocked)))
		if c := e.TokenCounters(); len(c.Requests) != 0 || len(c.Fallbacks) != 0 {
			t.Errorf("%+v", c)
		}
	}
	var a chain.Asker
	if got := a.Flow(&chain.Context{Count: 1}); got != chain.AnswerFallback || a.Clients() != 1 {
		t.Errorf("%v, %d", got, a.Clients())
	}
}

// The fallback borrows for a prioritized call as a rule without cluster mode does.
func TestFallbackBorrows(t *testing.T) {
	t.Parallel()
	g, _ := noServer(t, 2)
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""))
	g.count(5, "r")
	g.at(600).blocked("r", tidegate.ErrFlow)
	if w := g.pass("r", tidegate.Call{Prioritized: true}).Waited(); w != msec(400) {
		t.Errorf("waited %v, want 400 ms", w)
	}
}
