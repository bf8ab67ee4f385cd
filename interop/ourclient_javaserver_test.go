package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
)

// The stored answers are those of the real token server: here our client gets them from it.
func TestStoredScriptsOurClientJavaServer(t *testing.T) {
	srv := startJavaServer(t)
	pool := newPool(t, srv.addr())
	warmUp(t, pool)
	if *update {
		store(t, srv, pool)
	}
	checkStored(t, srv, wallTime{}, startOurClient(t, srv.addr()), all)
}

// What only the state of the server, or its silence, can answer.
func TestOurClientJavaServerFailures(t *testing.T) {
	srv := startJavaServer(t)
	p := startProxy(t, srv.addr(), 0)
	c := startOurClient(t, p.addr(), client.WithMaxTimeouts(3), client.WithTimeout(time.Second))
	err := srv.load("appA", list(flowRule("r", 1, 10)), []byte(`[]`))
	if err != nil {
		t.Fatal(err)
	}
	c.await(t, 1, chain.TokenOK)

	srv.tell(t, "forget", 1)
	if r := c.RequestToken(t.Context(), 1, 1, false); r.Status != chain.TokenFail || r.Err != nil {
		t.Errorf("without counters: %+v, want the server's FAIL", r)
	}
	if r := c.AcquireConcurrent(t.Context(), 1, 1); r.Status != chain.TokenNotAvailable {
		t.Errorf("concurrency token: %+v, want %v", r, chain.TokenNotAvailable)
	}

	p.hold()
	for i := range 3 {
		if r := c.RequestToken(t.Context(), 9, 1, false); r.Status != chain.TokenFail || !errors.Is(r.Err, client.ErrTimeout) {
			t.Errorf("silent server, call %d: %+v, want %v", i, r, client.ErrTimeout)
		}
	}
	if r := c.RequestToken(t.Context(), 9, 1, false); !errors.Is(r.Err, client.ErrLocal) {
		t.Errorf("after three timeouts: %+v, want %v", r, client.ErrLocal)
	}
	p.release()
	c.await(t, 9, chain.TokenNoRule)
	checkPlain(t, p)
}

// checkPlain checks that our client sent what a Java server understands, and nothing else.
func checkPlain(t *testing.T, p *proxy) {
	t.Helper()
	sent, got := p.frames(t)
	lengths := map[byte]int{typeFlow: 2 + 5 + 13}
	for _, frame := range sent {
		kind := frame[6]
		if kind > typeParam || lengths[kind] != 0 && lengths[kind] != len(frame) || len(frame) > 1024 {
			t.Errorf("the client sent %x", frame)
		}
	}
	if len(sent) == 0 || len(got) == 0 {
		t.Errorf("%d frames sent, %d got: nothing was seen", len(sent), len(got))
	}
}

// Clients count in their namespaces, and come back by themselves when the server is killed and started again.
func TestOurClientJavaServerRestart(t *testing.T) {
	srv := startJavaServer(t)
	load := func() {
		t.Helper()
		if err := errors.Join(srv.load("appA", list(clientRule(1, 5)), []byte(`[]`)), srv.load("appB", list(clientRule(2, 5)), []byte(`[]`))); err != nil {
			t.Fatal(err)
		}
	}
	load()
	var clients []ourClient
	for _, namespace := range []string{"appA", "appA", "appB"} {
		clients = append(clients, startOurClient(t, srv.addr(), client.WithNamespace(namespace), client.WithPingInterval(50*time.Millisecond)))
	}
	check := func() {
		t.Helper()
		for namespace, want := range map[string]int{"appA": 2, "appB": 1} {
			if err := awaitConnected(srv, namespace, want); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []int{2, 2, 1} {
			eventually(t, fmt.Sprintf("client %d to know of %d", i, want), func() bool { return clients[i].Connected() == want })
		}
		expectRemaining(t, clients[0], map[int64]int{1: 9, 2: 4})
	}
	check()

	srv.kill()
	for i, c := range clients {
		eventually(t, fmt.Sprintf("client %d to see that the server is gone", i), func() bool {
			return c.RequestToken(t.Context(), 1, 1, false).Err != nil
		})
	}
	again := &javaServer{java: startJava(t, "server"), address: srv.address}
	srv = again
	load()
	again.start(t)
	check()

	_ = clients[1].Close()
	if err := awaitConnected(srv, "appA", 1); err != nil {
		t.Fatal(err)
	}
}

// expectRemaining checks how many units the first request of a second leaves of each flow.
func expectRemaining(t *testing.T, c asker, want map[int64]int) {
	t.Helper()
	for id, remaining := range want {
		wallTime{}.until(wallTime{}.now() + 1100) // so that the window is empty
		got, err := c.ask(step{Flow: id, Count: 1}, 0)
		if err != nil || got != (answer{Remaining: remaining}) {
			t.Errorf("flow %d: %+v, %v, want %d left", id, got, err, remaining)
		}
	}
}

// A Java client and ours share the limit of a Java server, and of ours: no more is granted than the limit.
func TestFleetSharesLimit(t *testing.T) {
	ours, _ := startOurServer(t, false)
	java := startJavaClient(t, "appA", ours.addr())
	mine := startOurClient(t, ours.addr(), client.WithNamespace("appA"))
	if err := errors.Join(ours.load("appA", list(clientRule(1, 5)), []byte(`[]`)), awaitConnected(ours, "appA", 2)); err != nil {
		t.Fatal(err)
	}
	granted := 0
	for range 10 { // the time stands still, so this is one window
		for _, c := range []asker{java, mine} {
			a, err := c.ask(step{Flow: 1, Count: 1}, 0)
			if err != nil {
				t.Fatal(err)
			}
			if a.Status == 0 {
				granted++
			}
		}
	}
	if granted != 10 {
		t.Errorf("%d granted, want 10: five for each of two clients", granted)
	}
}

// Calls that our engine guards by cluster rules pass, wait, are blocked and fall back as the real server says.
func TestOurCallsGuardedByJavaServer(t *testing.T) {
	srv := startJavaServer(t)
	warmUp(t, newPool(t, srv.addr()))
	engine := must(tidegate.New(tidegate.WithTokenService(startOurClient(t, srv.addr()).Client)))
	defer engine.Close()
	var problems []string
	for range attempts { // since the calls of a run must fall into the buckets that they mean
		base, namespace := fresh()
		flows, params := list(flowRule("call", base+1, 3)), list(paramRule("hot", base+2, 2))
		if err := srv.load(namespace, flows, params); err != nil {
			t.Fatal(err)
		}
		loadRules(t, engine.FlowRules(), list(flowRule("call", base+1, 1), flowRule("unknown", base+3, 1)))
		loadRules(t, engine.ParamRules(), params)
		if problems = ourGuardedCalls(engine); problems == nil {
			return
		}
	}
	t.Error(strings.Join(problems, "\n"))
}

func loadRules[R any](t *testing.T, set *tidegate.RuleSet[R], text []byte) {
	t.Helper()
	var rules []R
	if err := json.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Load(rules...); err != nil {
		t.Fatal(err)
	}
}

// ourGuardedCalls makes calls and says which of them did not go as the rules say.
func ourGuardedCalls(engine *tidegate.Engine) (problems []string) {
	expect := func(what string, want bool, wait time.Duration, resource string, call tidegate.Call) {
		start := time.Now()
		entry, err := engine.Enter(context.Background(), resource, call)
		entry.Exit(nil)
		if (err == nil) != want || err != nil && !errors.Is(err, tidegate.ErrBlocked) || time.Since(start) < wait {
			problems = append(problems, fmt.Sprintf("%s: %v after %v; want it to pass: %v, after %v", what, err, time.Since(start), want, wait))
		}
	}
	start := wallTime{}.align(1000)
	for i := range 4 {
		expect(fmt.Sprintf("call %d within a limit of 3", i), i < 3, 0, "call", tidegate.Call{})
	}
	for i, value := range []tidegate.Arg{tidegate.String("", "x"), tidegate.String("", "x"), tidegate.String("", "x"), tidegate.Int("", 1)} {
		expect(fmt.Sprintf("call %d of a value", i), i != 2, 0, "hot", tidegate.Call{Args: []tidegate.Arg{value}})
	}
	// The limit of the rule that the server does not know is this engine's own.
	expect("the first call by the fallback", true, 0, "unknown", tidegate.Call{})
	expect("the second call by the fallback", false, 0, "unknown", tidegate.Call{})
	wallTime{}.until(start + 920)
	expect("a prioritized call at the end of the window", true, 95*time.Millisecond, "call", tidegate.Call{Prioritized: true})
	return problems
}
