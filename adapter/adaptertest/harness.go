package adaptertest

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// clock is an engine's clock that stands still until it is moved.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(1_700_000_040_000_000_000) // a multiple of a minute
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

func (c *clock) Wait(ctx context.Context, _ time.Duration) error { return ctx.Err() }

func newEngine(t *testing.T, c *clock, options ...tidegate.Option) *tidegate.Engine {
	t.Helper()
	e, err := tidegate.New(append(options, tidegate.WithClock(c))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// load loads rules and fails the test where one is refused.
func load[R any](t *testing.T, set *tidegate.RuleSet[R], rules ...R) {
	t.Helper()
	if _, err := set.Load(rules...); err != nil {
		t.Fatal(err)
	}
}

// client makes requests that are independent of each other and of other tests.
type client struct {
	t    *testing.T
	url  string
	http *http.Client
}

func (a Adapter) start(t *testing.T, s Setup) *client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, url: a.Serve(t, s), http: &http.Client{
		Transport: transport, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is what came back; a status of 0 means that the connection broke.
type answer struct {
	status int
	header http.Header
	body   string
}

func (c *client) do(method, path string, header ...string) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(body)}
}

// expect makes a GET request and compares the status.
func (c *client) expect(status int, path string, header ...string) answer {
	c.t.Helper()
	got := c.do(http.MethodGet, path, header...)
	if got.status != status {
		c.t.Errorf("GET %s: status %d, want %d", path, got.status, status)
	}
	return got
}

// eventually waits for what the server does after its answer.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !condition(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
	}
}

func idle(e *tidegate.Engine, resource string) func() bool {
	return func() bool {
		s, ok := e.ResourceStats(resource)
		return ok && s.Active == 0
	}
}

// spy is a check that remembers the last call.
type spy struct {
	mu      sync.Mutex
	args    []chain.Arg
	inbound bool
}

func (s *spy) Name() string { return "spy" }
func (s *spy) Order() int   { return 0 }

func (s *spy) Check(c *chain.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.args, s.inbound = slices.Clone(c.Args()), c.Inbound
	return nil
}

func (s *spy) arg(name string) (value any, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.args {
		if a.Name() == name {
			return a.Value(), true
		}
	}
	return nil, false
}

func ok(x Exchange) { x.Answer(http.StatusOK, "fine") }
