package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// network is what fake clients and servers live in. It checks that nothing that was ended is asked, and nothing is asked
// that does not run.
type network struct {
	mu      sync.Mutex
	log     []string        // guarded by mu
	open    map[string]int  // listeners by address; guarded by mu
	taken   map[string]bool // addresses that cannot be listened at; guarded by mu
	up      map[string]bool // servers that clients reach; guarded by mu
	running int             // clients and servers that have not been closed; guarded by mu
	faults  []string        // guarded by mu
}

func newNetwork() *network {
	return &network{open: map[string]int{}, taken: map[string]bool{}, up: map[string]bool{}}
}

func (n *network) with(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

func (n *network) note(format string, args ...any) {
	n.log = append(n.log, fmt.Sprintf(format, args...))
}

func (n *network) fault(format string, args ...any) {
	n.faults = append(n.faults, fmt.Sprintf(format, args...))
}

// done returns what was noted since the last call.
func (n *network) done() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	log := n.log
	n.log = nil
	return log
}

type fakeClient struct {
	n       *network
	server  string
	started bool
	closed  bool
}

func (n *network) client(_ string, timeout time.Duration) cluster.TokenClient {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running++
	n.note("client %v", timeout)
	return &fakeClient{n: n}
}

func (c *fakeClient) SetServer(addr string) {
	c.n.with(func() { c.server = addr; c.n.note("ask %q", addr) })
}
func (c *fakeClient) Start() { c.n.with(func() { c.started = true }) }
func (c *fakeClient) Close() error {
	c.n.with(func() { c.closed = true; c.n.running--; c.n.note("client closed") })
	return nil
}

func (c *fakeClient) Status() (s client.Status) {
	c.n.with(func() { s = fakeStatus(c) })
	return s
}

func (c *fakeClient) ask() chain.TokenResult {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.closed || !c.started {
		c.n.fault("a client was asked that is closed (%v) or not started (%v)", c.closed, !c.started)
	}
	if c.n.up[c.server] {
		return chain.TokenResult{}
	}
	return chain.TokenResult{Status: chain.TokenFail}
}

func (c *fakeClient) RequestToken(context.Context, int64, int64, bool) chain.TokenResult {
	return c.ask()
}

func (c *fakeClient) RequestParamToken(context.Context, int64, int64, []chain.Arg) chain.TokenResult {
	return c.ask()
}

func (c *fakeClient) AcquireConcurrent(context.Context, int64, int64) chain.TokenResult {
	return c.ask()
}
func (c *fakeClient) ReleaseConcurrent(int64) {}
func (c *fakeClient) Connected() (count int) {
	c.n.with(func() {
		if c.n.up[c.server] {
			count = 7
		}
	})
	return count
}

type fakeServer struct {
	n      *network
	at     []string
	closed bool
}

func (n *network) server(*token.Service) cluster.TokenServer {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.running++
	return &fakeServer{n: n}
}

type addr string

func (a addr) Network() string { return "tcp" }
func (a addr) String() string  { return string(a) }

func (s *fakeServer) Listen(_ context.Context, at string) (a net.Addr, err error) {
	s.n.with(func() {
		switch {
		case s.closed:
			s.n.fault("a closed server listens")
		case s.n.taken[at] || s.n.open[at] > 0:
			s.n.note("cannot listen %s", at)
			err = errors.New("address in use: " + at)
		default:
			s.n.note("listen %s", at)
			s.n.open[at]++
			s.at = append(s.at, at)
		}
	})
	return addr(at), err
}

func (s *fakeServer) StopListening(a net.Addr) error {
	s.n.with(func() {
		s.n.note("stop listening %v", a)
		s.n.open[a.String()]--
		s.at = slices.DeleteFunc(s.at, func(at string) bool { return at == a.String() })
	})
	return nil
}

func (s *fakeServer) SetIdle(time.Duration) {}

func (s *fakeServer) Shutdown(context.Context) error { return s.Close() }

func (s *fakeServer) Close() error {
	s.n.with(func() {
		for _, at := range s.at {
			s.n.open[at]--
		}
		s.at, s.closed = nil, true
		s.n.running--
		s.n.note("server closed")
	})
	return nil
}

// place is a member with its engine in a fake network.
type place struct {
	*cluster.Member
	*network
	engine *tidegate.Engine
	host   *watchedHost
}

// watchedHost is an engine that keeps the token service it was given.
type watchedHost struct {
	*tidegate.Engine
	mu  sync.Mutex
	now chain.TokenService
}

func (h *watchedHost) SetTokenService(s chain.TokenService) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = s
	h.Engine.SetTokenService(s)
}

func (h *watchedHost) service() chain.TokenService {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// ask asks the service in force, as a rule in cluster mode does; nobody answers TokenFail.
func (h *watchedHost) ask(id int64) chain.TokenStatus {
	s := h.service()
	if s == nil {
		return chain.TokenFail
	}
	return s.RequestToken(context.Background(), id, 1, false).Status
}

// inBubble runs a test with a member of identity "me" in a bubble, and checks that nothing is left.
func inBubble(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := tidegate.New(tidegate.WithAppName("app"))
		if err != nil {
			t.Fatal(err)
		}
		n, h := newNetwork(), &watchedHost{Engine: e}
		p := &place{network: n, engine: e, host: h}
		p.Member = cluster.NewMember(h, cluster.WithIdentity("me"), cluster.WithListenHost("h"), cluster.WithBackend(n.client, n.server))
		test(t, p)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		n.with(func() {
			if n.running != 0 || len(n.faults) > 0 {
				t.Errorf("%d ends of connections are left; faults %q", n.running, n.faults)
			}
		})
		if h.service() != nil {
			t.Error("the engine asks a service after Close")
		}
	})
}

// apply puts settings into force and waits until nothing moves any more but by time.
func (p *place) apply(t *testing.T, text string) {
	t.Helper()
	if _, err := p.ApplyDocument([]byte(text)); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	synctest.Wait()
}

// did checks what happened in the network since the last check.
func (p *place) did(t *testing.T, want ...string) {
	t.Helper()
	if got := p.done(); !slices.Equal(got, want) {
		t.Errorf("did %q, want %q", got, want)
	}
}

// is checks what is shown.
func (p *place) is(t *testing.T, mode cluster.Mode, phase cluster.Phase, inForce cluster.Mode) cluster.Status {
	t.Helper()
	s := p.Status()
	if s.Mode != mode || s.Phase != phase || s.InForce != inForce {
		t.Errorf("%v %v (%s), %v in force; want %v %v, %v in force", s.Mode, s.Phase, s.Reason, s.InForce, mode, phase, inForce)
	}
	return s
}

// after lets time pass.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
