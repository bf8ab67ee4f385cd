package envoyrls_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	types "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

const sentinelFile = `
domain: foo
descriptors:
  - resources:
    - key: "destination_cluster"
      value: "service_httpbin"
    count: 2
  - resources: [{key: a, value: b}, {key: c, value: d}]
    count: 1.9
`

func TestSentinelFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sentinelFile)
	req := request("foo", "destination_cluster=service_httpbin")
	got := f.want(t, ok, req).Statuses[0]
	if got.LimitRemaining != 1 || got.CurrentLimit.RequestsPerUnit != 2 ||
		got.CurrentLimit.Unit != rls.RateLimitResponse_RateLimit_SECOND || got.DurationUntilReset.AsDuration() != time.Second {
		t.Errorf("first: %v", got)
	}
	f.want(t, ok, req)
	if got := f.want(t, over, req).Statuses[0]; got.Code != over || got.LimitRemaining != 0 {
		t.Errorf("third: %v", got)
	}
	f.pass(time.Second)
	f.want(t, ok, req)

	f.want(t, ok, request("foo", "a=b,c=d"))
	f.want(t, over, request("foo", "a=b,c=d")) // 1.9 admits whole hits
	for _, other := range []*rls.RateLimitRequest{
		request("foo", "c=d,a=b"), request("foo", "a=b"), request("foo", "a=b,c=d,e=f"), request("bar", "a=b,c=d"),
	} {
		if got := f.want(t, ok, other).Statuses[0]; got.CurrentLimit != nil || got.DurationUntilReset != nil {
			t.Errorf("%v without a rule: %v", other, got)
		}
	}
}

func TestUnits(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for unit, length := range map[string]time.Duration{
		"second": time.Second, "MINUTE": time.Minute, "Hour": time.Hour, "day": day, "week": 7 * day, "month": 30 * day,
		"year": 365 * day,
	} {
		f := newFixture(t, fmt.Sprintf(
			"domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: %s, requests_per_unit: 1}}\n", unit))
		f.time.Store(int64(50*length) + int64(length)/4)
		left := f.want(t, ok, request("d", "k=v")).Statuses[0].DurationUntilReset.AsDuration()
		if want := (length - length/4).Truncate(time.Second); left < want || left > want+time.Second {
			t.Errorf("%s: resets in %v, want %v", unit, left, want)
		}
		f.pass(length - length/4 - 1)
		f.want(t, over, request("d", "k=v"))
		f.pass(1)
		f.want(t, ok, request("d", "k=v"))
	}
}

func TestUnitMultiplier(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{domain: d, descriptors: [
		{key: k, rate_limit: {unit: second, unit_multiplier: 30, requests_per_unit: 1}}]}`)
	if got := f.want(t, ok, request("d", "k=v")).Statuses[0].CurrentLimit; got.UnitMultiplier.GetValue() != 30 {
		t.Errorf("limit: %v", got)
	}
	f.pass(29 * time.Second)
	f.want(t, over, request("d", "k=v"))
	f.pass(time.Second)
	f.want(t, ok, request("d", "k=v"))
}

const nestedFile = `
domain: shop
descriptors:
  - key: path
    value: /api/*
    rate_limit: {unit: minute, requests_per_unit: 3, name: api}
    descriptors:
      - key: user
        rate_limit: {unit: minute, requests_per_unit: 2, name: user}
      - key: user
        value: root
        rate_limit: {unlimited: true}
  - key: path
    value: /api/admin/*
    share_threshold: true
    rate_limit: {unit: minute, requests_per_unit: 1, name: admin}
  - key: path
    value: /api/admin/open
    rate_limit: {unit: minute, requests_per_unit: 9, name: open}
  - key: path
    rate_limit: {unit: minute, requests_per_unit: 7, name: path}
  - key: only
  - {key: banned, rate_limit: {unit: day, requests_per_unit: 0}}
`

func TestMatching(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nestedFile)
	for descriptor, name := range map[string]string{
		"path=/api/x": "api", "path=/api/": "api", "path=/api/admin/x": "admin", "path=/api/admin/open": "open",
		"path=/api": "path", "path=": "path", "path=/api/x,user=u": "user",
		"path=/other,user=u": "", "user=u": "", "user=u,path=/api/x": "", "path=/api/x,user=u,more=m": "", "only=x": "",
		"path=/api/admin/x,user=u": "", // the most specific descriptor is taken, without going back
	} {
		got := f.want(t, ok, request("shop", descriptor)).Statuses[0].CurrentLimit.GetName()
		if got != name {
			t.Errorf("%s: limit %q, want %q", descriptor, got, name)
		}
	}
	f.want(t, over, request("shop", "banned=x"))
	got := f.want(t, ok, hits(1000, request("shop", "path=/api/x,user=root"))).Statuses[0]
	if got.LimitRemaining != math.MaxUint32 || got.CurrentLimit != nil {
		t.Errorf("unlimited: %v", got)
	}
}

func TestCounterPerValue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nestedFile)
	for _, value := range []string{"a", "b"} {
		f.want(t, ok, hits(3, request("shop", "path=/api/"+value)))
		f.want(t, over, request("shop", "path=/api/"+value))
		f.want(t, ok, hits(2, request("shop", "path=/api/x,user="+value)))
		f.want(t, over, request("shop", "path=/api/x,user="+value))
	}
	f.want(t, ok, request("shop", "path=/api/admin/a"))
	f.want(t, over, request("shop", "path=/api/admin/b")) // one counter for all
}

func TestKeysDoNotCollide(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 1}, descriptors: [{key: b, rate_limit: {unit: day, requests_per_unit: 1}}]}
`)
	long := string(make([]byte, 500))
	for _, descriptor := range []string{
		"a=x", "a=x|b|y", "a=x,b=y", "a=x|,b=y", "a=x,b=|y", "a=Aa", "a=BB", "a=" + long + "1", "a=" + long + "2",
	} {
		f.want(t, ok, request("d", descriptor))
		f.want(t, over, request("d", descriptor))
	}
}

func TestShadowAndQuotaMode(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
domain: d
descriptors:
  - {key: shadow, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: quota, quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: hard, rate_limit: {unit: day, requests_per_unit: 3}}
`)
	req := request("d", "shadow=x", "quota=x", "hard=x")
	f.want(t, ok, req)
	got := f.want(t, ok, req)
	if got.Statuses[0].Code != ok || got.Statuses[0].LimitRemaining != 0 || got.Statuses[1].Code != over {
		t.Errorf("second: %v", got)
	}
	f.want(t, ok, req)
	f.want(t, over, req)
	rules := f.Status().Domains[0].Rules
	if s := rules[0]; s.TotalHits != 4 || s.WithinLimit != 1 || s.OverLimit != 3 || s.HitCounts.ShadowMode != 3 {
		t.Errorf("shadow: %+v", s)
	}
	if s := rules[2]; s.TotalHits != 4 || s.WithinLimit != 3 || s.NearLimit != 1 || s.OverLimit != 1 {
		t.Errorf("hard: %+v", s)
	}
}

func TestHits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{domain: d, descriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 10}}]}`)
	own := func(n uint64, back bool) *rls.RateLimitRequest {
		req := hits(99, request("d", "k=v"))
		req.Descriptors[0].HitsAddend, req.Descriptors[0].IsNegativeHits = wrapperspb.UInt64(n), back
		return req
	}
	left := func(want uint32, response *rls.RateLimitResponse) {
		t.Helper()
		if got := response.Statuses[0].LimitRemaining; got != want {
			t.Errorf("remaining %d, want %d", got, want)
		}
	}
	left(9, f.want(t, ok, hits(0, request("d", "k=v"))))
	left(5, f.want(t, ok, hits(4, request("d", "k=v"))))
	left(0, f.want(t, over, hits(6, request("d", "k=v"))))
	f.want(t, over, hits(math.MaxUint32, request("d", "k=v")))
	f.want(t, over, own(math.MaxUint64, false))
	left(5, f.want(t, ok, own(0, false)))
	left(0, f.want(t, ok, own(5, false)))
	f.want(t, over, own(0, false))
	left(3, f.want(t, ok, own(3, true)))
	left(10, f.want(t, ok, own(math.MaxUint64, true)))
}

func TestNoPartialCharge(t *testing.T) {
	t.Parallel()
	const file = `{domain: d, descriptors: [
		{key: wide, rate_limit: {unit: day, requests_per_unit: 5}},
		{key: narrow, rate_limit: {unit: day, requests_per_unit: 1}}]}`
	f := newFixture(t, file)
	both := request("d", "wide=x", "narrow=x", "other=x", "wide=y", "narrow=y")
	f.want(t, ok, both)
	got := f.want(t, over, both).Statuses
	if got[0].Code != ok || got[0].LimitRemaining != 4 || got[1].Code != over || got[2].CurrentLimit != nil {
		t.Errorf("refused: %v", got)
	}
	f.want(t, ok, hits(4, request("d", "wide=x")))
	f.want(t, over, request("d", "wide=x"))
	f.want(t, over, hits(3, request("d", "wide=z", "wide=z"))) // counts twice, so 6
	f.want(t, ok, hits(2, request("d", "wide=z", "wide=z")))

	f = newFixture(t, file, envoyrls.WithCountRefused())
	f.want(t, ok, both)
	f.want(t, over, both)
	f.want(t, over, hits(4, request("d", "wide=x")))
	f.want(t, over, request("d", "wide=x"))
}

func TestOverride(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sentinelFile)
	override := func(n uint32, unit types.RateLimitUnit, multiplier *wrapperspb.UInt32Value) *rls.RateLimitRequest {
		req := request("foo", "destination_cluster=service_httpbin")
		req.Descriptors[0].Limit = &common.RateLimitDescriptor_RateLimitOverride{
			RequestsPerUnit: n, Unit: unit, UnitMultiplier: multiplier,
		}
		return req
	}
	got := f.want(t, ok, override(4, types.RateLimitUnit_HOUR, nil)).Statuses[0]
	if got.LimitRemaining != 3 || got.CurrentLimit.RequestsPerUnit != 4 || got.DurationUntilReset.AsDuration() != time.Hour {
		t.Errorf("override: %v", got)
	}
	f.want(t, ok, hits(3, override(4, types.RateLimitUnit_HOUR, nil)))
	f.want(t, over, override(4, types.RateLimitUnit_HOUR, nil))
	f.want(t, ok, override(5, types.RateLimitUnit_HOUR, nil)) // the same counter against another limit
	f.want(t, ok, override(1, types.RateLimitUnit_HOUR, wrapperspb.UInt32(2)))
	f.want(t, ok, hits(2, request("foo", "destination_cluster=service_httpbin")))
	for _, bad := range []*rls.RateLimitRequest{
		override(1, types.RateLimitUnit_UNKNOWN, nil), override(1, 99, nil),
		override(1, types.RateLimitUnit_DAY, wrapperspb.UInt32(0)),
		override(1, types.RateLimitUnit_YEAR, wrapperspb.UInt32(math.MaxUint32)),
	} {
		if _, err := f.ShouldRateLimit(t.Context(), bad); err == nil {
			t.Errorf("%v: no error", bad)
		}
	}
	elsewhere := override(0, types.RateLimitUnit_DAY, nil)
	elsewhere.Domain = "unknown"
	f.want(t, ok, elsewhere)
}

func TestReplaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
domain: d
descriptors:
  - {key: a, rate_limit: {name: general, unit: day, requests_per_unit: 1}}
  - {key: b, rate_limit: {replaces: [{name: general}], unit: day, requests_per_unit: 3}}
`)
	both := request("d", "a=x", "b=x")
	for range 3 {
		if got := f.want(t, ok, both).Statuses[0]; got.CurrentLimit != nil {
			t.Errorf("replaced: %v", got)
		}
	}
	f.want(t, over, both)
	f.want(t, ok, request("d", "a=x"))
	f.want(t, over, request("d", "a=x"))
}

func TestExactUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
domain: d
descriptors:
  - {key: ten, rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: odd, rate_limit: {unit: day, requests_per_unit: 7}}
  - {key: wide, rate_limit: {unit: day, requests_per_unit: 1000}}
`)
	requests := []*rls.RateLimitRequest{
		request("d", "ten=x"), request("d", "wide=1", "odd=x", "ten=y"), request("d", "ten=y", "wide=1"),
	}
	var admitted [3]atomic.Int32
	var callers sync.WaitGroup
	for i := range 64 * len(requests) {
		callers.Go(func() {
			for range 4 {
				if response, err := f.ShouldRateLimit(t.Context(), requests[i%3]); err == nil && response.OverallCode == ok {
					admitted[i%3].Add(1)
				}
			}
		})
	}
	callers.Wait()
	if n := admitted[0].Load(); n != 10 {
		t.Errorf("a limit of 10 admitted %d", n)
	}
	b, c := admitted[1].Load(), admitted[2].Load()
	if b+c != 10 || b > 7 {
		t.Errorf("two kinds of requests under limits of 7 and 10: %d and %d", b, c)
	}
	if got := f.ask(t, hits(0, request("d", "wide=1"))).Statuses[0].LimitRemaining; got != 1000-10-1 {
		t.Errorf("remaining of the common descriptor: %d", got)
	}
}

func TestClockSetBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `{domain: d, descriptors: [{key: k, rate_limit: {unit: minute, requests_per_unit: 1}}]}`)
	f.want(t, ok, request("d", "k=v"))
	f.pass(-30 * time.Second)
	f.want(t, over, request("d", "k=v"))
	f.pass(-time.Hour) // the clock was wrong before: waiting for it would refuse for an hour
	f.want(t, ok, request("d", "k=v"))
}
