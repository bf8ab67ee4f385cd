package cluster_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// memory is a network within the process, for real clients and servers in a bubble.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener // guarded by mu
}

type memoryListener struct {
	at     string
	net    *memory
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		delete(l.net.listeners, l.at)
	})
	return nil
}

func (l *memoryListener) Addr() net.Addr { return addr(l.at) }

func (m *memory) dial(ctx context.Context, at string) (net.Conn, error) {
	m.mu.Lock()
	l := m.listeners[at]
	m.mu.Unlock()
	if l == nil {
		return nil, errors.New("connection refused: " + at)
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
	case <-ctx.Done():
	}
	return nil, errors.Join(errors.New("connection refused: "+at), near.Close(), far.Close())
}

// memoryServer is a token server that listens in memory.
type memoryServer struct {
	*server.Server
	net *memory
}

func (s memoryServer) Listen(_ context.Context, at string) (net.Addr, error) {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	if s.net.listeners[at] != nil {
		return nil, errors.New("address in use: " + at)
	}
	l := &memoryListener{at: at, net: s.net, conns: make(chan net.Conn), closed: make(chan struct{})}
	s.net.listeners[at] = l
	go func() { _ = s.Serve(l) }()
	return l.Addr(), nil
}

func (m *memory) client(namespace string, timeout time.Duration) cluster.TokenClient {
	return client.New(client.WithNamespace(namespace), client.WithTimeout(timeout), client.WithDialer(m.dial))
}

func (m *memory) server(s *token.Service) cluster.TokenServer {
	return memoryServer{server.New(s), m}
}

// Machines that change their roles leave nothing behind, and while nothing changes every call is decided by a server.
func TestRealEndsInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{listeners: map[string]*memoryListener{}}
		places := map[string]*place{}
		for _, name := range []string{"a", "b", "c"} {
			e, err := tidegate.New(tidegate.WithAppName("app"))
			if err != nil {
				t.Fatal(err)
			}
			h := &watchedHost{Engine: e}
			p := &place{engine: e, host: h}
			p.Member = cluster.NewMember(h, cluster.WithIdentity(name), cluster.WithListenHost("h"), cluster.WithBackend(m.client, m.server))
			load(t, p, 1)
			places[name] = p
		}
		const under = `{"map":[{"machineId":"SERVER","ip":"h","port":PORT,"clientSet":["a","b","c"]}]}`
		for round, server := range []string{"a", "b", "a", "c", "b"} {
			for _, p := range places {
				p.apply(t, strings.NewReplacer("SERVER", server, "PORT", string(rune('1'+round%2))).Replace(under))
			}
			after(10 * time.Second)
			for name, p := range places {
				mode := cluster.ModeClient
				if name == server {
					mode = cluster.ModeServer
				}
				p.is(t, mode, cluster.PhaseRunning, mode)
				if got := p.host.ask(1); got != chain.TokenOK {
					t.Errorf("round %d: %s is told %v", round, name, got)
				}
			}
			if n := places[server].host.service().Connected(); n != 3 {
				t.Errorf("round %d: %d connected", round, n)
			}
		}
		for _, p := range places {
			if err := errors.Join(p.Close(), p.engine.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}
