package envoyrls_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

// serve starts a server of the fixture and connects to it.
func (f *fixture) serve(t *testing.T, creds credentials.TransportCredentials, opts ...envoyrls.ServerOption) (*envoyrls.Server, *grpc.ClientConn) {
	t.Helper()
	server := envoyrls.NewServer(f.Service, opts...)
	addr, err := server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(addr.String(), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	return server, conn
}

func TestServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nestedFile)
	server, conn := f.serve(t, insecure.NewCredentials())
	client := rls.NewRateLimitServiceClient(conn)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	got, err := client.ShouldRateLimit(ctx, hits(2, request("shop", "path=/api/x", "path=/api/x,user=u", "none=x")))
	if err != nil || got.OverallCode != ok || len(got.Statuses) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	if s := got.Statuses[0]; s.LimitRemaining != 1 || s.CurrentLimit.Unit != rls.RateLimitResponse_RateLimit_MINUTE ||
		s.CurrentLimit.RequestsPerUnit != 3 || s.CurrentLimit.Name != "api" || s.DurationUntilReset.AsDuration() != time.Minute {
		t.Errorf("status: %v", s)
	}
	five := request("shop", "path=/api/x", "banned=a", "banned=b", "banned=c", "banned=d")
	if got, err := client.ShouldRateLimit(ctx, five); err != nil || got.OverallCode != over || len(got.Statuses) != 5 {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []*rls.RateLimitRequest{
		{},
		request("shop"), request("", "a=b"), request("shop", "=b"),
		{Domain: "shop", Descriptors: []*common.RateLimitDescriptor{{}}},
		request("shop", make([]string, 65)...),
	} {
		if _, err := client.ShouldRateLimit(ctx, bad); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", bad, err)
		}
	}
	huge := request("shop", "path="+string(make([]byte, 300<<10)))
	if _, err := client.ShouldRateLimit(ctx, huge); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a huge request: %v", err)
	}
	health := healthpb.NewHealthClient(conn)
	for _, service := range []string{"", "envoy.service.ratelimit.v3.RateLimitService"} {
		if got, err := health.Check(ctx, &healthpb.HealthCheckRequest{Service: service}); err != nil ||
			got.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, got, err)
		}
	}
	if err := server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if _, err := client.ShouldRateLimit(ctx, five); status.Code(err) != codes.Unavailable {
		t.Errorf("after Shutdown: %v", err)
	}
	if _, err := server.Listen(ctx, "127.0.0.1:0"); !errors.Is(err, envoyrls.ErrServerClosed) {
		t.Errorf("Listen after Shutdown: %v", err)
	}
}

func TestServerExact(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{domain: d, descriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 10}}]}`)
	_, conn := f.serve(t, insecure.NewCredentials())
	var admitted, failed atomic.Int32
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			got, err := rls.NewRateLimitServiceClient(conn).ShouldRateLimit(context.Background(), request("d", "k=v"))
			if err != nil {
				failed.Add(1)
			} else if got.OverallCode == ok {
				admitted.Add(1)
			}
		})
	}
	callers.Wait()
	if admitted.Load() != 10 || failed.Load() != 0 {
		t.Errorf("64 callers on a limit of 10: %d admitted, %d failed", admitted.Load(), failed.Load())
	}
}

func TestServerTLS(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nestedFile)
	certificate, roots := selfSigned(t)
	_, conn := f.serve(t, credentials.NewTLS(&tls.Config{RootCAs: roots}),
		envoyrls.WithTLS(&tls.Config{Certificates: []tls.Certificate{certificate}}), envoyrls.WithMaxConnectionAge(time.Hour))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if got, err := rls.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, request("shop", "path=x")); err != nil {
		t.Errorf("%v, %v", got, err)
	}
	plain, err := grpc.NewClient(conn.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	if _, err := rls.NewRateLimitServiceClient(plain).ShouldRateLimit(ctx, request("shop", "path=x")); err == nil {
		t.Error("a server with TLS served plaintext")
	}
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

// The service can stand beside others.
func TestRegister(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nestedFile)
	server := grpc.NewServer()
	f.Register(server)
	if _, ok := server.GetServiceInfo()["envoy.service.ratelimit.v3.RateLimitService"]; !ok {
		t.Errorf("registered: %v", server.GetServiceInfo())
	}
}

func TestListenFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nestedFile)
	server, conn := f.serve(t, insecure.NewCredentials())
	if _, err := server.Listen(t.Context(), conn.Target()); err == nil {
		t.Error("no error for an address in use")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sentinelFile)
	f.ask(t, request("foo", "destination_cluster=service_httpbin"))
	f.want(t, over, hits(5, request("foo", "destination_cluster=service_httpbin")))
	s := f.Status()
	r := s.Domains[0].Rules[0]
	if s.Requests != 2 || s.OverLimit != 1 || s.Domains[0].Domain != "foo" || s.Domains[0].Format != "sentinel" ||
		r.Rule != "foo.destination_cluster_service_httpbin" || r.FlowID == nil || *r.FlowID != 3027203211 ||
		r.Identifier != "foo|destination_cluster|service_httpbin" || r.Unit != "second" || r.Line != 4 || r.TotalHits != 6 ||
		r.WithinLimit != 1 || r.OverLimit != 5 || s.Files[0].Path != f.path || s.Files[0].Domain != "foo" {
		t.Errorf("status: %+v", s)
	}
	if _, err := json.Marshal(s); err != nil {
		t.Error(err)
	}
	if r := newFixture(t, nestedFile).Status().Domains[0].Rules[0]; r.FlowID != nil || r.Identifier != "" {
		t.Errorf("a rule for many values has no flow id: %+v", r)
	}
}

func TestNothing(t *testing.T) {
	t.Parallel()
	var none *envoyrls.Service
	if _, err := none.ShouldRateLimit(t.Context(), request("d", "k=v")); status.Code(err) != codes.Unavailable {
		t.Errorf("nil service: %v", err)
	}
	_, _, _ = none.Status(), none.Close(), none.Load(t.Context(), "x")
	var zero envoyrls.Service
	if got, err := zero.ShouldRateLimit(t.Context(), request("d", "k=v")); err != nil || got.OverallCode != ok {
		t.Errorf("zero service: %v, %v", got, err)
	}
	if err := zero.Load(t.Context(), "x"); err == nil {
		t.Error("zero service: Load should fail")
	}
	_, _ = zero.Status(), zero.Close()
	for _, server := range []*envoyrls.Server{nil, {}} {
		if _, err := server.Listen(t.Context(), "127.0.0.1:0"); !errors.Is(err, envoyrls.ErrServerClosed) {
			t.Errorf("no server: %v", err)
		}
		if err := errors.Join(server.Shutdown(t.Context()), server.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := envoyrls.New(nil).ShouldRateLimit(t.Context(), nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("nil request: %v", err)
	}
}
