package interop_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// The Java client gets from our server in compatible mode the answers that it gets from the real one, and without that
// mode too where both agree.
func TestStoredScriptsJavaClientOurServer(t *testing.T) {
	first, _ := startOurServer(t, true)
	c := startJavaClient(t, "scripts", first.addr())
	for name, which := range map[string]func(script) bool{"compatible": all, "plain": plain} {
		t.Run(name, func(t *testing.T) {
			srv, tm := startOurServer(t, name == "compatible")
			c.assign(t, srv.addr())
			c.await(t, 999_999, 3)
			checkStored(t, srv, tm, c, which)
		})
	}
}

// Raw frames get the same answers, which needs no Java.
func TestStoredScriptsOurServer(t *testing.T) {
	for name, which := range map[string]func(script) bool{"compatible": all, "plain": plain} {
		t.Run(name, func(t *testing.T) {
			srv, tm := startOurServer(t, name == "compatible")
			checkStored(t, srv, tm, newPool(t, srv.addr()), which)
		})
	}
}

// Calls that Java guards by cluster rules pass, wait, are blocked and fall back as our server says.
func TestJavaCallsGuardedByOurServer(t *testing.T) {
	srv, tm := startOurServer(t, true)
	c := startJavaClient(t, "appA", srv.addr())
	load := func(base int64) {
		flows := list(flowRule("call", base+1, 3))
		params := list(paramRule("hot", base+7, 2))
		if err := srv.load("appA", flows, params); err != nil {
			t.Fatal(err)
		}
		c.tell(t, "flow-rules", string(list(flowRule("call", base+1, 1), flowRule("unknown", base+2, 1))))
		c.tell(t, "param-rules", string(params))
	}
	var problems []string
	for range 3 { // since an answer may get lost in spite of the delay
		base, _ := fresh()
		load(base)
		if problems = guardedCalls(t, c, tm); problems == nil {
			return
		}
	}
	t.Error(strings.Join(problems, "\n"))
}

// guardedCalls makes calls and says which of them did not go as the rules say.
func guardedCalls(t *testing.T, c *javaClient, tm *madeTime) (problems []string) {
	t.Helper()
	expect := func(what string, want bool, wait int, args ...any) {
		t.Helper()
		a := c.tell(t, "guard", args...)
		if a.Passed != want || a.Millis < wait {
			problems = append(problems, fmt.Sprintf("%s: passed %v after %d ms, %s; want %v after %d", what, a.Passed, a.Millis, a.Block, want, wait))
		}
	}
	start := tm.align(1000)
	for i := range 4 {
		expect(fmt.Sprintf("call %d within a limit of 3", i), i < 3, 0, "call", false)
	}
	tm.until(start + 920)
	expect("a prioritized call at the end of the window", true, 95, "call", true)
	for i := range 3 {
		expect(fmt.Sprintf("call %d of a value", i), i < 2, 0, "hot", false, "string:x")
	}
	expect("a call of another value", true, 0, "hot", false, "long:1")
	// Java's own count, one per second, decides the rule that our server does not know.
	passed := 0
	for range 10 {
		if c.tell(t, "guard", "unknown", false).Passed {
			passed++
		}
	}
	if passed < 1 || passed > 3 {
		problems = append(problems, fmt.Sprintf("%d calls passed the fallback of one per second", passed))
	}
	return problems
}

// Many Java threads over one connection: each gets its own answer, and no more than the limit is granted.
func TestJavaThreadsShareConnection(t *testing.T) {
	srv, _ := startOurServer(t, false)
	c := startJavaClient(t, "appA", srv.addr())
	c.tell(t, "timeout", javaTimeout)
	var got map[string]int
	for range 3 { // since an answer may get lost in spite of the delay
		base, namespace := fresh()
		if err := srv.load(namespace, list(flowRule("r", base, 10)), []byte(`[]`)); err != nil {
			t.Fatal(err)
		}
		got = c.tell(t, "together", 64, base, 1, false).Statuses
		if got["0"] == 10 && got["1"] == 54 {
			return
		}
	}
	t.Errorf("statuses %v, want 10 times OK and 54 times BLOCKED", got)
}

// A server that wants a secret, and one that is silent, fail a Java client; neither disturbs its connection.
func TestJavaClientOurServerFailures(t *testing.T) {
	service := token.New()
	closed := serve(t, service, "127.0.0.1:0", server.WithSecret([]byte("a secret of some length")))
	open := serve(t, service, "127.0.0.1:0")
	c := startJavaClient(t, "appA", open.addr())
	if err := open.load("appA", list(flowRule("r", 1, 1e9)), []byte(`[]`)); err != nil {
		t.Fatal(err)
	}
	c.await(t, 1, 0)
	c.proxy.hold()
	if a := c.tell(t, "flow", 1, 1, false); a.Status != statusFail {
		t.Errorf("silent server: status %d, want FAIL", a.Status)
	}
	c.proxy.release()
	c.await(t, 1, 0)
	checkJavaPings(t, c.proxy)

	c.assign(t, closed.addr())
	c.await(t, 1, statusFail)
	c.tell(t, "timeout", javaTimeout)
	for range 3 {
		if a := c.tell(t, "param", 1, 1, "int:1"); a.Status != statusFail || a.Remaining != 0 {
			t.Errorf("server with a secret: %+v, want FAIL", a.answer)
		}
	}
	c.assign(t, open.addr())
	c.await(t, 1, 0)
}

// checkJavaPings checks that the Java client pings with id 0 and gets it back: it knows no extension.
func checkJavaPings(t *testing.T, p *proxy) {
	t.Helper()
	sent, got := p.frames(t)
	if want := pingMessage(0, "appA"); len(sent) == 0 || !bytes.Equal(sent[0], want) {
		t.Fatalf("the client sent %x first, want %x", sent, want)
	}
	if want := unhex("000a 00000000 00 00 00000001"); len(got) == 0 || !bytes.Equal(got[0], want) {
		t.Errorf("our server answered %x, want %x", got, want)
	}
	for _, frame := range got[1:] {
		if frame[6] != typeFlow || binary.BigEndian.Uint16(frame) != 14 {
			t.Errorf("our server answered %x", frame)
		}
	}
}

// Java clients come back when our server does, count in their namespace, and leave it when they are killed.
func TestJavaClientOurServerRestart(t *testing.T) {
	srv := serve(t, token.New(), "127.0.0.1:0")
	load := func() {
		t.Helper()
		if err := srv.load("appA", list(clientRule(1, 5)), []byte(`[]`)); err != nil {
			t.Fatal(err)
		}
	}
	load()
	first, second := startJavaClient(t, "appA", srv.addr()), startJavaClient(t, "appA", srv.addr())
	check := func(clients int) {
		t.Helper()
		if err := awaitConnected(srv, "appA", clients); err != nil {
			t.Fatal(err)
		}
		expectRemaining(t, first, map[int64]int{1: 5*clients - 1})
	}
	check(2)
	if err := srv.server.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the clients to see that the server is gone", func() bool {
		return first.tell(t, "state").State != 2 && second.tell(t, "state").State != 2
	})
	srv = serve(t, token.New(), srv.addr())
	load()
	start := time.Now()
	check(2)
	t.Logf("the Java clients were back %.1f s after the server", time.Since(start).Seconds())
	second.kill()
	check(1)
}
