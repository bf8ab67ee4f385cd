package tidegate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

var errAway = errors.New("the token server is away")

// away is what a client says about a server that does not answer.
func away() tidegate.TokenResult { return tidegate.TokenResult{Status: chain.TokenFail, Err: errAway} }

func status(s chain.TokenStatus) func(asked) tidegate.TokenResult {
	return func(asked) tidegate.TokenResult { return tidegate.TokenResult{Status: s} }
}

// asked is one request that a fakeTokens got.
type asked struct {
	kind        string
	id, count   int64
	prioritized bool
	values      []chain.Arg
	ctx         context.Context
}

func (a asked) String() string {
	text := fmt.Sprintf("%s %d x%d", a.kind, a.id, a.count)
	if a.prioritized {
		text += " prioritized"
	}
	for _, v := range a.values {
		text += fmt.Sprintf(" %v/%d", v.Value(), v.Width())
	}
	return text
}

// fakeTokens is a token service for tests.
type fakeTokens struct {
	mu        sync.Mutex
	answer    func(asked) tidegate.TokenResult // guarded by mu
	requests  []asked                          // guarded by mu
	held      map[int64]int                    // guarded by mu: how often each concurrency token was released
	connected int                              // guarded by mu
}

func newTokens(answer func(asked) tidegate.TokenResult) *fakeTokens {
	return &fakeTokens{answer: answer, held: map[int64]int{}}
}

func (f *fakeTokens) set(answer func(asked) tidegate.TokenResult) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

func (f *fakeTokens) connect(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.connected = n
}

func (f *fakeTokens) ask(a asked) tidegate.TokenResult {
	f.mu.Lock()
	a.values = append([]chain.Arg(nil), a.values...)
	f.requests = append(f.requests, a)
	answer := f.answer
	f.mu.Unlock()
	res := answer(a)
	if a.kind == "concurrent" && res.Status.Granted() {
		f.mu.Lock()
		defer f.mu.Unlock()
		res.TokenID = int64(len(f.held) + 1)
		f.held[res.TokenID] = 0
	}
	return res
}

func (f *fakeTokens) RequestToken(ctx context.Context, id, count int64, prioritized bool) tidegate.TokenResult {
	return f.ask(asked{kind: "flow", id: id, count: count, prioritized: prioritized, ctx: ctx})
}

func (f *fakeTokens) RequestParamToken(ctx context.Context, id, count int64, values []chain.Arg) tidegate.TokenResult {
	return f.ask(asked{kind: "param", id: id, count: count, values: values, ctx: ctx})
}

func (f *fakeTokens) AcquireConcurrent(ctx context.Context, id, count int64) tidegate.TokenResult {
	return f.ask(asked{kind: "concurrent", id: id, count: count, ctx: ctx})
}

func (f *fakeTokens) ReleaseConcurrent(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[id]++
}

func (f *fakeTokens) Connected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.connected
}

// take returns the requests so far and forgets them.
func (f *fakeTokens) take() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.requests {
		list = append(list, a.String())
	}
	f.requests = nil
	return list
}

func (f *fakeTokens) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := f.take(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: asked %q, want %q", what, got, want)
	}
}

// outstanding returns how many concurrency tokens are held; none may have been released twice.
func (f *fakeTokens) outstanding(t *testing.T) (n int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, released := range f.held {
		switch {
		case released == 0:
			n++
		case released > 1:
			t.Errorf("token %d was released %d times", id, released)
		}
	}
	return n
}

// newFleet is an engine whose cluster rules ask the service.
func newFleet(t *testing.T, answer func(asked) tidegate.TokenResult, options ...tidegate.Option) (guard, *fakeTokens) {
	t.Helper()
	f := newTokens(answer)
	return newStill(t, append([]tidegate.Option{tidegate.WithTokenService(f)}, options...)...), f
}

// clusterFlow returns a flow rule of resource r with that flow id; more are members of the rule, config of its cluster part.
func clusterFlow(id int, more, config string) string {
	return fmt.Sprintf(`{"resource":"r","clusterMode":true%s,"clusterConfig":{"flowId":%d,"thresholdType":1%s}}`, more, id, config)
}

func clusterParam(id int, more, config string) string {
	return clusterFlow(id, `,"paramIdx":0`+more, config)
}

func argCall(value any) tidegate.Call {
	return tidegate.Call{Args: []tidegate.Arg{tidegate.Any("", value)}}
}

// tokenCase is one of the three ways in which a rule asks.
type tokenCase struct {
	load  func(t *testing.T, g guard, config string)
	call  tidegate.Call
	cause error
	// what a status means: p pass, b block, f fallback; by status from -4 to 8
	want string
}

func tokenCases() map[string]tokenCase {
	flow := func(more string) func(t *testing.T, g guard, config string) {
		return func(t *testing.T, g guard, config string) {
			t.Helper()
			load(t, g.FlowRules(), clusterFlow(7, more, config))
		}
	}
	return map[string]tokenCase{
		"flow":        {load: flow(`,"count":10`), cause: tidegate.ErrFlow, want: "fbffpbpfbbbbb"},
		"warm-up":     {load: flow(`,"count":10,"controlBehavior":1`), cause: tidegate.ErrFlow, want: "fbffpbpfbbbbb"},
		"concurrency": {load: flow(`,"count":10,"grade":0`), cause: tidegate.ErrFlow, want: "fbffpbpfbfbbb"},
		"param": {load: func(t *testing.T, g guard, config string) {
			t.Helper()
			load(t, g.ParamRules(), clusterParam(7, `,"count":10`, config))
		}, call: argCall("a"), cause: tidegate.ErrParam, want: "ffffpbfffffff"},
		"gateway": {load: func(t *testing.T, g guard, config string) {
			t.Helper()
			load(t, g.GatewayRules(), clusterFlow(7, `,"count":10`, config))
		}, call: request{}.call(), cause: tidegate.ErrGateway, want: "fbffpbpfbbbbb"},
		"gateway part": {load: func(t *testing.T, g guard, config string) {
			t.Helper()
			load(t, g.GatewayRules(), clusterFlow(7, `,"count":10,"paramItem":{}`, config))
		}, call: carrying("ip", "10.0.0.1").call(), cause: tidegate.ErrGateway, want: "ffffpbfffffff"},
	}
}

// meaning finds out what the status means for a call: the rule's fallback decides, or it does not.
func (c tokenCase) meaning(t *testing.T, s chain.TokenStatus) string {
	t.Helper()
	var results [2]error
	var byServer [2]bool
	for i, policy := range []string{"pass", "block"} {
		g, _ := newFleet(t, status(s))
		c.load(t, g, `,"fallbackPolicy":"`+policy+`"`)
		entry, err := g.enter("r", c.call)
		results[i] = err
		entry.Exit(nil)
		g.idle()
		if blocked, ok := errors.AsType[*tidegate.BlockError](err); ok {
			if !errors.Is(err, c.cause) {
				t.Errorf("status %v, fallback %s: %v", s, policy, err)
			}
			byServer[i] = blocked.Explain().ByServer
		}
	}
	switch {
	case results[0] == nil && results[1] == nil:
		return "p"
	case results[0] != nil && results[1] != nil && byServer[0] && byServer[1]:
		return "b"
	case results[0] == nil && results[1] != nil && !byServer[1]:
		return "f"
	}
	return "?"
}

func TestTokenStatuses(t *testing.T) {
	t.Parallel()
	for name, c := range tokenCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, want := range c.want {
				if got := c.meaning(t, chain.TokenStatus(i-4)); got != string(want) {
					t.Errorf("status %v: %s, want %c", chain.TokenStatus(i-4), got, want)
				}
			}
		})
	}
}

func TestTokenRefusalExplained(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenBlocked))
	f.connect(3)
	load(t, g.FlowRules(), clusterFlow(7, `,"count":10`, `,"windowIntervalMs":2000`),
		`{"resource":"avg","count":10,"clusterMode":true,"clusterConfig":{"flowId":8}}`,
		`{"resource":"held","count":10,"grade":0,"clusterMode":true,"clusterConfig":{"flowId":9,"thresholdType":1}}`)
	load(t, g.ParamRules(), `{"resource":"hot","count":5,"paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":8}}`)
	for resource, want := range map[string]tidegate.Explanation{
		"r":    {Limit: 20, Unit: "calls", Window: 2 * time.Second, ByServer: true},
		"avg":  {Limit: 30, Unit: "calls", Window: time.Second, ByServer: true},
		"held": {Limit: 10, Unit: "calls in flight", ByServer: true},
		"hot":  {Limit: 15, Unit: "calls", Window: time.Second, ByServer: true},
	} {
		cause := tidegate.ErrFlow
		if resource == "hot" {
			cause = tidegate.ErrParam
		}
		if got := g.refusal(resource, cause, argCall(1)).Explain(); got != want {
			t.Errorf("%s: %+v, want %+v", resource, got, want)
		}
	}
}

// Local rules come first, so a call that they refuse asks for nothing; so does a breaker.
func TestTokensAreAskedForLast(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenOK), tidegate.WithCheck(check{"own", 100, func(c *chain.Context) error {
		if c.Origin == "bad" {
			return errors.New("refused")
		}
		return nil
	}}))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""), `{"resource":"r","count":3}`)
	load(t, g.ParamRules(), clusterParam(2, `,"count":10`, ""))
	load(t, g.IsolationRules(), `{"resource":"r","count":5}`)
	load(t, g.DegradeRules(), `{"resource":"r","grade":2,"count":1,"timeWindow":1,"minRequestAmount":1,"statIntervalMs":60000}`)
	g.blocked("r", tidegate.ErrCustom, tidegate.Call{Origin: "bad"})
	g.blocked("r", tidegate.ErrFlow, tidegate.Call{Count: 4})
	f.expect(t, "refused by local rules")
	g.call("r", errCall, argCall("a"))
	f.expect(t, "passed", "param 2 x1 a/0", "flow 1 x1")
	g.call("r", errCall, argCall("a"))
	f.take()
	g.at(500).blocked("r", tidegate.ErrCircuitOpen, argCall("a"))
	f.expect(t, "refused by a breaker")
	g.idle()
}

// A call that the server refuses leaves nothing behind: no reservation, no probe, nothing in flight.
func TestServerRefusalUndoesEverything(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenOK))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""), `{"resource":"r","count":5}`, `{"resource":"r","count":5,"grade":0}`)
	load(t, g.ParamRules(), `{"resource":"r","paramIdx":0,"count":5}`)
	load(t, g.IsolationRules(), `{"resource":"r","count":5}`)
	load(t, g.DegradeRules(), `{"resource":"r","grade":2,"count":1,"timeWindow":1,"minRequestAmount":1,"statIntervalMs":1000}`)
	f.set(status(chain.TokenBlocked))
	for range 50 {
		g.blocked("r", tidegate.ErrFlow, argCall("a"))
	}
	f.set(status(chain.TokenOK))
	if n := g.capacity(argCall("a")); n != 5 {
		t.Errorf("%d calls pass after refused ones, want 5", n)
	}
	g.idle()
	g.at(2000)
	g.call("r", errCall, argCall("a"))
	g.call("r", errCall, argCall("a"))
	g.expectBreakers("r", "OPEN")
	f.set(status(chain.TokenBlocked))
	g.at(4000).blocked("r", tidegate.ErrFlow, argCall("a"))
	f.set(status(chain.TokenOK))
	g.call("r", nil, argCall("a")) // the probe is free
	g.expectBreakers("r", "CLOSED")
	g.idle()
}

func TestSeveralClusterRules(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenOK))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""), clusterFlow(2, `,"count":3,"limitApp":"app"`, ""),
		clusterFlow(3, `,"count":10,"mode":"observe"`, ""), clusterFlow(4, `,"count":9,"grade":0`, ""))
	load(t, g.ParamRules(), clusterParam(5, `,"count":10`, ""))
	call := argCall(7)
	call.Origin, call.Prioritized, call.Count = "app", true, 2
	g.call("r", nil, call)
	f.expect(t, "all", "concurrent 4 x2", "param 5 x2 7/0", "flow 2 x2 prioritized", "flow 1 x2 prioritized", "flow 3 x2 prioritized")
	f.set(func(a asked) tidegate.TokenResult {
		if a.id == 5 {
			return tidegate.TokenResult{Status: chain.TokenBlocked}
		}
		return tidegate.TokenResult{}
	})
	g.blocked("r", tidegate.ErrParam, call)
	f.expect(t, "the second refuses", "concurrent 4 x2", "param 5 x2 7/0")
	if n := f.outstanding(t); n != 0 {
		t.Errorf("%d tokens are held", n)
	}
}

// After a request without an answer the call asks no more, so that it waits for one timeout at most. An answer that
// says "failed" is one.
func TestOneTimeoutPerCall(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, func(asked) tidegate.TokenResult { return away() })
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""), clusterFlow(2, `,"count":1`, ""))
	load(t, g.ParamRules(), clusterParam(3, `,"count":10`, ""))
	g.call("r", nil, argCall("a"))
	f.expect(t, "no answer", "param 3 x1 a/0")
	g.blocked("r", tidegate.ErrFlow, argCall("a")) // the fallback of rule 2
	f.expect(t, "the next call asks again", "param 3 x1 a/0")
	c := g.TokenCounters()
	if c.Requests[chain.TokenFail] != 2 || c.Fallbacks[chain.ReasonNoAnswer] != 2 || c.Fallbacks[chain.ReasonSkipped] != 4 {
		t.Errorf("%+v", c)
	}
	f.set(status(chain.TokenFail))
	g.at(5000).call("r", nil, argCall("a"))
	f.expect(t, "answered", "param 3 x1 a/0", "flow 1 x1", "flow 2 x1")
}

// Whom a rule is about is settled before a request is sent.
func TestTokensAreAskedForWhomTheRuleIsAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule       string
		yes, never tidegate.Call
	}{
		"origin": {`,"limitApp":"app"`, tidegate.Call{Origin: "app"}, tidegate.Call{Origin: "web"}},
		"other":  {`,"limitApp":"other"`, tidegate.Call{Origin: "web"}, tidegate.Call{}},
		"chain":  {`,"strategy":2,"refResource":"api"`, tidegate.Call{Entrance: "api"}, tidegate.Call{Entrance: "job"}},
		"relate": {`,"strategy":1,"refResource":"unknown"`, tidegate.Call{}, tidegate.Call{Free: true}},
	} {
		g, f := newFleet(t, status(chain.TokenBlocked))
		load(t, g.FlowRules(), clusterFlow(1, `,"count":10`+c.rule, ""))
		g.call("r", nil, c.never)
		f.expect(t, name+", another's call")
		g.blocked("r", tidegate.ErrFlow, c.yes)
		f.expect(t, name, "flow 1 x1")
	}
}

func TestTokenSwitches(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenBlocked))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":2`, ""), `{"resource":"off","mode":"off","clusterMode":true,"clusterConfig":{"flowId":2}}`)
	load(t, g.ParamRules(), clusterParam(3, `,"count":1`, ""))
	g.call("off", nil)
	g.SetEnabled(false)
	g.call("r", nil, argCall("a"))
	g.SetEnabled(true)
	g.SetKindEnabled(chain.KindParam, false)
	g.SetKindEnabled(chain.KindFlow, false)
	g.call("r", nil, argCall("a"))
	f.expect(t, "switched off")
	g.SetKindEnabled(chain.KindFlow, true)
	g.blocked("r", tidegate.ErrFlow, argCall("a"))
	f.expect(t, "flow on", "flow 1 x1")
	g.SetTokenService(nil)
	g.call("r", nil)
	g.blocked("r", tidegate.ErrFlow)
	f.expect(t, "no service")
	g.SetTokenService(f)
	g.blocked("r", tidegate.ErrFlow)
	f.expect(t, "again", "flow 1 x1")
}

// What cannot be asked for is not asked for.
func TestCallsThatAskNothing(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenBlocked))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""))
	load(t, g.ParamRules(), `{"resource":"hot","paramIdx":0,"count":1,"clusterMode":true,"clusterConfig":{"flowId":3,"fallbackPolicy":"block"}}`,
		`{"resource":"held","paramIdx":0,"count":2,"grade":0,"clusterMode":true,"clusterConfig":{"flowId":4,"thresholdType":1}}`)
	g.call("r", nil, tidegate.Call{Free: true})
	g.blocked("r", tidegate.ErrFlow, tidegate.Call{Count: 1 << 31})
	for _, call := range []tidegate.Call{{}, argCall(nil), argCall([]string{}), argCall([]any{nil}), argCall((*int)(nil)), argCall(map[string]int{})} {
		g.call("hot", nil, call)
	}
	a, b := g.pass("held", argCall(1)), g.pass("held", argCall(1))
	g.blocked("held", tidegate.ErrParam, argCall(1))
	a.Exit(nil)
	g.call("held", nil, argCall(1))
	b.Exit(nil)
	f.expect(t, "nothing")
	if c := g.TokenCounters(); len(c.Requests) != 0 || c.Fallbacks[chain.ReasonBadRequest] != 1 {
		t.Errorf("%+v", c)
	}
	f.connect(2)
	g.pass("held", argCall(1))
	g.blocked("held", tidegate.ErrParam, argCall(1))
}

type naming struct{ id any }

func (k naming) ParamKey() any { return k.id }

type userID int32

func TestParamValuesAsked(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenOK))
	load(t, g.ParamRules(), clusterParam(3, `,"count":1`, ""))
	five := int16(5)
	for _, c := range []struct {
		arg  any
		want string
	}{
		{"a", " a/0"},
		{5, " 5/0"},
		{int8(5), " 5/1"},
		{int64(5), " 5/4"},
		{float32(1.5), " 1.5/3"},
		{true, " true/0"},
		{userID(5), " 5/3"},
		{&five, " 5/2"},
		{[]string{"a", "b", "a"}, " a/0 b/0 a/0"},
		{[]int32{1, 2}, " 1/3 2/3"},
		{[]any{1, nil, int64(2), "x", 2.5, uint64(1 << 63)}, " 1/0 2/4 x/0 2.5/4 9223372036854775808/4"},
		{naming{"id"}, " id/0"},
		{naming{[]int64{1, 2}}, " 1/4 2/4"},
		{[]naming{{1}, {"b"}}, " 1/0 b/0"},
		{time.Second, " 1000000000/4"},
	} {
		g.call("r", nil, argCall(c.arg))
		f.expect(t, fmt.Sprintf("%T", c.arg), "param 3 x1"+c.want)
	}
}

func TestTokenWaits(t *testing.T) {
	t.Parallel()
	wait := func(asked) tidegate.TokenResult {
		return tidegate.TokenResult{Status: chain.TokenShouldWait, Wait: msec(80)}
	}
	g, f := newFleet(t, wait)
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""),
		`{"resource":"o","count":1,"mode":"observe","clusterMode":true,"clusterConfig":{"flowId":2}}`,
		`{"resource":"two","count":10,"clusterMode":true,"clusterConfig":{"flowId":3}}`,
		`{"resource":"two","count":10,"controlBehavior":2,"maxQueueingTimeMs":500}`)
	entry := g.pass("r", tidegate.Call{Prioritized: true})
	if w := entry.Waited(); w != msec(80) {
		t.Errorf("waited %v, want 80 ms", w)
	}
	entry.Exit(nil)
	f.expect(t, "prioritized", "flow 1 x1 prioritized")
	if w := g.pass("o").Waited(); w != 0 {
		t.Errorf("waited %v for a rule that only observes", w)
	}
	for _, want := range []int64{80, 100, 200} { // the longest of both
		if w := g.pass("two").Waited(); w != msec(want) {
			t.Errorf("waited %v, want %d ms", w, want)
		}
	}
	g.at(5000)
	g.call("two", nil)
	f.set(func(a asked) tidegate.TokenResult { g.at(5030); return wait(a) }) // the answer takes 30 ms
	if w := g.pass("two").Waited(); w != msec(80) {
		t.Errorf("waited %v after the answer, want 80 ms", w)
	}
	f.set(status(chain.TokenOK))
	g.at(10000).call("two", nil)
	f.set(func(asked) tidegate.TokenResult { g.at(10030); return tidegate.TokenResult{} })
	if w := g.pass("two").Waited(); w != msec(70) {
		t.Errorf("waited %v for the queue, want the 70 ms that are left", w)
	}
	f.set(func(asked) tidegate.TokenResult {
		g.at(15030)
		return tidegate.TokenResult{Status: chain.TokenShouldWait, Wait: math.MaxInt64}
	})
	if w := g.at(15000).pass("r").Waited(); w < 24*time.Hour {
		t.Errorf("waited %v, want for ever", w)
	}
}

func TestCallersThatLeave(t *testing.T) {
	t.Parallel()
	f := newTokens(nil)
	clock := &leaving{still: still{manual: newManual()}}
	g := newGuardWith(t, clock, clock.manual, tidegate.WithTokenService(f))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""), clusterFlow(2, `,"count":10,"grade":0`, ""), `{"resource":"r","count":1}`,
		`{"resource":"o","count":0,"mode":"observe","clusterMode":true,"clusterConfig":{"flowId":3}}`)
	ctx, cancel := context.WithCancel(context.Background())
	enter := func(resource string) error {
		entry, err := g.Enter(ctx, resource, tidegate.Call{})
		entry.Exit(nil)
		return err
	}
	f.set(func(a asked) tidegate.TokenResult {
		if a.ctx != ctx {
			t.Errorf("the service got another context")
		}
		if a.kind == "concurrent" {
			return tidegate.TokenResult{}
		}
		cancel()
		return tidegate.TokenResult{Status: chain.TokenFail, Err: a.ctx.Err()}
	})
	for range 3 { // while it waits for the answer
		if err := enter("r"); !errors.Is(err, context.Canceled) || !errors.Is(err, tidegate.ErrBlocked) {
			t.Errorf("%v, want a refusal whose cause is the context's end", err)
		}
	}
	if err := enter("o"); err != nil || g.WouldBlock("o") != 0 {
		t.Errorf("%v, %d would be blocked: an observed rule ends no call", err, g.WouldBlock("o"))
	}
	ctx, cancel = context.WithCancel(context.Background())
	f.set(func(asked) tidegate.TokenResult {
		return tidegate.TokenResult{Status: chain.TokenShouldWait, Wait: msec(80)}
	})
	clock.on.Store(true)
	if err := enter("r"); !errors.Is(err, context.Canceled) { // while it waits as told
		t.Errorf("%v, want a refusal whose cause is the context's end", err)
	}
	clock.on.Store(false)
	if n := f.outstanding(t); n != 0 {
		t.Errorf("%d tokens are held", n)
	}
	if err := enter("r"); err != nil { // and its place is free
		t.Error(err)
	}
	cancel()
	g.idle()
}

func TestObservedTokens(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, status(chain.TokenBlocked))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10,"mode":"observe"`, ""))
	load(t, g.ParamRules(), clusterParam(2, `,"count":10,"mode":"observe"`, ""))
	g.call("r", nil, argCall("a"))
	f.expect(t, "observed", "param 2 x1 a/0", "flow 1 x1")
	if n := g.WouldBlock("r"); n != 2 {
		t.Errorf("%d would be blocked, want 2", n)
	}
	load(t, g.FlowRules(), clusterFlow(1, `,"count":10`, ""), clusterFlow(3, `,"count":10,"grade":0`, ""))
	g.SetObserve(true)
	f.set(status(chain.TokenOK))
	g.call("r", nil, argCall("a"))
	f.expect(t, "the engine observes", "concurrent 3 x1", "flow 1 x1", "param 2 x1 a/0")
	if n := f.outstanding(t); n != 0 {
		t.Errorf("%d tokens are held", n)
	}
}
