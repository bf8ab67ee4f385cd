package circuitbreaker

import (
	"fmt"
	"sync"
	"time"
)

// State is the state of a breaker. Its zero value is Closed.
type State uint8

// The states of a breaker.
const (
	Closed   State = iota // calls pass and their outcomes are counted
	Open                  // calls are refused until the recovery time is over
	HalfOpen              // a few calls, the probes, pass; their outcomes decide
)

var stateNames = [...]string{"CLOSED", "OPEN", "HALF_OPEN"}

// String returns CLOSED, OPEN or HALF_OPEN.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return fmt.Sprintf("STATE(%d)", uint8(s))
}

// The causes that the breaker itself and its rule set give in an Event.
const (
	CauseRuleChanged    = "rule changed"
	CauseRuleRemoved    = "rule removed"
	CauseProbeGivenBack = "probe given back"
)

// An Event is one change of a breaker's state.
type Event struct {
	Resource string // the resource guarded, which a rule with a pattern does not tell
	Rule     Rule
	From, To State
	// Value is, for CLOSED to OPEN, the ratio or the number of errors that tripped the breaker, and 1 for
	// HALF_OPEN to OPEN. HasValue is false for other changes.
	Value    float64
	HasValue bool
	Cause    string    // why, where no outcome of a call is the reason: one of the Cause constants; else ""
	Time     time.Time // engine time of the change; zero where nobody told the breaker, as when its rule is replaced
}

// maxWaiting bounds the events that wait while an observer is stuck.
const maxWaiting = 1024

// outbox delivers a breaker's events one by one, in the order in which they were put in, by whichever of the
// callers comes first; the others go on. No lock is held while the observer runs, so it may use the breaker:
// events that it causes follow after it has returned. An observer's panic ends there.
type outbox struct {
	notify func(Event) // nil: events are dropped

	mu      sync.Mutex
	waiting []Event // guarded by mu
	busy    bool    // guarded by mu; somebody is delivering
	lost    int64   // guarded by mu
}

func (o *outbox) put(e Event) {
	if o.notify == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) >= maxWaiting {
		o.lost++
		return
	}
	o.waiting = append(o.waiting, e)
}

// flush delivers what waits, unless another goroutine (or a caller of this one) is doing so.
// No lock may be held.
func (o *outbox) flush() {
	if !o.begin() {
		return
	}
	done := false
	defer func() {
		if !done { // the observer ended the goroutine
			o.end()
		}
	}()
	for {
		e, ok := o.next()
		if done = !ok; done {
			return
		}
		o.send(e)
	}
}

func (o *outbox) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.busy || len(o.waiting) == 0 {
		return false
	}
	o.busy = true
	return true
}

// next takes the first waiting event; if there is none, delivering is over.
func (o *outbox) next() (Event, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		o.busy = false
		return Event{}, false
	}
	e := o.waiting[0]
	copy(o.waiting, o.waiting[1:])
	o.waiting[len(o.waiting)-1] = Event{}
	o.waiting = o.waiting[:len(o.waiting)-1]
	return e, true
}

func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
}

func (o *outbox) send(e Event) {
	returned := false
	defer func() {
		if returned {
			return
		}
		_ = recover()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.lost++
	}()
	o.notify(e)
	returned = true
}

func (o *outbox) lostEvents() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}
