package server

import "github.com/tidegate-go/tidegate/chain"

// Status is the state of a server, for tools. It may be written as JSON. Counts are since New.
type Status struct {
	State     string           `json:"state"` // new, serving, draining or closed
	Listeners []ListenerStatus `json:"listeners,omitempty"`

	Connections  int               `json:"connections"`            // now
	Accepted     uint64            `json:"accepted"`               // refused ones too
	Refused      map[string]uint64 `json:"refused,omitempty"`      // connections, by why: total, perAddress, closing
	Ended        map[string]uint64 `json:"ended,omitempty"`        // connections, by why
	AcceptErrors uint64            `json:"acceptErrors,omitempty"` // such as having no file descriptor left
	TLSFailures  uint64            `json:"tlsFailures,omitempty"`  // also plaintext where TLS must be

	Decisions       map[string]uint64 `json:"decisions"` // answers to flow, param and acquire, by status
	Pings           uint64            `json:"pings"`
	Malformed       uint64            `json:"malformed"`
	Oversized       uint64            `json:"oversized"`
	UnknownTypes    uint64            `json:"unknownTypes"`
	Unauthenticated uint64            `json:"unauthenticated"` // requests without a proof
	Proofs          uint64            `json:"proofs"`          // of the secret
	WrongProofs     uint64            `json:"wrongProofs"`
	Shed            uint64            `json:"shed"`      // refused by overload
	ShedLevel       int               `json:"shedLevel"` // now: 0 none to 4 all that are not prioritized

	Latency Latency `json:"latency"`
}

// ListenerStatus is one address that a server listens at.
type ListenerStatus struct {
	Address string `json:"address"`
	Error   string `json:"error,omitempty"` // why it ended by itself
}

// Latency is how long requests took, from being read to being answered. One batch of requests in sixteen is measured.
type Latency struct {
	P50Micros int64           `json:"p50Micros"` // upper bounds, powers of two
	P99Micros int64           `json:"p99Micros"`
	Buckets   []LatencyBucket `json:"buckets,omitempty"` // not cumulative; without empty ones
}

// LatencyBucket counts measured batches that took at most so long and longer than the next shorter bound.
type LatencyBucket struct {
	AtMostMicros int64  `json:"atMostMicros"`
	Count        uint64 `json:"count"`
}

var stateNames = [...]string{"new", "serving", "draining", "closed"}

var endNames = [...]string{
	"peer", "idle", "silent", "crowded", "slow", "malformed", "secret", "tls", "shutdown", "fault",
}

// Status tells what is going on.
func (s *Server) Status() Status {
	if s == nil {
		return Status{State: stateNames[stateNew], Decisions: map[string]uint64{}}
	}
	s.mu.Lock()
	var sum tallies
	s.totals.past.addTo(&sum)
	for c := range s.conns {
		c.tallies.addTo(&sum)
	}
	status := Status{State: stateNames[s.state], Connections: len(s.conns)}
	for _, l := range s.listeners {
		status.Listeners = append(status.Listeners, l.status())
	}
	s.mu.Unlock()
	s.describe(&status, &sum)
	return status
}

func (l *listening) status() ListenerStatus {
	st := ListenerStatus{Address: l.addr}
	if err := l.failure(); err != nil {
		st.Error = err.Error()
	}
	return st
}

func (s *Server) describe(to *Status, sum *tallies) {
	t := &s.totals
	to.Accepted, to.AcceptErrors, to.TLSFailures = t.accepted.Load(), t.acceptErrors.Load(), t.tlsFailures.Load()
	to.Refused = counts(map[string]*counter{
		"total": &t.refusedTotal, "perAddress": &t.refusedPerIP, "closing": &t.refusedClosing,
	})
	to.Ended, to.Decisions = map[string]uint64{}, map[string]uint64{}
	for i := range t.ends {
		if n := t.ends[i].Load(); n > 0 {
			to.Ended[endNames[i]] = n
		}
	}
	for i := range sum.answers {
		if n := sum.answers[i].Load(); n > 0 {
			to.Decisions[chain.TokenStatus(i+int(lowestStatus)).String()] = n
		}
	}
	to.Pings, to.Malformed, to.Oversized = sum.pings.Load(), sum.malformed.Load(), sum.oversized.Load()
	to.UnknownTypes, to.Unauthenticated = sum.unknown.Load(), sum.unproven.Load()
	to.Proofs, to.WrongProofs = t.authSuccesses.Load(), t.authFailures.Load()
	to.Shed, to.ShedLevel = sum.shed.Load(), int(s.shed.now())
	to.Latency = t.latency.describe()
}

func counts(all map[string]*counter) map[string]uint64 {
	out := map[string]uint64{}
	for name, c := range all {
		if n := c.Load(); n > 0 {
			out[name] = n
		}
	}
	return out
}

func (h *histogram) describe() Latency {
	l := Latency{P50Micros: h.quantile(0.5).Microseconds(), P99Micros: h.quantile(0.99).Microseconds()}
	for i := range h {
		if n := h[i].Load(); n > 0 {
			l.Buckets = append(l.Buckets, LatencyBucket{AtMostMicros: h.bound(i).Microseconds(), Count: n})
		}
	}
	return l
}
