package envoyrls_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

const perUser = `
domain: d
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: ip, rate_limit: {unit: second, requests_per_unit: 2}}
`

// A counter that is used up is never dropped for others.
func TestUsedUpCountersStay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, perUser, envoyrls.WithMaxCounters(10))
	for i := range 5 {
		f.want(t, ok, hits(2, request("d", fmt.Sprintf("user=full%d", i))))
	}
	for i := range 100 {
		f.want(t, ok, request("d", fmt.Sprintf("user=idle%d", i)))
	}
	for i := range 5 {
		f.want(t, over, request("d", fmt.Sprintf("user=full%d", i)))
	}
	if s := f.Status(); s.Counters > 10 || s.Forgotten != 95 || s.Overflow != 0 {
		t.Errorf("%d counters, %d forgotten, %d overflows", s.Counters, s.Forgotten, s.Overflow)
	}
}

// Counters whose window has ended go before those that still mean something.
func TestEndedCountersGoFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, perUser, envoyrls.WithMaxCounters(10))
	for i := range 5 {
		f.want(t, ok, request("d", fmt.Sprintf("user=%d", i)))
	}
	for i := range 5 {
		f.want(t, ok, request("d", fmt.Sprintf("ip=%d", i)))
	}
	f.pass(time.Second)
	for i := range 5 {
		f.want(t, ok, request("d", fmt.Sprintf("user=%d", 5+i)))
	}
	for i := range 10 {
		f.want(t, ok, request("d", fmt.Sprintf("user=%d", i)))
		f.want(t, over, request("d", fmt.Sprintf("user=%d", i)))
	}
	if s := f.Status(); s.Counters != 10 || s.Forgotten != 0 {
		t.Errorf("%d counters, %d forgotten", s.Counters, s.Forgotten)
	}
}

// When all counters are used up, what is new shares one.
func TestOverflowShares(t *testing.T) {
	t.Parallel()
	f := newFixture(t, perUser, envoyrls.WithMaxCounters(3))
	for i := range 3 {
		f.want(t, ok, hits(2, request("d", fmt.Sprintf("user=%d", i))))
	}
	f.want(t, ok, request("d", "user=new1"))
	f.want(t, ok, request("d", "user=new2"))
	f.want(t, over, request("d", "user=new3"))
	f.want(t, ok, request("d", "ip=1"))
	f.want(t, over, request("d", "ip=1", "user=new4"))
	f.want(t, ok, request("d", "ip=1"))
	if s := f.Status(); s.Counters != 3 || s.Overflow != 7 {
		t.Errorf("%d counters, %d overflows", s.Counters, s.Overflow)
	}
	f.pass(24 * time.Hour)
	f.want(t, ok, hits(2, request("d", "user=new1")))
}

// What was not asked for in a while goes without need.
func TestIdleCountersGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, perUser)
	for i := range 5000 {
		f.want(t, ok, request("d", fmt.Sprintf("ip=%d", i)))
	}
	f.pass(2 * time.Minute)
	for i := range 4000 {
		f.want(t, ok, request("d", fmt.Sprintf("user=%d", i)))
	}
	if n := f.Status().Counters; n > 4500 {
		t.Errorf("%d counters, want the 4000 and few more", n)
	}
}

// Counters of a clock that was far ahead do not take room from others.
func TestCountersOfWrongClockGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t, perUser, envoyrls.WithMaxCounters(3))
	f.pass(1000 * time.Hour)
	for i := range 3 {
		f.want(t, ok, hits(2, request("d", fmt.Sprintf("user=%d", i))))
	}
	f.pass(-1000 * time.Hour)
	for i := range 3 {
		f.want(t, ok, hits(2, request("d", fmt.Sprintf("user=new%d", i))))
	}
	if s := f.Status(); s.Overflow != 0 || s.Forgotten != 0 {
		t.Errorf("%d overflows, %d forgotten", s.Overflow, s.Forgotten)
	}
}
