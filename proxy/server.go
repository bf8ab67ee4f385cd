package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/cluster"
)

// Server is a reverse proxy under rules. Make it with New. Its methods are safe for concurrent use.
type Server struct {
	config    *Config
	logger    *slog.Logger
	engine    *tidegate.Engine
	upstreams map[string]*upstream
	handler   http.Handler

	stopping sync.Mutex // held while Stop waits

	mu      sync.Mutex
	state   state           // guarded by mu
	rules   ruleFiles       // guarded by mu until the server is stopped
	member  *cluster.Member // guarded by mu until the server is stopped
	http    *http.Server    // guarded by mu
	address net.Addr        // guarded by mu
	leave   func()          // ends what outlives the server's connections; guarded by mu
	done    chan struct{}
	err     error // read after done is closed
}

type state uint8

const (
	fresh state = iota
	started
	stopped
)

// Option sets one thing of a new server.
type Option func(*options)

type options struct {
	logger *slog.Logger
	engine []tidegate.Option
}

// WithLogger sets where the server logs; the default, and nil, discards.
func WithLogger(logger *slog.Logger) Option {
	return func(o *options) {
		if logger != nil {
			o.logger = logger
		}
	}
}

// WithEngineOptions passes options to the server's engine, after those that the configuration gives.
func WithEngineOptions(list ...tidegate.Option) Option {
	return func(o *options) { o.engine = append(o.engine, list...) }
}

// New makes a server. It listens nowhere yet and starts no goroutine but the engine's own; Stop ends that too. An error
// about the configuration is a *ConfigError.
func New(c *Config, list ...Option) (*Server, error) {
	if c == nil {
		c = &Config{}
	}
	p := &problems{source: c.source}
	c.check(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	o := options{logger: slog.New(slog.DiscardHandler)}
	for _, option := range list {
		if option != nil {
			option(&o)
		}
	}
	s := &Server{config: c, logger: o.logger, upstreams: map[string]*upstream{}, done: make(chan struct{})}
	if err := s.build(o); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

func (s *Server) build(o options) (err error) {
	if s.engine, err = tidegate.New(append(s.config.Engine.options(s.logger), o.engine...)...); err != nil {
		return err
	}
	for i := range s.config.Upstreams {
		c := &s.config.Upstreams[i]
		u, err := newUpstream(c, s.logger)
		if err != nil {
			return fmt.Errorf("upstream %q: %w", c.Name, err)
		}
		s.upstreams[c.Name] = u
	}
	s.handler, err = newHandler(s.config, s.engine, s.upstreams, s.logger)
	return err
}

// options returns the engine's options.
func (e *Engine) options(logger *slog.Logger) []tidegate.Option {
	name := e.App
	if name == "" {
		name = "tidegate"
	}
	interval, buckets := e.window()
	occupy := min(500*time.Millisecond, interval)
	if e.OccupyTimeout != nil {
		occupy = time.Duration(*e.OccupyTimeout)
	}
	return []tidegate.Option{
		tidegate.WithAppName(name), tidegate.WithLogger(logger), tidegate.WithWindow(interval, buckets),
		tidegate.WithOccupyTimeout(occupy), tidegate.WithColdFactor(or(e.ColdFactor, 3)),
	}
}

// release ends what New started.
func (s *Server) release() {
	for _, u := range s.upstreams {
		u.close()
	}
	_ = s.member.Close() // it always returns nil
	_ = s.engine.Close() // it always returns nil
}

// Engine returns the server's engine.
func (s *Server) Engine() *tidegate.Engine { return s.engine }

// Handler returns what the server serves, for a server of one's own. Rule files are in force from Start on only.
func (s *Server) Handler() http.Handler { return s.handler }

// Addr returns the address on which the server listens, nil before Start.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

// Cluster tells the server's place in a cluster; before Start it has none.
func (s *Server) Cluster() cluster.Status {
	s.mu.Lock()
	member := s.member
	s.mu.Unlock()
	return member.Status()
}

// Start puts the rule files into force, takes the server's place in its cluster, waiting at most a second for the token
// server, listens, and returns while requests are served. On error nothing is left
// running but what New started; an error about a rule file is a *ConfigError.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != fresh {
		return errors.New("the server was started before; make another one")
	}
	secure, err := s.config.tlsConfig()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := s.open(ctx)
	if err != nil {
		s.rules.close()
		_ = s.member.Close() // it always returns nil
		s.member = nil
		cancel()
		return err
	}
	s.state, s.address, s.leave = started, listener.Addr(), cancel
	s.http = s.newHTTP(ctx, secure)
	go s.serve(s.http, listener, secure != nil)
	return nil
}

// open puts the rules into force, takes the place in the cluster, and listens. The caller holds mu, and on error ends
// what was started.
func (s *Server) open(ctx context.Context) (listener net.Listener, err error) {
	if s.member, err = s.config.newMember(s.engine, s.logger); err != nil {
		return nil, err
	}
	if err := s.rules.start(ctx, s.config, s.engine, s.member, s.logger); err != nil {
		return nil, err
	}
	if err := s.config.join(s.member); err != nil {
		return nil, err
	}
	if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.config.Listen); err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	return listener, nil
}

func (s *Server) newHTTP(ctx context.Context, secure *tls.Config) *http.Server {
	return &http.Server{
		Handler:           s.handler,
		TLSConfig:         secure,
		ReadHeaderTimeout: time.Duration(or(s.config.Timeouts.ReadHeader, Duration(10*time.Second))),
		IdleTimeout:       time.Duration(or(s.config.Timeouts.Idle, Duration(2*time.Minute))),
		MaxHeaderBytes:    s.config.headerLimit(),
		ErrorLog:          slog.NewLogLogger(s.logger.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
}

func (s *Server) serve(server *http.Server, listener net.Listener, secure bool) {
	defer close(s.done)
	serve := func() error { return server.Serve(listener) }
	if secure {
		serve = func() error { return server.ServeTLS(listener, "", "") }
	}
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		s.err = fmt.Errorf("serving: %w", err)
	}
}

// Done is closed when the server accepts no connections any more: after Stop, or because listening failed, which Err
// tells.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns why listening failed; nil while it goes on, and after Stop.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Stop accepts no more connections, lets the requests in flight end until the context does, at most for the
// configured time, and then cuts off what is left; the error tells so. Afterwards nothing of the server runs.
func (s *Server) Stop(ctx context.Context) error {
	s.stopping.Lock()
	defer s.stopping.Unlock()
	s.mu.Lock()
	before, server, leave := s.state, s.http, s.leave
	s.state = stopped
	s.mu.Unlock()
	if before == stopped {
		return nil
	}
	defer s.release()
	if before == fresh {
		close(s.done)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.shutdown())
	defer cancel()
	err := server.Shutdown(ctx)
	leave() // ends connections that were taken over, and calls that still wait
	if err != nil {
		_ = server.Close() // the connections are cut off, that is all there is to it
		err = fmt.Errorf("requests in flight were cut off: %w", err)
	}
	<-s.done
	s.rules.close()
	return err
}

func (c *Config) tlsConfig() (*tls.Config, error) {
	if c.TLS == nil {
		return nil, nil
	}
	certificate, err := c.certificate()
	if err != nil {
		return nil, err
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	if c.TLS.ClientCA != "" {
		if secure.ClientCAs, err = c.clientCAs(); err != nil {
			return nil, err
		}
		secure.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return secure, nil
}
