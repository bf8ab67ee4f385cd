package standalone_test

import (
	"context"
	"net"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/tidegate-go/tidegate/cluster/standalone"
)

func dialRLS(t *testing.T, s *standalone.Server) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(s.RLSAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// limited asks the rate limit service about the descriptor k=v of domain d.
func limited(t *testing.T, s *standalone.Server) bool {
	t.Helper()
	answer, err := ratelimit.NewRateLimitServiceClient(dialRLS(t, s)).ShouldRateLimit(t.Context(), &ratelimit.RateLimitRequest{
		Domain:      "d",
		Descriptors: []*common.RateLimitDescriptor{{Entries: []*common.RateLimitDescriptor_Entry{{Key: "k", Value: "v"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetOverallCode() == ratelimit.RateLimitResponse_OVER_LIMIT
}

const oncePerDay = "domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1}}]\n"

// What the rate limit service has counted stays when its port, a certificate or a secret changes.
func TestRLSCountersStay(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	secret := p.write("secret", "the first secret of them")
	c := standalone.Config{
		Listen: "127.0.0.1:0", SecretFile: secret, RLSListen: "127.0.0.1:0", RLSRules: standalone.Bindings{p.write("rls.yaml", oncePerDay)},
	}
	s := start(t, c)
	if limited(t, s) || !limited(t, s) {
		t.Fatal("not one request is let in")
	}
	p.write("secret", "the second secret of them")
	eventually(t, "the secret is renewed", func() bool { return s.Status().Config.Reloads > 0 })
	if !limited(t, s) {
		t.Error("a renewed secret starts the day anew")
	}
	c.RLSListen = freeAddr(t)
	reload(t, s, c)
	if !limited(t, s) {
		t.Error("another port starts the day anew")
	}
}

// The rate limit service comes back from a refused configuration also when its rule file has turned bad meanwhile.
func TestRLSComesBackWithItsLastGoodRules(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := standalone.Config{
		Listen: "127.0.0.1:0", Insecure: true, Admin: "127.0.0.1:0", RLSListen: "127.0.0.1:0",
		RLSRules: standalone.Bindings{p.write("rls.yaml", oncePerDay)},
	}
	s := start(t, c)
	limited(t, s)
	p.write("rls.yaml", "domain: [\n")
	eventually(t, "the bad file is seen", func() bool { return s.Status().RLS.Files[0].Error != "" })
	taken, err := net.Listen("tcp", on("127.0.0.2", s.AdminAddr()))
	if err != nil {
		t.Skip("this machine has one loopback address only")
	}
	defer taken.Close()
	wrong := c
	wrong.RLSRules = standalone.Bindings{p.write("other.yaml", "domain: other\ndescriptors: [{key: k}]\n")}
	wrong.RLSListen, wrong.Admin = on("0.0.0.0", s.RLSAddr()), on("0.0.0.0", s.AdminAddr())
	refused(t, s, wrong)
	if s.RLSAddr() == nil || !limited(t, s) {
		t.Error("the rules before are not in force")
	}
}

// Stop cuts a client of the rate limit service off that never ends, and keeps to its context.
func TestStopWithAWatchingClient(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := standalone.Config{Listen: "127.0.0.1:0", RLSListen: "127.0.0.1:0", RLSRules: standalone.Bindings{p.write("rls.yaml", oncePerDay)}}
	s := start(t, c)
	watch, err := grpc_health_v1.NewHealthClient(dialRLS(t, s)).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
