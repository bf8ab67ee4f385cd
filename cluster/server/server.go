package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/cluster/token"
)

// ErrClosed says that the server was shut down: make a new one.
var ErrClosed = errors.New("token server is closed")

// errNoService says that there is nothing that decides.
var errNoService = errors.New("token server has no token service: make it with server.New")

// A Server answers token clients over the network. Make one with New; all methods are safe for concurrent use, and on a
// nil or zero Server, which serves nothing.
type Server struct {
	settings
	service *token.Service
	pool    sync.Pool // of *batch
	idleFor atomic.Int64
	begun   time.Time
	tick    atomic.Int64 // nanoseconds since begun, as of the last look at the connections
	shed    shedder
	totals  totals
	said    limited

	mu        sync.Mutex
	listeners []*listening       // guarded by mu
	conns     map[*conn]struct{} // guarded by mu
	perIP     map[netip.Addr]int // guarded by mu
	members   map[string]int     // guarded by mu; how many connections have the name
	waiting   ring               // guarded by mu; connections without a whole frame yet, oldest first
	shaking   ring               // guarded by mu; connections within a TLS handshake, oldest first
	state     lifecycle          // guarded by mu
	ended     chan struct{}      // closed when the server stops accepting
	closed    chan struct{}      // closed when the server is closed; ends the housekeeper
	running   sync.WaitGroup     // connections and listeners
	house     sync.WaitGroup     // the housekeeper
}

type lifecycle uint8

const (
	stateNew lifecycle = iota
	stateServing
	stateDraining
	stateClosed
)

// New returns a server that has service decide. It does nothing until Listen or Serve.
func New(service *token.Service, opts ...Option) *Server {
	s := &Server{
		settings: newSettings(opts), service: service, begun: time.Now(),
		conns: map[*conn]struct{}{}, perIP: map[netip.Addr]int{}, members: map[string]int{},
		ended: make(chan struct{}), closed: make(chan struct{}),
	}
	s.idleFor.Store(int64(s.idle))
	s.pool.New = func() any { return newBatch() }
	return s
}

// SetIdle changes what WithIdle set, for the connections there are too.
func (s *Server) SetIdle(d time.Duration) {
	if s != nil {
		s.idleFor.Store(int64(orDefault(d, DefaultIdle)))
	}
}

// Listen opens addr, such as ":18730" or "127.0.0.1:0", serves it in the background and returns the address it got.
// The context is for opening only. It may be called several times, for several addresses; a listener that ends by an
// error of its own is shown in Status. After Shutdown or Close the error is ErrClosed.
func (s *Server) Listen(ctx context.Context, addr string) (net.Addr, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive()}
	ln, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("token server cannot listen on %s: %w", addr, err)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	l, err := s.add(ln)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	go s.accept(l)
	return ln.Addr(), nil
}

// Serve serves a listener until it, or the server, is closed. It always returns an error: ErrClosed after Shutdown,
// Close or StopListening. It closes the listener.
func (s *Server) Serve(ln net.Listener) error {
	if ln == nil {
		return errors.New("token server has no listener to serve")
	}
	if err := s.start(); err != nil {
		return errors.Join(err, ln.Close())
	}
	l, err := s.add(ln)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	s.accept(l)
	return l.failure()
}

// StopListening closes the listener at an address that Listen returned. Its connections stay.
func (s *Server) StopListening(addr net.Addr) error {
	if s == nil || addr == nil {
		return nil
	}
	s.mu.Lock()
	at := slices.IndexFunc(s.listeners, func(l *listening) bool { return l.addr == addr.String() })
	if at < 0 {
		s.mu.Unlock()
		return fmt.Errorf("token server does not listen on %s", addr)
	}
	l := s.listeners[at]
	s.listeners = slices.Delete(s.listeners, at, at+1)
	s.mu.Unlock()
	return l.close(ErrClosed)
}

// start begins the server's housekeeping, once.
func (s *Server) start() error {
	if s == nil || s.service == nil {
		return errNoService
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case stateNew:
		s.state = stateServing
		s.house.Add(1)
		go s.keepHouse()
	case stateServing:
	case stateDraining, stateClosed:
		return ErrClosed
	}
	return nil
}

// add takes a listener in.
func (s *Server) add(ln net.Listener) (*listening, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != stateServing {
		return nil, ErrClosed
	}
	l := &listening{Listener: ln, addr: ln.Addr().String()}
	s.listeners = append(s.listeners, l)
	s.running.Add(1)
	return l, nil
}
