package envoyrls

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

// ErrServerClosed is returned by Serve and Listen after Shutdown or Close.
var ErrServerClosed = errors.New("rate limit server is closed; make a new one")

// Bounds of a server, so that no client can take more than its share.
const (
	maxMessage  = 256 << 10 // bytes of a request
	maxHeaders  = 16 << 10  // bytes
	maxStreams  = 1024      // requests at a time on one connection
	handshake   = 10 * time.Second
	pingAfter   = time.Minute // without traffic
	pingTimeout = 20 * time.Second
	minPing     = 10 * time.Second // between two pings of a client
	maxAgeGrace = 30 * time.Second
)

// A Server serves a Service over gRPC, with the standard health service beside it. Its methods may be called from any
// goroutine. Make one with NewServer.
type Server struct {
	grpc   *grpc.Server
	health *health.Server

	mu      sync.Mutex
	closed  bool           // guarded by mu
	serving sync.WaitGroup // of Listen; added to under mu
	failure error          // of a Listen; guarded by mu
}

// NewServer makes a server of a service.
func NewServer(service *Service, opts ...ServerOption) *Server {
	var settings serverSettings
	for _, opt := range opts {
		if opt != nil {
			opt(&settings)
		}
	}
	s := &Server{grpc: grpc.NewServer(settings.grpc()...), health: health.NewServer()}
	service.Register(s.grpc)
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus(rls.RateLimitService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	return s
}

// grpc returns the settings as gRPC has them.
func (s *serverSettings) grpc() []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxHeaderListSize(maxHeaders), grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshake),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: pingAfter, Timeout: pingTimeout, MaxConnectionAge: s.maxAge, MaxConnectionAgeGrace: maxAgeGrace,
		}),
	}
	if s.tls != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.tls)))
	}
	return opts
}

// Listen listens on a TCP address such as "127.0.0.1:8081" and serves there in the background. It returns the address,
// which has the port where that was 0.
func (s *Server) Listen(ctx context.Context, addr string) (net.Addr, error) {
	if s == nil || s.grpc == nil {
		return nil, ErrServerClosed
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("rate limit server: listening on %s: %w", addr, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.Join(ErrServerClosed, listener.Close())
	}
	s.serving.Go(func() {
		if err := s.Serve(listener); !errors.Is(err, ErrServerClosed) {
			s.mu.Lock()
			s.failure = err
			s.mu.Unlock()
		}
	})
	return listener.Addr(), nil
}

// Serve serves connections of a listener until Shutdown or Close, which make it return ErrServerClosed, or until the
// listener fails. It closes the listener.
func (s *Server) Serve(listener net.Listener) error {
	if s == nil || s.grpc == nil {
		return errors.Join(ErrServerClosed, listener.Close())
	}
	if err := s.grpc.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("rate limit server: %w", err)
	}
	return ErrServerClosed
}

// Shutdown stops gracefully: health turns to not serving, no connection is taken any more, and requests in flight are
// answered. When ctx is done, what is left is cut off and the context's error returned. Otherwise it returns the error
// of a listener of Listen that failed before, if any.
func (s *Server) Shutdown(ctx context.Context) error {
	if !s.close() {
		return nil
	}
	s.health.Shutdown()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.grpc.GracefulStop()
	}()
	var err error
	select {
	case <-stopped:
	case <-ctx.Done():
		err = ctx.Err()
		s.grpc.Stop()
		<-stopped
	}
	return errors.Join(err, s.wait())
}

// Close stops at once.
func (s *Server) Close() error {
	if !s.close() {
		return nil
	}
	s.health.Shutdown()
	s.grpc.Stop()
	return s.wait()
}

// close notes that the server is closed; false if there is none.
func (s *Server) close() bool {
	if s == nil || s.grpc == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return true
}

func (s *Server) wait() error {
	s.serving.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}
