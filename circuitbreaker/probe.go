package circuitbreaker

import "math"

// A Ticket says that a call is a probe and holds a permit. The zero Ticket is that of a call which is no probe.
// A ticket is valid for the breaker that gave it and until that has left the half-open state.
type Ticket struct {
	number uint64 // never used twice by one breaker
}

// probing keeps the permits of a half-open breaker. A probe's permit is held under a lease: once the lease is over,
// and not earlier, another call may take it, and the outcome of the first no longer counts.
//
// If calls take longer than the lease, every probe would lose its permit before its outcome is known, and
// the breaker would never close. So an outcome that comes too late doubles the lease, though never beyond twice the
// time the call took, until the breaker closes.
// All methods are called with the breaker's mutex held.
type probing struct {
	permits   int
	ordinary  int64 // the lease as configured
	lease     int64
	flying    []flight // oldest first, which is the order in which they expire: a lease never gets shorter
	successes int
	last      uint64 // number of the last ticket
}

type flight struct {
	ticket  Ticket
	expires int64
}

// reserved bounds the memory set aside for probes; more room is made when it is used.
const reserved = 16

func (p *probing) init(permits int, lease int64) {
	p.permits, p.ordinary, p.lease = permits, lease, lease
	p.flying = make([]flight, 0, min(permits, reserved))
}

// take gives out a permit, the oldest one taken if there is no other. freeAt must allow it.
func (p *probing) take(now int64) Ticket {
	if len(p.flying) >= p.permits {
		p.remove(0)
	}
	p.last++
	t := Ticket{p.last}
	p.flying = append(p.flying, flight{t, later(now, p.lease)})
	return t
}

// freeAt returns the time from which on a permit can be taken: since, if there is an unused one.
func (p *probing) freeAt(since int64) int64 {
	if len(p.flying) < p.permits {
		return since
	}
	return p.flying[0].expires
}

// end takes the ticket's permit back; false if it has none.
func (p *probing) end(t Ticket) bool {
	for i, f := range p.flying {
		if f.ticket == t {
			p.remove(i)
			return true
		}
	}
	return false
}

func (p *probing) remove(i int) {
	p.flying = append(p.flying[:i], p.flying[i+1:]...)
}

// succeed counts a success and says whether it was the last that is needed.
func (p *probing) succeed() bool {
	p.successes++
	return p.successes >= p.permits
}

// idle says whether there is neither a probe on its way nor a success.
func (p *probing) idle() bool { return len(p.flying) == 0 && p.successes == 0 }

// clear forgets all probes and successes.
func (p *probing) clear() {
	p.flying = p.flying[:0]
	p.successes = 0
}

// reset makes the lease the configured one again.
func (p *probing) reset() { p.lease = p.ordinary }

// tooLate takes the time of a probe whose outcome came when it had no permit any more. It makes the lease longer if the probe lost its permit because it took longer than that.
func (p *probing) tooLate(rt int64) {
	if rt < p.lease {
		return
	}
	p.lease = min(double(p.lease), double(rt))
}

func double(n int64) int64 {
	if n > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 2 * n
}
