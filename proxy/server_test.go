package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/proxy"
)

// gateway is a running server with its configuration's directory.
type gateway struct {
	*proxy.Server
	t   testing.TB
	dir string
	url string
	log *syncBuffer
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// run starts a server with the configuration, in which UPSTREAM stands for the URL of an upstream with the handler,
// and a rule file.
func run(t testing.TB, config, rules string, upstream http.HandlerFunc, options ...tidegate.Option) *gateway {
	t.Helper()
	u := httptest.NewServer(upstream)
	t.Cleanup(u.Close)
	return runFor(t, strings.ReplaceAll(config, "UPSTREAM", u.URL), rules, options...)
}

func runFor(t testing.TB, config, rules string, options ...tidegate.Option) *gateway {
	t.Helper()
	dir := write(t, map[string]string{"gateway.yaml": "listen: 127.0.0.1:0\nrules: [rules.json]\n" + config, "rules.json": rules})
	return start(t, dir, options...)
}

// start starts a server with the configuration gateway.yaml in the directory.
func start(t testing.TB, dir string, options ...tidegate.Option) *gateway {
	t.Helper()
	c, err := proxy.Load(filepath.Join(dir, "gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{t: t, dir: dir, log: &syncBuffer{}}
	g.Server, err = proxy.New(c, proxy.WithLogger(slog.New(slog.NewTextHandler(g.log, nil))), proxy.WithEngineOptions(options...))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Stop(context.Background()) })
	g.url = "http://" + g.Addr().String()
	return g
}

// client returns a client that keeps no connection open.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
}

func (g *gateway) do(r *http.Request) (*http.Response, string) {
	g.t.Helper()
	response, err := client().Do(r)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	return response, string(body)
}

func (g *gateway) request(method, path string, body io.Reader) *http.Request {
	g.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, g.url+path, body)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

func (g *gateway) get(path string) (int, string) {
	g.t.Helper()
	response, body := g.do(g.request(http.MethodGet, path, nil))
	return response.StatusCode, body
}

func (g *gateway) expect(status int, path string) string {
	g.t.Helper()
	got, body := g.get(path)
	if got != status {
		g.t.Errorf("GET %s: status %d, want %d (%s)", path, got, status, strings.TrimSpace(body))
	}
	return body
}

func eventually(t testing.TB, what string, limit time.Duration, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI())
}

const simple = "upstreams: [{name: shop, urls: [UPSTREAM]}]\nroutes: [{pattern: /orders/{id}, upstream: shop}]\n"

func TestRoutes(t *testing.T) {
	t.Parallel()
	g := run(t, "upstreams: [{name: shop, urls: [UPSTREAM/base]}]\nroutes:\n"+
		"- {pattern: /orders/{id}, upstream: shop}\n"+
		"- {pattern: /v1/, upstream: shop, stripPrefix: /v1, id: 'achang:1'}\n"+
		"- {pattern: /only, method: POST, upstream: shop}\n", "[]", echo)
	for path, want := range map[string]string{
		"/orders/7?a=b":       "GET /base/orders/7?a=b",
		"/orders/a%2Fb":       "GET /base/orders/a%2Fb",
		"/v1/x/y":             "GET /base/x/y",
		"/v1/x%2Fy":           "GET /base/x%2Fy",
		"/v1/":                "GET /base/",
		"/orders/7?q=%zz;a=1": "GET /base/orders/7",
	} {
		if got := g.expect(http.StatusOK, path); !strings.HasPrefix(got, want) {
			t.Errorf("%s went on as %q, want %q", path, got, want)
		}
	}
	g.expect(http.StatusNotFound, "/nowhere")
	g.expect(http.StatusMethodNotAllowed, "/only")
	want := "GET:/orders/{id} GET:unmatched achang:1"
	if got := strings.Join(g.Engine().Resources(), " "); got != want {
		t.Errorf("resources %q, want %q", got, want)
	}
}

// Refused rules are left out and logged; good ones are in force, and a new file's within two seconds.
func TestRuleFile(t *testing.T) {
	t.Parallel()
	g := run(t, simple, `[{"resource":"GET:/orders/{id}","count":-1},{"resource":"GET:/orders/{id}","count":0}]`, echo)
	g.expect(http.StatusTooManyRequests, "/orders/1")
	if !strings.Contains(g.log.String(), "rule refused") || !strings.Contains(g.log.String(), "flow[0]") {
		t.Errorf("the refused rule is not in the log: %s", g.log)
	}
	save := func(text string) {
		if err := os.WriteFile(filepath.Join(g.dir, "rules.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(`[{`)
	eventually(t, "the bad file is in the log", 15*time.Second, func() bool { return strings.Contains(g.log.String(), "rule file refused") })
	g.expect(http.StatusTooManyRequests, "/orders/1")
	save(`[{"resource":"GET:/orders/{id}","count":1000}]`)
	eventually(t, "the new rules are in force", 15*time.Second, func() bool { status, _ := g.get("/orders/1"); return status == http.StatusOK })
	if n := strings.Count(g.log.String(), "rule file refused"); n != 1 {
		t.Errorf("the bad file is in the log %d times, want once", n)
	}
}

// A rule file that is wrong in parts is in force but for these, and the log says so.
func TestRuleFileInParts(t *testing.T) {
	t.Parallel()
	g := run(t, simple, `{"sentinelEnabled":"maybe",
 "systemRules":{},
 "flowRules":[{"resource":"a","count":1},{"resource":"b","enabled":false},
  {"resource":"c","count":-1}]}`, echo)
	log := g.log.String()
	for _, want := range []string{
		`accepted=1 disabled=1 refused=1 kept="sentinelEnabled, systemRules"`, "part=systemRules", "line 2, column 16: systemRules: must be an array",
		"line 1, column 20: sentinelEnabled: must be true or false", `at="line 4, column 27"`, "level=WARN",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in the log: %s", want, log)
		}
	}
}

// A rule file that goes away, is emptied or comes back is in the log once each time.
func TestRuleFileComesAndGoes(t *testing.T) {
	t.Parallel()
	const text = `[{"resource":"GET:/orders/{id}","count":0}]`
	g := run(t, simple, text, echo)
	name := filepath.Join(g.dir, "rules.json")
	logged := func(part string, times int) {
		t.Helper()
		eventually(t, part+" is in the log", 15*time.Second, func() bool { return strings.Count(g.log.String(), part) >= times })
		g.expect(http.StatusTooManyRequests, "/orders/1")
		if n := strings.Count(g.log.String(), part); n != times {
			t.Errorf("%q is in the log %d times, want %d: %s", part, n, times, g.log)
		}
	}
	if err := os.Rename(name, name+".away"); err != nil {
		t.Fatal(err)
	}
	logged("rule file is gone", 1)
	if err := os.Rename(name+".away", name); err != nil {
		t.Fatal(err)
	}
	logged("rule file is good again", 1)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	logged("document is empty", 1)
	g.rewrite(text)
	logged("rule file is good again", 2)
	logged("rule file is gone", 1)
	logged("rules in force", 1)
}

// A rule file may change its form; the rules of the old one go.
func TestRuleFileChangesForm(t *testing.T) {
	t.Parallel()
	g := run(t, simple, `[]`, echo)
	g.rewrite(`{"flowRules":[{"resource":"GET:/orders/{id}","count":0}]}`)
	status := func(want int) func() bool {
		return func() bool { got, _ := g.get("/orders/1"); return got == want }
	}
	eventually(t, "the document is in force", 15*time.Second, status(http.StatusTooManyRequests))
	g.rewrite(`[{"qps":1e6}]`)
	eventually(t, "the array is in force", 15*time.Second, status(http.StatusOK))
}

// held is a clock that stands still; it notes waits and does not make them.
type held struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (h *held) Now() time.Time { return time.Unix(1_700_000_040, 0) }

func (h *held) Wait(_ context.Context, d time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = append(h.waits, d)
	return nil
}

// Of five calls at one instant the first passes at once, the next three after 10, 20 and 30 s, the fifth is refused.
func TestThrottledRoute(t *testing.T) {
	t.Parallel()
	const config = "upstreams: [{name: shop, urls: [UPSTREAM]}]\nroutes: [{pattern: /, id: 'achang:1', upstream: shop}]\n"
	const rule = `{"resource":"achang:1","grade":1,"count":0.1,"controlBehavior":2,"maxQueueingTimeMs":30000`
	clock := &held{}
	g := run(t, config, "["+rule+"}]", echo, tidegate.WithClock(clock))
	for range 4 {
		g.expect(http.StatusOK, "/")
	}
	g.expect(http.StatusTooManyRequests, "/")
	if want := []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}; !equal(clock.waits, want) {
		t.Errorf("waits %v, want %v", clock.waits, want)
	}
	off := &held{}
	g = run(t, config, "["+rule+`,"enabled":false}]`, echo, tidegate.WithClock(off))
	for range 8 {
		g.expect(http.StatusOK, "/")
	}
	if len(off.waits) != 0 {
		t.Errorf("a disabled rule makes calls wait: %v", off.waits)
	}
}

func equal(a, b []time.Duration) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Waiting in a rule's queue is not cut by the upstream's timeouts nor the route's; a client that leaves gives its
// place back.
func TestQueueIsNotCut(t *testing.T) {
	t.Parallel()
	g := run(t, "timeouts: {readHeader: 400ms, idle: 400ms}\nupstreams: [{name: shop, urls: [UPSTREAM], dialTimeout: 600ms, responseTimeout: 600ms}]\n"+
		"routes: [{pattern: /, id: q, upstream: shop, timeout: 600ms}]\n",
		`[{"resource":"q","count":1,"controlBehavior":2,"maxQueueingTimeMs":1200}]`, echo)
	start := time.Now()
	g.expect(http.StatusOK, "/")
	g.expect(http.StatusOK, "/")
	if took := time.Since(start); took < 900*time.Millisecond {
		t.Errorf("two calls took %v, want a second: the second one has to wait", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if response, err := client().Do(g.request(http.MethodGet, "/", nil).WithContext(ctx)); err == nil {
		_ = response.Body.Close()
		t.Error("the client that left got an answer")
	}
	eventually(t, "the left call is over", 15*time.Second, func() bool { s, _ := g.Engine().ResourceStats("q"); return s.TotalBlock == 1 })
	g.expect(http.StatusOK, "/")
}

func TestBlockResponse(t *testing.T) {
	t.Parallel()
	const rules = `[{"resource":"GET:/orders/{id}","count":0}]`
	g := run(t, simple+"block: {status: 503, body: '{\"busy\":true}', contentType: application/json}\n", rules, echo)
	response, body := g.do(g.request(http.MethodGet, "/orders/1", nil))
	if response.StatusCode != 503 || body != `{"busy":true}` || response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %q", response.StatusCode, response.Header.Get("Content-Type"), body)
	}
	g = run(t, simple, rules, echo)
	r := g.request(http.MethodGet, "/orders/1", nil)
	r.Header.Set("Accept", "application/json")
	if response, body := g.do(r); response.StatusCode != 429 || !strings.Contains(body, `"kind":"flow"`) {
		t.Errorf("%d %q", response.StatusCode, body)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	g := run(t, simple+"limits: {header: 1KiB, body: 10}\n", "[]", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})
	for name, c := range map[string]struct {
		header, body int
		chunked      bool
		want         int
	}{
		"small":                  {10, 10, false, 200},
		"small, unknown length":  {10, 10, true, 200},
		"body":                   {10, 11, false, 413},
		"body of unknown length": {10, 11, true, 413},
		"large of unknown":       {10, 1 << 20, true, 413},
		"header":                 {1024, 0, false, 431},
		"huge header":            {20_000, 0, false, 431},
	} {
		var body io.Reader = strings.NewReader(strings.Repeat("x", c.body))
		if c.chunked {
			body = struct{ io.Reader }{body}
		}
		r := g.request(http.MethodPost, "/orders/1", body)
		r.Header.Set("X-Big", strings.Repeat("h", c.header))
		if response, _ := g.do(r); response.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", name, response.StatusCode, c.want)
		}
	}
	if s, _ := g.Engine().ResourceStats("POST:/orders/{id}"); s.TotalException != 0 {
		t.Errorf("%d failures by requests that are too large, want 0", s.TotalException)
	}
}

func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	headers := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Join(r.Header["X-Forwarded-For"], "|")+" "+r.Header.Get("X-Forwarded-Host")+" "+r.Host)
	}
	ask := func(g *gateway) string {
		r := g.request(http.MethodGet, "/orders/1", nil)
		r.Host = "shop.example"
		r.Header.Set("X-Forwarded-For", "6.6.6.6")
		r.Header.Set("X-Forwarded-Host", "outer.example")
		_, body := g.do(r)
		return body
	}
	g := run(t, simple, "[]", headers)
	if got := ask(g); !strings.HasPrefix(got, "127.0.0.1 shop.example 127.0.0.1:") {
		t.Errorf("from nobody trusted: %q", got)
	}
	g = run(t, strings.Replace(simple, "[UPSTREAM]", "[UPSTREAM], preserveHost: true", 1)+"trustedProxies: [127.0.0.1]\norigin: {clientIP: true}\n", "[]", headers)
	if got := ask(g); got != "6.6.6.6, 127.0.0.1 outer.example shop.example" {
		t.Errorf("from a trusted proxy: %q", got)
	}
	if origins := g.Engine().Origins("GET:/orders/{id}"); len(origins) != 1 || origins[0] != "6.6.6.6" {
		t.Errorf("origins %q, want 6.6.6.6", origins)
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	g := run(t, simple+"origin: {header: X-App}\n", `[{"resource":"GET:/orders/{id}","count":0,"limitApp":"evil"}]`, echo)
	for app, want := range map[string]int{"evil": 429, "good": 200, "": 200} {
		r := g.request(http.MethodGet, "/orders/1", nil)
		r.Header.Set("X-App", app)
		if response, _ := g.do(r); response.StatusCode != want {
			t.Errorf("origin %q: status %d, want %d", app, response.StatusCode, want)
		}
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	g := run(t, simple, "[]", func(w http.ResponseWriter, r *http.Request) {
		conn, buffer, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = buffer.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: " + r.Header.Get("Upgrade") + "\r\n\r\n")
		_ = buffer.Flush()
		line, _ := buffer.ReadString('\n')
		_, _ = buffer.WriteString("echo " + line)
		_ = buffer.Flush()
	})
	at, _ := url.Parse(g.url)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET /orders/1 HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answer %v, %v", response, err)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if line, _ := in.ReadString('\n'); line != "echo hello\n" {
		t.Errorf("got %q", line)
	}
}

func TestEventsAreFlushed(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	g := run(t, simple, "[]", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-next
	})
	defer close(next)
	response, err := client().Do(g.request(http.MethodGet, "/orders/1", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if line, _ := bufio.NewReader(response.Body).ReadString('\n'); line != "data: 1\n" {
		t.Errorf("got %q before the answer's end", line)
	}
}

func TestRouteTimeout(t *testing.T) {
	t.Parallel()
	g := run(t, "upstreams: [{name: shop, urls: [UPSTREAM], responseTimeout: 50ms}]\nroutes:\n- {pattern: /a, upstream: shop, timeout: 30ms}\n- {pattern: /b, upstream: shop}\n",
		"[]", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	g.expect(http.StatusGatewayTimeout, "/a")
	g.expect(http.StatusGatewayTimeout, "/b")
	if s, _ := g.Engine().ResourceStats("GET:/a"); s.TotalException != 1 || s.Active != 0 {
		t.Errorf("%d failures and %d in flight, want 1 and 0", s.TotalException, s.Active)
	}
}

func TestEngineSettings(t *testing.T) {
	t.Parallel()
	g := run(t, simple+"engine: {app: shop, interval: 200ms, buckets: 4}\n", "[]", echo)
	if got := g.Engine().AppName(); got != "shop" {
		t.Errorf("app name %q", got)
	}
}

// B55: rules about hot parameters find path wildcards and configured arguments.
func TestB55HotParameters(t *testing.T) {
	t.Parallel()
	g := run(t, simple+"args: [query:user]\n", `{"paramFlowRules": [
		{"resource":"GET:/orders/{id}","paramKey":"id","count":1,"durationInSec":60},
		{"resource":"POST:/orders/{id}","paramKey":"query:user","count":1,"durationInSec":60},
		{"resource":"PUT:/orders/{id}","paramIdx":0,"count":1,"durationInSec":60}]}`, echo)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/orders/7", 200},
		{"GET", "/orders/7", 429},
		{"GET", "/orders/8", 200},
		{"POST", "/orders/1?user=a", 200},
		{"POST", "/orders/2?user=a", 429},
		{"POST", "/orders/3?user=b", 200},
		{"POST", "/orders/4", 200},
		{"PUT", "/orders/1?user=a", 200},
		{"PUT", "/orders/2?user=a", 429},
		{"PUT", "/orders/1?user=b", 200},
	} {
		if response, _ := g.do(g.request(c.method, c.path, nil)); response.StatusCode != c.want {
			t.Errorf("%s %s: status %d, want %d", c.method, c.path, response.StatusCode, c.want)
		}
	}
}

// A caller that leaves says nothing about the route.
func TestB45CallerLeaves(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	g := run(t, simple, `[{"resource":"GET:/orders/{id}","grade":1,"count":0.5,"timeWindow":60,"minRequestAmount":1}]`,
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery == "" {
				return
			}
			arrived <- struct{}{}
			<-r.Context().Done()
		})
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			if response, err := client().Do(g.request(http.MethodGet, "/orders/1?hold", nil).WithContext(ctx)); err == nil {
				_ = response.Body.Close()
			}
		}()
		<-arrived
		cancel()
		<-left
	}
	eventually(t, "the left calls are over", 15*time.Second, func() bool {
		s, _ := g.Engine().ResourceStats("GET:/orders/{id}")
		return s.Active == 0 && s.TotalSuccess == 3
	})
	g.expect(http.StatusOK, "/orders/1")
}
