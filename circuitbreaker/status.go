package circuitbreaker

import "time"

// Status is what a breaker looks like at one moment.
type Status struct {
	Resource string
	Rule     Rule
	State    State
	// Bad and Total are the slow or failed calls and all calls that completed in the current window while the
	// breaker was closed. Ratio is Bad divided by Total, 0 if Total is 0.
	Bad, Total int64
	Ratio      float64
	// RetryAt is when a call may run as a probe: see Breaker.RetryAt. It is zero while closed.
	RetryAt time.Time
	Probes  int // probes that hold a permit
	// LostEvents counts changes of state that an observer did not take: it panicked, or it was stuck while more
	// than a thousand of them waited.
	LostEvents int64
}

// Status returns the breaker's state and counts at now, all of one moment except that calls go on being counted.
func (b *Breaker) Status(now int64) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	phase := b.phase.Load()
	s := Status{
		Resource:   b.resource,
		Rule:       b.rule.Clone(),
		State:      stateOf(phase),
		Probes:     len(b.probing.flying),
		LostEvents: b.events.lostEvents(),
	}
	if b.window.length > 0 {
		s.Bad, s.Total, _ = b.window.read(now)
	}
	if s.Total > 0 {
		s.Ratio = float64(s.Bad) / float64(s.Total)
	}
	if retry := retryOf(phase); retry > 0 {
		s.RetryAt = time.Unix(0, retry)
	}
	return s
}
