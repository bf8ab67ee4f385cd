package adaptertest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
)

// slots: a limit of one call in flight survives a handler's panic and a client that leaves.
func slots(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	resource := a.resource(http.MethodGet, "/slot/{what}")
	load(t, e.FlowRules(), flow.Rule{Resource: resource, Grade: flow.GradeConcurrency, Count: 1})
	arrived := make(chan struct{}, 1)
	c := a.start(t, Setup{Engine: e, Routes: []Route{{
		Method: http.MethodGet, Pattern: "/slot/{what}", Handle: func(x Exchange) {
			switch x.Param("what") {
			case "panic":
				panic("on purpose") //nolint:forbidigo // what the adapter must survive
			case "leave":
				arrived <- struct{}{}
				<-x.Context.Done()
			}
			x.Answer(http.StatusOK, "fine")
		},
	}}})
	if got := c.do(http.MethodGet, "/slot/panic"); got.status != 0 && got.status < 500 {
		t.Errorf("a panicking handler: status %d, want 500 or a broken connection", got.status)
	}
	eventually(t, "the panicked call is over", idle(e, resource))
	if s, _ := e.ResourceStats(resource); s.TotalException != 1 {
		t.Errorf("%d failures after a panic, want 1", s.TotalException)
	}
	if !a.Blind {
		leave(t, c.url, "/slot/leave", arrived)
		eventually(t, "the left call is over", idle(e, resource))
		if s, _ := e.ResourceStats(resource); s.TotalException != 1 {
			t.Errorf("%d failures after a client left, want still 1", s.TotalException)
		}
	}
	c.expect(http.StatusOK, "/slot/normal")
	eventually(t, "nothing is in flight", idle(e, resource))
}

// leave makes a request and closes the connection while it is served.
func leave(t *testing.T, url, path string, arrived <-chan struct{}) {
	t.Helper()
	host := strings.TrimPrefix(url, "http://")
	var dialer net.Dialer
	conn, err := dialer.DialContext(context.Background(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-arrived
	_ = conn.Close()
}

// errorsCounted: five answers of 500 open a breaker.
func errorsCounted(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	load(t, e.DegradeRules(), circuitbreaker.Rule{
		Resource: a.resource(http.MethodGet, "/broken"), Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 10,
	})
	c := a.start(t, Setup{Engine: e, Routes: []Route{
		{Method: http.MethodGet, Pattern: "/broken", Handle: func(x Exchange) { x.Answer(http.StatusInternalServerError, "broken") }},
		{Method: http.MethodGet, Pattern: "/missing", Handle: func(x Exchange) { x.Answer(http.StatusNotFound, "missing") }},
	}})
	expectOpen(t, c, e, a.resource(http.MethodGet, "/broken"), "/broken", http.StatusInternalServerError)
	missing := a.resource(http.MethodGet, "/missing")
	c.expect(http.StatusNotFound, "/missing")
	eventually(t, "the call is over", idle(e, missing))
	if s, _ := e.ResourceStats(missing); s.TotalException != 0 {
		t.Errorf("an answer of 404 counted as %d failures, want 0", s.TotalException)
	}
}

// timeCounted: five answers after 300 ms open a breaker for calls above 100 ms.
func timeCounted(t *testing.T, a Adapter) {
	clock := newClock()
	e := newEngine(t, clock)
	load(t, e.DegradeRules(), circuitbreaker.Rule{
		Resource: a.resource(http.MethodGet, "/slow"), Grade: circuitbreaker.SlowRatio, Count: 100, TimeWindow: 10, StatIntervalMs: 10_000,
	})
	c := a.start(t, Setup{Engine: e, Routes: []Route{{
		Method: http.MethodGet, Pattern: "/slow", Handle: func(x Exchange) {
			clock.advance(300 * time.Millisecond)
			x.Answer(http.StatusOK, "at last")
		},
	}}})
	expectOpen(t, c, e, a.resource(http.MethodGet, "/slow"), "/slow", http.StatusOK)
}

// expectOpen makes five requests that are bad in some way, and a sixth that must be refused.
func expectOpen(t *testing.T, c *client, e *tidegate.Engine, resource, path string, status int) {
	t.Helper()
	for range 5 {
		c.expect(status, path)
		eventually(t, "the call is over", idle(e, resource))
	}
	c.expect(http.StatusTooManyRequests, path)
}
