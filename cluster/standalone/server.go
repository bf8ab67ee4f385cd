package standalone

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// drainTime is how long what a reload takes out of service may take to end.
const drainTime = 10 * time.Second

// Option is a setting of a Server that is no part of its configuration.
type Option func(*Server)

// WithLogger gives the server a logger; nil or none: it does not log.
func WithLogger(l *slog.Logger) Option {
	return func(s *Server) {
		if l != nil {
			s.logger = l
		}
	}
}

// WithListening makes the server tell the address that token clients connect to, whenever it becomes another.
func WithListening(tell func(net.Addr)) Option { return func(s *Server) { s.listening = tell } }

// Server is a token server with its files and its admin address. Make one with New. Safe for concurrent use.
type Server struct {
	logger    *slog.Logger
	listening func(net.Addr) // nil: nobody wants to know
	began     time.Time
	ending    chan struct{} // closed by Stop
	stopping  sync.Once

	mu      sync.Mutex // held while a configuration is put into force
	parts   parts      // guarded by mu
	started bool       // guarded by mu
	reloads reloads    // guarded by mu
	cut     cut        // guarded by mu
	unwatch func()     // ends the looks at certificates and secret; nil: there are none; guarded by mu
}

// reloads is what became of the configurations after the first.
type reloads struct {
	taken, refused int64
	lastError      string
	lastErrorTime  time.Time
	byFiles        bool // lastError is about certificates or the secret of the configuration in force
}

// New returns a server that serves nothing yet. What is wrong with the configuration is a *ConfigError.
func New(c Config, opts ...Option) (*Server, error) {
	s := &Server{logger: slog.New(slog.DiscardHandler), began: time.Now(), ending: make(chan struct{})}
	for _, o := range opts {
		o(s)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	s.parts.config = c
	return s, nil
}

// Start reads the files and serves. Rule files, certificates, keys and the secret are followed from then on. A bad file is a *ConfigError; any other error says what could not be opened. After
// an error nothing is left running.
func (s *Server) Start(ctx context.Context) error {
	if s == nil {
		return errNoServer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped():
		return errors.New("the token server has been stopped; make a new one to serve again")
	case s.started:
		return errors.New("the token server is started already")
	}
	next, err := s.build(ctx, parts{}, s.parts.config)
	if err != nil {
		return err
	}
	s.started = true
	s.take(next)
	watching, end := context.WithCancel(context.WithoutCancel(ctx))
	var looks sync.WaitGroup
	looks.Go(func() { s.watch(watching) })
	s.unwatch = func() { end(); looks.Wait() }
	return nil
}

// take goes on with the parts. The caller holds mu.
func (s *Server) take(next parts) {
	moved := s.parts.addr == nil || s.parts.addr.String() != next.addr.String()
	s.parts, s.cut = next, cut{}
	if moved && s.listening != nil {
		s.listening(next.addr)
	}
}

var errNoServer = errors.New("this standalone.Server was not made; make one with New")

// Reload puts another configuration into force: what is the same goes on undisturbed, a new address is opened before
// the old one is closed. On error everything is as it was.
func (s *Server) Reload(ctx context.Context, c Config) error {
	if s == nil {
		return errNoServer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped() || !s.started {
		return errors.New("the token server does not run")
	}
	next, err := s.reload(ctx, c)
	if err != nil {
		s.note(err)
		return err
	}
	s.take(next)
	s.reloads.taken++
	s.reloads.lastError, s.reloads.byFiles = "", false
	s.logger.Info("configuration in force", "listen", next.addr.String())
	return nil
}

func (s *Server) reload(ctx context.Context, c Config) (parts, error) {
	if err := c.check(); err != nil {
		return parts{}, err
	}
	return s.build(ctx, s.parts, c)
}

// note keeps what was wrong with a configuration. The caller holds mu.
func (s *Server) note(err error) {
	if err.Error() != s.reloads.lastError { // else it was told, and it is tried again and again
		s.logger.Error("configuration refused; the one before stays in force", "error", err)
	}
	s.reloads.refused++
	s.reloads.lastError, s.reloads.lastErrorTime, s.reloads.byFiles = err.Error(), time.Now(), false
}

// refused is told of a configuration that could not be read.
func (s *Server) refused(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(err)
}

// Addr returns the address that token clients connect to, nil before Start.
func (s *Server) Addr() net.Addr {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts.addr
}

// AdminAddr returns the address of /status and /metrics, nil without.
func (s *Server) AdminAddr() net.Addr {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts.adminAddr()
}

// RLSAddr returns the address of the Envoy rate limit service, nil without.
func (s *Server) RLSAddr() net.Addr {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts.rlsAddr()
}

func (s *Server) stopped() bool {
	select {
	case <-s.ending:
		return true
	default:
		return false
	}
}

// Stop answers the requests in flight and ends; what is not done when ctx ends is cut off. It may be called again.
func (s *Server) Stop(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.stopping.Do(func() {
		if s.ending != nil {
			close(s.ending) // a reload that waits for connections goes on at once
		}
	})
	s.mu.Lock()
	unwatch := s.unwatch
	s.unwatch = nil
	s.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.parts
	s.parts = parts{config: old.config}
	return old.close(ctx)
}
