package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/proxy"
)

// freeAddress returns an address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func serveAt(t *testing.T, address string, h http.Handler) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// A dead instance costs no request: the next one takes over, bodies included.
func TestFailover(t *testing.T) {
	t.Parallel()
	dead := freeAddress(t)
	g := run(t, "upstreams: [{name: shop, urls: [http://"+dead+", UPSTREAM]}]\nroutes: [{pattern: /, upstream: shop}]\n", "[]",
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	for i := range 20 {
		body := fmt.Sprintf("body %d", i)
		if response, got := g.do(g.request(http.MethodPost, "/", strings.NewReader(body))); response.StatusCode != 200 || got != body {
			t.Errorf("request %d: %d %q", i, response.StatusCode, got)
		}
	}
	if !strings.Contains(g.log.String(), "health of an instance changed") {
		t.Error("the dead instance was not ejected")
	}
}

// The only instance is ejected too, comes back when it can be reached, and instances take turns.
func TestRecovery(t *testing.T) {
	t.Parallel()
	a, b := freeAddress(t), freeAddress(t)
	g := runFor(t, "upstreams: [{name: shop, urls: [http://"+a+", http://"+b+"], health: {minRequests: 2, check: 20ms, recovery: 60s}}]\n"+
		"routes: [{pattern: /, upstream: shop}]\n", "[]")
	g.expect(http.StatusBadGateway, "/")
	eventually(t, "both instances are ejected", 15*time.Second, func() bool { status, _ := g.get("/"); return status == http.StatusServiceUnavailable })
	for _, address := range []string{a, b} {
		serveAt(t, address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, address) }))
	}
	seen := map[string]bool{}
	eventually(t, "both instances answer again", 15*time.Second, func() bool {
		status, body := g.get("/")
		seen[body] = status == http.StatusOK
		return seen[a] && seen[b]
	})
}

// What routes answer is their own rules' affair unless statuses says otherwise.
func TestStatuses(t *testing.T) {
	t.Parallel()
	unavailable := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }
	g := run(t, simple, "[]", unavailable)
	for range 10 {
		g.expect(http.StatusTeapot, "/orders/1")
	}
	g = run(t, strings.Replace(simple, "[UPSTREAM]", "[UPSTREAM], health: {statuses: [418]}", 1), "[]", unavailable)
	for range 5 {
		g.expect(http.StatusTeapot, "/orders/1")
	}
	g.expect(http.StatusServiceUnavailable, "/orders/1")
}

// Stop lets requests in flight end, and cuts them off when their time is over.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		timeout string
		fails   bool
	}{{"10s", false}, {"20ms", true}} {
		arrived, release := make(chan struct{}), make(chan struct{})
		g := run(t, simple+"timeouts: {shutdown: "+c.timeout+"}\n", "[]", func(w http.ResponseWriter, r *http.Request) {
			close(arrived)
			select {
			case <-release:
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "late")
		})
		answer := make(chan string, 1)
		go func() {
			response, err := client().Do(g.request(http.MethodGet, "/orders/1", nil))
			if err != nil {
				answer <- "error"
				return
			}
			defer func() { _ = response.Body.Close() }()
			body, _ := io.ReadAll(response.Body)
			answer <- string(body)
		}()
		<-arrived
		if !c.fails {
			time.AfterFunc(50*time.Millisecond, func() { close(release) })
		}
		if err := g.Stop(context.Background()); (err != nil) != c.fails {
			t.Errorf("timeout %s: error %v", c.timeout, err)
		}
		if got := <-answer; (got == "late") == c.fails {
			t.Errorf("timeout %s: answer %q", c.timeout, got)
		}
		if err := g.Stop(context.Background()); err != nil {
			t.Errorf("second stop: %v", err)
		}
		if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", g.Addr().String()); err == nil {
			_ = conn.Close()
			t.Error("the server still accepts connections")
		}
	}
}

// After Stop no goroutine of the server is left. Not parallel: it counts all there are.
func TestStopLeavesNothing(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(upstream.Close)
	config := strings.ReplaceAll(simple, "UPSTREAM", upstream.URL) + "cluster: {embedded: {listen: " + freeAddr(t) + "}}\n"
	before := runtime.NumGoroutine()
	for range 3 {
		g := runFor(t, config, "[]")
		g.expect(http.StatusOK, "/orders/1")
		if err := g.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the goroutines have ended", 15*time.Second, func() bool {
		upstream.CloseClientConnections()
		return runtime.NumGoroutine() <= before
	})
}

// A server that was never started can be stopped.
func TestStopWithoutStart(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"gateway.yaml": least, "rules.json": "[]"})
	c, err := proxy.Load(dir + "/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := proxy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.Addr() != nil || s.Err() != nil {
		t.Errorf("address %v, error %v before the start", s.Addr(), s.Err())
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	<-s.Done()
}

// Where listening is not possible nothing is left running.
func TestStartFails(t *testing.T) {
	t.Parallel()
	g := run(t, simple, "[]", echo)
	dir := write(t, map[string]string{"gateway.yaml": strings.Replace(least, "127.0.0.1:8080", g.Addr().String(), 1), "rules.json": "[]"})
	c, err := proxy.Load(dir + "/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := proxy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v, want that the address is in use", err)
	}
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Start(); err == nil {
		t.Error("a stopped server starts again")
	}
}
