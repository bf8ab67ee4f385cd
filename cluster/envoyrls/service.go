package envoyrls

import (
	"context"
	"sync"
	"sync/atomic"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Service decides the requests of Envoy's rate limit service, version 3, by rule files. Its methods may be called from
// any goroutine. Make one with New, give it rules with Load, and serve it with a Server or, beside other services,
// with Register. The zero Service has no rules and answers OK.
type Service struct {
	settings
	table     *table
	decisions sync.Pool
	rules     atomic.Pointer[map[string]*domain] // by name; never changed once stored

	requests, refused, invalid atomic.Uint64

	mu      sync.Mutex
	library *library          // whose rules are in force; guarded by mu
	tallies map[string]*tally // by the rules' ids; guarded by mu
	closed  bool              // guarded by mu
}

// New makes a service without rules.
func New(opts ...Option) *Service {
	s := &Service{settings: defaults()}
	for _, opt := range opts {
		if opt != nil {
			opt(&s.settings)
		}
	}
	s.table = newTable(s.maxCounters)
	return s
}

// ShouldRateLimit decides one request. Every descriptor is decided by the most specific rule of the request's domain,
// or by the limit that it brings; one without a rule is OK. If the limit of any is exceeded, the answer's overall code
// is OVER_LIMIT and nothing is counted for any of them, unless WithCountRefused says otherwise. A request without a
// domain, descriptors or entries, or with too many, is an error with code InvalidArgument.
//
// The answer shares its current limits with other answers: do not change it.
func (s *Service) ShouldRateLimit(_ context.Context, req *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	if s == nil {
		return nil, status.Error(codes.Unavailable, "there is no rate limit service")
	}
	s.requests.Add(1)
	if err := s.check(req); err != nil {
		s.invalid.Add(1)
		return nil, err
	}
	var rules map[string]*domain
	if in := s.rules.Load(); in != nil {
		rules = *in
	}
	d, ok := s.decisions.Get().(*decision)
	if !ok {
		d = &decision{}
	}
	s.decide(s.now(), rules, req, d)
	if d.refused {
		s.refused.Add(1)
	}
	response := d.answer()
	clear(d.items) // they lead to rules and counters that may go
	s.decisions.Put(d)
	return response, nil
}

// Register registers the service, beside others, with a gRPC server. It does not register a health service.
func (s *Service) Register(with grpc.ServiceRegistrar) {
	rls.RegisterRateLimitServiceServer(with, &handler{service: s})
}

// handler is the service as gRPC calls it.
type handler struct {
	rls.UnimplementedRateLimitServiceServer
	service *Service
}

// ShouldRateLimit is Service.ShouldRateLimit.
func (h *handler) ShouldRateLimit(ctx context.Context, req *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	return h.service.ShouldRateLimit(ctx, req)
}
