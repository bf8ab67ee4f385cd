package client

import (
	"fmt"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// State is what a client is doing.
type State uint8

// The states.
const (
	StateOff            State = iota // not started, closed, or no server is set
	StateConnecting                  // no connection; one is being made, or will be after a pause
	StateAuthenticating              // a connection is there, its first messages are under way
	StateReady                       // requests go to the server
	StateLocal                       // the server is silent: requests fail at once until it answers a ping
)

// String returns "off", "connecting", "authenticating", "ready" or "local".
func (s State) String() string {
	switch s {
	case StateOff:
		return "off"
	case StateConnecting:
		return "connecting"
	case StateAuthenticating:
		return "authenticating"
	case StateReady:
		return "ready"
	case StateLocal:
		return "local"
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Status is what a client is doing and what it has done since it was made.
type Status struct {
	State     State     `json:"state"`
	Since     time.Time `json:"since"`            // of State
	Server    string    `json:"server,omitempty"` // of the connection in use
	Target    string    `json:"target,omitempty"` // the server that was set
	Namespace string    `json:"namespace"`
	Extension bool      `json:"extension"`           // the server is one of ours
	Connected int       `json:"connected"`           // clients in the namespace, as the server counted last; 0: not known
	InFlight  int       `json:"inFlight"`            // requests without answer
	Held      int       `json:"held"`                // concurrency tokens
	Err       error     `json:"-"`                   // why the last connection ended or could not be made
	LastError string    `json:"lastError,omitempty"` // the text of Err
	Counters  Counters  `json:"counters"`
	Latency   Latency   `json:"latency"`
}

// Counters count since the client was made.
type Counters struct {
	Requests      int64            `json:"requests"`      // sent, with releases and renewals but without pings
	Answers       map[string]int64 `json:"answers"`       // by the name of their status; answers to requests, so one for all calls of a batch
	Timeouts      int64            `json:"timeouts"`      // calls
	Late          int64            `json:"late"`          // answers that nobody waited for any more
	Malformed     int64            `json:"malformed"`     // messages that could not be read
	DroppedValues int64            `json:"droppedValues"` // values of parameter requests that could not be sent
	Reconnects    int64            `json:"reconnects"`    // connections made after the first
	Local         int64            `json:"local"`         // calls that were answered without asking, for want of a server that answers
	Coalesced     int64            `json:"coalesced"`     // calls that shared a request
}

// Latency is the time from request to answer, of those answered. The quantiles are at most an eighth too high.
type Latency struct {
	Count int64         `json:"count"`
	Mean  time.Duration `json:"mean"`
	P50   time.Duration `json:"p50"`
	P99   time.Duration `json:"p99"`
	Max   time.Duration `json:"max"`
}

// Status returns what the client is doing. Its figures are of one moment for each connection, not for all together.
func (c *Client) Status() Status {
	if c == nil {
		return Status{}
	}
	c.make(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observe()
	s := Status{
		State: c.shown, Since: c.since, Target: c.target, Namespace: c.namespace,
		Connected: c.Connected(), Err: c.lastErr,
	}
	if c.lastErr != nil {
		s.LastError = c.lastErr.Error()
	}
	if cn := c.current.Load(); cn != nil {
		s.Server, s.Extension = cn.addr, cn.ext
	}
	total := c.past
	for cn := range c.conns {
		cn.mu.Lock()
		total.add(&cn.figures)
		s.InFlight += cn.pending.used
		s.Held += len(cn.held)
		cn.mu.Unlock()
	}
	s.Counters = c.counters(&total)
	s.Latency = total.latency.summary()
	return s
}

// counters caller holds mu.
func (c *Client) counters(f *figures) Counters {
	out := Counters{
		Requests: f.requests, Answers: map[string]int64{}, Timeouts: f.timeouts, Late: f.late, Malformed: f.malformed,
		Coalesced: f.coalesced, DroppedValues: c.dropped.Load(), Local: c.local.Load(), Reconnects: c.reconnects,
	}
	for i, n := range f.answers {
		if n > 0 {
			out.Answers[(leastStatus + chain.TokenStatus(i)).String()] = n
		}
	}
	if f.unknown > 0 {
		out.Answers["unknown"] = f.unknown
	}
	return out
}

func (h *histogram) summary() Latency {
	if h.n == 0 {
		return Latency{}
	}
	return Latency{
		Count: h.n, Mean: time.Duration(h.sum / h.n), P50: h.quantile(0.5), P99: h.quantile(0.99), Max: time.Duration(h.most),
	}
}
