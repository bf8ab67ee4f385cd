package envoyrls_test

import (
	"fmt"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

const benchFile = `
domain: d
descriptors:
  - {key: k, rate_limit: {unit: day, requests_per_unit: 4000000000}}
  - {key: none, rate_limit: {unit: day, requests_per_unit: 0}}
  - key: a
    descriptors:
      - {key: b, value: x*, rate_limit: {unit: hour, requests_per_unit: 4000000000}}
`

func benchRequests() map[string]*rls.RateLimitRequest {
	return map[string]*rls.RateLimitRequest{
		"one":     request("d", "k=v"),
		"refused": request("d", "none=v"),
		"three":   request("d", "k=v", "a=y,b=xyz", "other=z"),
	}
}

// The only allocation of a decision is its answer.
func TestDecisionAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops items under the race detector")
	}
	f := newFixture(t, benchFile)
	for name, req := range benchRequests() {
		if n := testing.AllocsPerRun(1000, func() { f.ask(t, req) }); n > 1 {
			t.Errorf("%s: %v allocations, want 1", name, n)
		}
	}
}

func BenchmarkDecision(b *testing.B) {
	for name, req := range benchRequests() {
		f := newFixture(b, benchFile)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.ask(b, req)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					f.ask(b, req)
				}
			})
		})
	}
}

// Every request has a value of its own, so that counters come and go all the time.
func BenchmarkNewValues(b *testing.B) {
	f := newFixture(b, benchFile)
	reqs := make([]*rls.RateLimitRequest, 400_000)
	for i := range reqs {
		reqs[i] = request("d", fmt.Sprintf("k=%d", i))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		f.ask(b, reqs[i%len(reqs)])
	}
}
