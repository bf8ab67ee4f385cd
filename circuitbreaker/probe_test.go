package circuitbreaker_test

import (
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

func TestSuccessesFreePermits(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{ProbeNum: 2})
	first := g.passes(at(10_000))
	g.passes(at(10_000)) // hangs
	g.refuses(at(10_000))
	g.Complete(at(10_001), 0, false, first)
	g.is(circuitbreaker.HalfOpen)
	third := g.passes(at(10_001))
	g.refuses(at(10_001))
	g.Complete(at(10_002), 0, false, third)
	g.is(circuitbreaker.Closed)
}

func TestGiveBackAfterASuccessStaysHalfOpen(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{ProbeNum: 2})
	g.call(at(10_000), nil)
	g.GiveBack(g.passes(at(10_000)), at(10_000))
	g.is(circuitbreaker.HalfOpen)
	g.call(at(10_000), nil)
	g.is(circuitbreaker.Closed)
	g.expect(t, "OPEN>HALF_OPEN", "HALF_OPEN>CLOSED")
}

func TestGiveBackWithAnotherProbeStaysHalfOpen(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{ProbeNum: 2})
	first, second := g.passes(at(10_000)), g.passes(at(10_000))
	g.GiveBack(first, at(10_000))
	g.is(circuitbreaker.HalfOpen)
	g.GiveBack(first, at(10_000)) // again: no effect on the second
	g.Complete(at(10_000), 0, true, first)
	g.is(circuitbreaker.HalfOpen)
	g.GiveBack(second, at(10_000))
	g.is(circuitbreaker.Open)
}

func TestTicketOfAnEarlierHalfOpenTimeIsIgnored(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{ProbeNum: 2})
	old, failing := g.passes(at(10_000)), g.passes(at(10_000))
	g.Complete(at(10_000), 0, true, failing)
	g.Complete(at(10_000), 0, false, old)
	g.is(circuitbreaker.Open)
	g.passes(at(20_000))
	g.Complete(at(20_000), 0, true, old)
	g.GiveBack(old, at(20_000))
	g.is(circuitbreaker.HalfOpen)
	if s := g.Status(at(20_000)); s.Probes != 1 {
		t.Errorf("%d probes hold a permit, want 1", s.Probes)
	}
}

func TestLeaseDefaultsToTheRecoveryTime(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	g.passes(at(10_000))
	if got := g.RetryAt(); got != at(20_000) {
		t.Errorf("next permit %d ms after the start, want 20000", (got-at(0))/ms)
	}
	g.refuses(at(20_000) - 1)
	second := g.passes(at(20_000))
	g.refuses(at(20_000)) // its permit was the only one
	g.Complete(at(20_001), 0, false, second)
	g.is(circuitbreaker.Closed)
}

// Nobody took the permit after the lease was over: the outcome still is the newest there is.
func TestSlowProbeDecidesWhileItsPermitIsNotTaken(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	g.Complete(at(60_000), 50*time.Second, false, g.passes(at(10_000)))
	g.is(circuitbreaker.Closed)
}

// A resource whose calls take longer than the lease gets closed although every permit is taken when its lease ends.
func TestSlowProbesUnderConstantCallsFindTheWayBack(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{})
	const takes = 35_000 // milliseconds
	type probe struct {
		ends   int64
		ticket circuitbreaker.Ticket
	}
	var flying []probe
	for now := int64(10_000); now < 300_000 && g.State() != circuitbreaker.Closed; now += 100 {
		if ticket, ok := g.enter(at(now)); ok {
			flying = append(flying, probe{now + takes, ticket})
		}
		for len(flying) > 0 && flying[0].ends == now {
			g.Complete(at(now), takes*time.Millisecond, false, flying[0].ticket)
			flying = flying[1:]
		}
	}
	g.is(circuitbreaker.Closed)
	g.call(at(300_000), errCall)
	g.passes(at(310_000))
	if got := g.RetryAt(); got != at(320_000) {
		t.Errorf("lease of %d ms after closing, want 10000 again", (got-at(310_000))/ms)
	}
}

func TestLeaseEndsOneByOne(t *testing.T) {
	t.Parallel()
	g := opened(t, circuitbreaker.Rule{ProbeNum: 2, ProbeTimeoutMs: 1000})
	first := g.passes(at(10_000))
	second := g.passes(at(10_500))
	g.refuses(at(10_999))
	g.passes(at(11_000)) // the first one's permit
	g.refuses(at(11_499))
	g.Complete(at(11_499), 0, true, first)
	g.is(circuitbreaker.HalfOpen)
	g.Complete(at(11_499), 0, true, second)
	g.is(circuitbreaker.Open)
}
