package envoyrls_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

const (
	ok   = rls.RateLimitResponse_OK
	over = rls.RateLimitResponse_OVER_LIMIT
)

// noon is a time at which a second, a minute, an hour and half a day have just begun.
const noon = int64(20000*24+12) * int64(time.Hour)

// fixture is a service with a clock of its own and one rule file.
type fixture struct {
	*envoyrls.Service
	time atomic.Int64
	path string
}

func newFixture(t testing.TB, content string, opts ...envoyrls.Option) *fixture {
	t.Helper()
	f := &fixture{path: filepath.Join(t.TempDir(), "rules.yaml")}
	f.time.Store(noon)
	f.Service = envoyrls.New(append([]envoyrls.Option{
		envoyrls.WithClock(f.time.Load), envoyrls.WithInterval(10 * time.Millisecond),
	}, opts...)...)
	write(t, f.path, content)
	if err := f.Load(context.Background(), f.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func (f *fixture) pass(d time.Duration) { f.time.Add(int64(d)) }

// ask asks for one request and expects that it can be decided.
func (f *fixture) ask(t testing.TB, req *rls.RateLimitRequest) *rls.RateLimitResponse {
	t.Helper()
	response, err := f.ShouldRateLimit(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// want asks and expects the overall code.
func (f *fixture) want(t testing.TB, code rls.RateLimitResponse_Code, req *rls.RateLimitRequest) *rls.RateLimitResponse {
	t.Helper()
	response := f.ask(t, req)
	if response.OverallCode != code {
		t.Fatalf("%v: %v, want %v", req, response, code)
	}
	return response
}

// request makes a request; each descriptor is "key=value,key=value".
func request(domain string, descriptors ...string) *rls.RateLimitRequest {
	req := &rls.RateLimitRequest{Domain: domain}
	for _, text := range descriptors {
		d := &common.RateLimitDescriptor{}
		for entry := range strings.SplitSeq(text, ",") {
			key, value, _ := strings.Cut(entry, "=")
			d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: key, Value: value})
		}
		req.Descriptors = append(req.Descriptors, d)
	}
	return req
}

func hits(n uint32, req *rls.RateLimitRequest) *rls.RateLimitRequest {
	req.HitsAddend = n
	return req
}

// write puts a file in place at once.
func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// eventually waits until something holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
