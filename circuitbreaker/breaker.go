package circuitbreaker

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Decision is what a breaker thinks of a call at its entry. Its zero value is Pass.
type Decision uint8

// The decisions on a call.
const (
	Pass   Decision = iota
	Probe           // it may run if Acquire gives it a permit
	Refuse          // the breaker is open, or half-open with all permits in use
)

// String returns pass, probe or refuse.
func (d Decision) String() string {
	switch d {
	case Pass:
		return "pass"
	case Probe:
		return "probe"
	case Refuse:
		return "refuse"
	}
	return fmt.Sprintf("decision(%d)", uint8(d))
}

// Breaker is the circuit breaker of one rule and one resource. All its methods may be called at any time by any
// number of goroutines. The zero value is closed, counts nothing and lets every call pass.
//
// A call is taken through it in this order: Check before anything is reserved; Acquire, if Check said Probe, once
// all other checks agree; then Complete with its outcome, or GiveBack if it did not run or its outcome says nothing.
//
// Times are engine time in nanoseconds since the Unix epoch. A time may lie somewhat before one that another
// goroutine has passed already.
type Breaker struct {
	// phase holds state and times in one word, so that they change together and Check reads nothing else:
	// 0 closed; p > 0 open, and due for a probe at p; p < 0 half-open, the next permit being free from -p on.
	// Written under mu. All of this struct is written seldom; what every call writes is in the window's ring.
	phase    atomic.Int64
	config   config
	window   window
	rule     Rule
	resource string
	tripped  atomic.Uint64 // bits of the ratio or count that opened it last

	mu      sync.Mutex
	probing probing // guarded by mu
	retryAt int64   // guarded by mu; when the breaker was, or is, due for the first probe since it opened
	retired bool    // guarded by mu
	events  outbox
}

// NewBreaker returns a closed breaker. The rule must be valid. notify, unless nil, is called with every change of
// state: after it, in order, one call at a time, without locks, by the goroutine of one of the guarded calls.
func NewBreaker(rule Rule, resource string, notify func(Event)) *Breaker {
	b := &Breaker{config: configOf(rule), rule: rule.Clone(), resource: resource}
	b.window.init(b.config.bucket, b.config.buckets)
	b.probing.init(b.config.probes, b.config.lease)
	b.events.notify = notify
	return b
}

// Check says what to do with a call that enters at now. It changes nothing.
func (b *Breaker) Check(now int64) Decision {
	phase := b.phase.Load()
	switch {
	case phase == 0:
		return Pass
	case phase > 0 && now >= phase, phase < 0 && now >= -phase:
		return Probe
	}
	return Refuse
}

// Acquire lets a call for which Check said Probe run as one, and makes an open breaker half-open. It returns false
// if another call was faster; the call is then to be refused. If the breaker has closed meanwhile, the call
// may run as any other: the ticket is the zero Ticket.
func (b *Breaker) Acquire(now int64) (Ticket, bool) {
	if b.Check(now) == Refuse {
		return Ticket{}, false // spares the many that lose the mutex
	}
	t, ok := b.acquire(now)
	b.events.flush()
	return t, ok
}

func (b *Breaker) acquire(now int64) (Ticket, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch b.Check(now) {
	case Pass:
		return Ticket{}, true
	case Refuse:
		return Ticket{}, false
	case Probe:
	}
	if b.phase.Load() > 0 {
		b.report(Event{From: Open, To: HalfOpen}, now)
	}
	t := b.probing.take(now)
	b.phase.Store(-b.probing.freeAt(b.retryAt))
	return t, true
}

// GiveBack returns the permit of a probe that did not run, or whose outcome says nothing about the resource, such
// as its caller's cancellation. If it was the only one and none has succeeded, the breaker is open again and due
// for a probe at once. Tickets that are zero or no longer hold a permit are ignored.
func (b *Breaker) GiveBack(t Ticket, now int64) {
	if t == (Ticket{}) {
		return
	}
	b.giveBack(t, now)
	b.events.flush()
}

func (b *Breaker) giveBack(t Ticket, now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.probing.end(t) {
		return
	}
	if b.probing.idle() {
		b.open(HalfOpen, b.retryAt, Event{Value: 1, Cause: CauseProbeGivenBack}, now)
		return
	}
	b.phase.Store(-b.probing.freeAt(b.retryAt))
}

// Complete takes the outcome of a call that passed: when it completed, how long it took, whether it failed, and its
// ticket, the zero Ticket if it was no probe. While the breaker is closed, outcomes are counted and may open it. While
// it is half-open only its probes decide: one failure opens it, as many successes as the rule's ProbeNum close it.
// The outcome of a probe that lost its permit, or of an earlier half-open time, is ignored.
func (b *Breaker) Complete(now int64, rt time.Duration, failed bool, t Ticket) {
	bad := b.config.bad(rt, failed)
	if t != (Ticket{}) {
		b.decide(now, rt, bad, t)
		b.events.flush()
		return
	}
	if b.phase.Load() != 0 || b.window.length == 0 {
		return
	}
	if _, trips := b.config.trips(b.window.add(now, bad)); trips {
		b.trip(now)
		b.events.flush()
	}
}

// trip opens the breaker if it still is closed and the counts, which may have been cleared or have grown since the
// caller saw them, still say so.
func (b *Breaker) trip(now int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.phase.Load() != 0 || b.retired {
		return
	}
	bad, total, ok := b.window.read(now)
	if !ok {
		return
	}
	if value, trips := b.config.trips(bad, total); trips {
		b.open(Closed, later(now, b.config.recovery), Event{Value: value}, now)
	}
}

// decide takes the outcome of a probe.
func (b *Breaker) decide(now int64, rt time.Duration, bad bool, t Ticket) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.probing.end(t):
		if b.phase.Load() != 0 {
			b.probing.tooLate(int64(rt))
		}
	case bad:
		b.open(HalfOpen, later(now, b.config.recovery), Event{Value: 1}, now)
	case b.probing.succeed():
		b.probing.reset()
		b.close(HalfOpen, Event{}, now)
	default:
		b.phase.Store(-b.probing.freeAt(b.retryAt))
	}
}

// open makes the breaker open until retryAt. The caller holds mu.
func (b *Breaker) open(from State, retryAt int64, e Event, now int64) {
	b.probing.clear()
	b.retryAt = retryAt
	b.phase.Store(retryAt)
	e.From, e.To, e.HasValue = from, Open, true
	if from == Closed {
		b.tripped.Store(math.Float64bits(e.Value))
	}
	b.report(e, now)
}

// close makes the breaker closed with empty counters. The caller holds mu.
func (b *Breaker) close(from State, e Event, now int64) {
	b.probing.clear()
	b.window.clear()
	b.phase.Store(0)
	e.From, e.To = from, Closed
	b.report(e, now)
}

// unknown is the time of an event that nobody told.
const unknown = math.MinInt64

// report puts an event into the outbox. The caller holds mu.
func (b *Breaker) report(e Event, now int64) {
	e.Resource, e.Rule = b.resource, b.rule
	if now != unknown {
		e.Time = time.Unix(0, now)
	}
	b.events.put(e)
}

// Retire ends the breaker's work because its rule was changed or removed. If it is not closed it closes, with one
// event that gives the cause. Calls that still hold it may go on using it: it lets them pass and never opens again.
func (b *Breaker) Retire(cause string) {
	b.retire(cause)
	b.events.flush()
}

func (b *Breaker) retire(cause string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.retired {
		return
	}
	b.retired = true
	if state := b.State(); state != Closed {
		b.close(state, Event{Cause: cause}, unknown)
	}
}

// State returns the state. An open breaker stays open until a call is its probe, also when its recovery time is over.
func (b *Breaker) State() State { return stateOf(b.phase.Load()) }

func stateOf(phase int64) State {
	switch {
	case phase > 0:
		return Open
	case phase < 0:
		return HalfOpen
	}
	return Closed
}

// RetryAt returns the time from which on a call may run as a probe: while open the end of the recovery time, while
// half-open the time at which the next permit is free, which may have passed. It returns 0 while closed.
func (b *Breaker) RetryAt() int64 { return retryOf(b.phase.Load()) }

func retryOf(phase int64) int64 {
	if phase < 0 {
		return -phase
	}
	return phase
}
