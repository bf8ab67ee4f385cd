package server

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

type counter = atomic.Uint64

// Statuses are counted by their number above the lowest one.
const (
	lowestStatus = chain.TokenBadRequest
	statuses     = int(chain.TokenAlreadyReleased-lowestStatus) + 1
)

func statusIndex(s chain.TokenStatus) int {
	if i := int(s) - int(lowestStatus); i >= 0 && i < statuses {
		return i
	}
	return int(chain.TokenFail - lowestStatus)
}

// tallies are what the batches of a connection add up.
type tallies struct {
	answers   [statuses]counter // to flow, param and acquire
	pings     counter
	malformed counter
	oversized counter
	unknown   counter // types
	shed      counter
	unproven  counter // refused for want of a proof
}

func (t *tallies) addTo(sum *tallies) {
	for i := range t.answers {
		sum.answers[i].Add(t.answers[i].Load())
	}
	sum.pings.Add(t.pings.Load())
	sum.malformed.Add(t.malformed.Load())
	sum.oversized.Add(t.oversized.Load())
	sum.unknown.Add(t.unknown.Load())
	sum.shed.Add(t.shed.Load())
	sum.unproven.Add(t.unproven.Load())
}

// totals are what the server counts itself, and what its ended connections had counted.
type totals struct {
	past tallies

	accepted       counter
	acceptErrors   counter
	refusedTotal   counter
	refusedPerIP   counter
	refusedClosing counter
	tlsFailures    counter
	authFailures   counter
	authSuccesses  counter
	ends           [endKinds]counter
	latency        histogram
}

// add adds what an ended connection counted. Caller holds mu.
func (t *totals) add(c *conn) {
	c.tallies.addTo(&t.past)
	t.ends[c.why.Load()].Add(1)
}

// A histogram counts durations by powers of two of a microsecond.
type histogram [24]counter

func (h *histogram) add(d time.Duration) {
	h[min(bits.Len64(uint64(max(0, d)/time.Microsecond)), len(h)-1)].Add(1)
}

// bound returns the longest duration of a bucket.
func (h *histogram) bound(i int) time.Duration { return time.Duration(1<<i) * time.Microsecond }

// quantile returns a duration that the share q of all do not exceed, 0 without any.
func (h *histogram) quantile(q float64) time.Duration {
	var total uint64
	for i := range h {
		total += h[i].Load()
	}
	var sum uint64
	for i := range h {
		if sum += h[i].Load(); total > 0 && float64(sum) >= q*float64(total) {
			return h.bound(i)
		}
	}
	return 0
}
