package client

import (
	"math/bits"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

const (
	leastStatus = chain.TokenBadRequest
	statuses    = int(chain.TokenAlreadyReleased-leastStatus) + 1
)

// figures are what a connection counts. Guarded by its mu.
type figures struct {
	requests  int64 // sent, with releases and renewals
	answers   [statuses]int64
	unknown   int64 // answers of a status that is none of those
	timeouts  int64 // calls
	late      int64
	malformed int64
	coalesced int64 // calls that shared a request of a batch
	latency   histogram
}

func (f *figures) answered(s chain.TokenStatus, took int64) {
	if i := int(s) - int(leastStatus); i >= 0 && i < statuses {
		f.answers[i]++
	} else {
		f.unknown++
	}
	f.latency.add(took)
}

func (f *figures) add(o *figures) {
	f.requests += o.requests
	for i, n := range o.answers {
		f.answers[i] += n
	}
	f.unknown += o.unknown
	f.timeouts += o.timeouts
	f.late += o.late
	f.malformed += o.malformed
	f.coalesced += o.coalesced
	f.latency.merge(&o.latency)
}

const (
	subBits = 3 // eight buckets per power of two: 12 % at most above the truth
	buckets = (40 - subBits) << subBits
)

// histogram counts durations up to nine minutes, in ns.
type histogram struct {
	counts [buckets]int64
	n      int64
	sum    int64
	most   int64
}

func (h *histogram) add(d int64) {
	d = max(0, d)
	h.n++
	h.sum += d
	h.most = max(h.most, d)
	h.counts[bucketOf(d)]++
}

func (h *histogram) merge(o *histogram) {
	h.n += o.n
	h.sum += o.sum
	h.most = max(h.most, o.most)
	for i, n := range o.counts {
		h.counts[i] += n
	}
}

func bucketOf(d int64) int {
	if d < 1<<subBits {
		return int(d)
	}
	e := bits.Len64(uint64(d)) - subBits - 1
	return min(buckets-1, e<<subBits+int(d>>e))
}

// above is the first duration above the bucket.
func above(i int) int64 {
	if i < 1<<subBits {
		return int64(i) + 1
	}
	e := i>>subBits - 1
	return int64(i-e<<subBits+1) << e
}

// quantile returns a duration that the share q of all does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	want, seen := int64(q*float64(h.n)), int64(0)
	for i, n := range h.counts {
		if seen += n; n > 0 && seen > want {
			return time.Duration(min(above(i), h.most))
		}
	}
	return time.Duration(h.most)
}
