package chain

import (
	"fmt"
	"sync/atomic"
)

// FallbackReason says why a rule in cluster mode was decided by its fallback.
type FallbackReason uint8

// The reasons.
const (
	ReasonNoService    FallbackReason = iota // no token service is set
	ReasonNoAnswer                           // none within the timeout, or the server could not decide
	ReasonSkipped                            // an earlier request of the same call got no answer
	ReasonNoRule                             // the server has no such rule
	ReasonBadRequest                         // the request makes no sense to the server, or does not fit a message
	ReasonTooMany                            // the namespace has used up its requests per second
	ReasonNotAvailable                       // the server has no concurrency tokens
	ReasonUnexpected                         // an answer that a parameter rule has no use for
	reasons
)

// String returns the reason in lower case with underscores, such as "no_answer".
func (r FallbackReason) String() string {
	names := [reasons]string{
		"no_service", "no_answer", "skipped", "no_rule", "bad_request", "too_many_request", "not_available", "unexpected",
	}
	if r < reasons {
		return names[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// TokenCounters count what became of requests for tokens, since the engine was made.
type TokenCounters struct {
	Requests  map[TokenStatus]int64    // by the status they ended with; the token service's panics count as TokenFail
	Unknown   int64                    // requests that ended with a status that this version does not know
	Fallbacks map[FallbackReason]int64 // decisions by fallbacks, by reason
}

const (
	leastStatus = TokenBadRequest
	mostStatus  = TokenAlreadyReleased
)

type tokenCounters struct {
	statuses  [mostStatus - leastStatus + 1]atomic.Int64
	unknown   atomic.Int64
	fallbacks [reasons]atomic.Int64
}

func (t *Tokens) answered(s TokenStatus) {
	if s < leastStatus || s > mostStatus {
		t.counters.unknown.Add(1)
		return
	}
	t.counters.statuses[s-leastStatus].Add(1)
}

func (t *Tokens) fellBack(r FallbackReason) Answer {
	t.counters.fallbacks[r].Add(1)
	return AnswerFallback
}

// Counters returns what was counted; statuses and reasons that never came up are left out.
func (t *Tokens) Counters() TokenCounters {
	c := TokenCounters{Requests: map[TokenStatus]int64{}, Fallbacks: map[FallbackReason]int64{}}
	if t == nil {
		return c
	}
	c.Unknown = t.counters.unknown.Load()
	for i := range t.counters.statuses {
		if n := t.counters.statuses[i].Load(); n > 0 {
			c.Requests[leastStatus+TokenStatus(i)] = n
		}
	}
	for i := range t.counters.fallbacks {
		if n := t.counters.fallbacks[i].Load(); n > 0 {
			c.Fallbacks[FallbackReason(i)] = n
		}
	}
	return c
}
