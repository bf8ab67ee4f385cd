package chain

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// TokenStatus is the answer of a token server, with its number on the wire.
type TokenStatus int8

// The statuses of Sentinel's cluster protocol.
const (
	TokenBadRequest      TokenStatus = -4 // the request makes no sense: no flow id, no units, no values
	TokenTooManyRequest  TokenStatus = -2 // the namespace has used up its requests per second
	TokenFail            TokenStatus = -1 // no answer, or the server could not decide
	TokenOK              TokenStatus = 0
	TokenBlocked         TokenStatus = 1
	TokenShouldWait      TokenStatus = 2 // granted; wait first
	TokenNoRule          TokenStatus = 3 // the server has no rule of that flow id
	TokenNoRefRule       TokenStatus = 4
	TokenNotAvailable    TokenStatus = 5
	TokenReleased        TokenStatus = 6 // a concurrency token was given back
	TokenAlreadyReleased TokenStatus = 7 // the concurrency token was not known
)

// String returns the status in lower case with underscores, such as "no_rule_exists".
func (s TokenStatus) String() string {
	switch s {
	case TokenBadRequest:
		return "bad_request"
	case TokenTooManyRequest:
		return "too_many_request"
	case TokenFail:
		return "fail"
	case TokenOK:
		return "ok"
	case TokenBlocked:
		return "blocked"
	case TokenShouldWait:
		return "should_wait"
	case TokenNoRule:
		return "no_rule_exists"
	case TokenNoRefRule:
		return "no_ref_rule_exists"
	case TokenNotAvailable:
		return "not_available"
	case TokenReleased:
		return "release_ok"
	case TokenAlreadyReleased:
		return "already_release"
	}
	return fmt.Sprintf("status(%d)", int8(s))
}

// Granted says whether the call may go on: at once, or after the wait.
func (s TokenStatus) Granted() bool { return s == TokenOK || s == TokenShouldWait }

// TokenResult is what a token service says about one request. The zero value is OK with nothing remaining.
type TokenResult struct {
	Status    TokenStatus
	Remaining int32         // units left in the window; -1 if not known
	Wait      time.Duration // with TokenShouldWait
	TokenID   int64         // of a concurrency token; 0 without
	Err       error         // why no server answered; nil with an answer of a server
}

// TokenService decides rules in cluster mode: a token client, or the service of a token server in the same process.
// An implementation answers within its own timeout (by default 20 ms) and never later than the context ends. It is
// safe for concurrent use, and must not keep values after it returned.
type TokenService interface {
	// RequestToken asks for count units of a flow rule. A prioritized request may be granted a place in the next
	// bucket: TokenShouldWait.
	RequestToken(ctx context.Context, flowID, count int64, prioritized bool) TokenResult
	// RequestParamToken asks for count units of each of the values of a parameter rule: of all or of none.
	RequestParamToken(ctx context.Context, flowID, count int64, values []Arg) TokenResult
	// AcquireConcurrent takes count places of a rule that limits calls in flight. A service without such rules, or a
	// server that does not know them, answers TokenNotAvailable.
	AcquireConcurrent(ctx context.Context, flowID, count int64) TokenResult
	// ReleaseConcurrent gives the places of a token back. It does not wait for the answer.
	ReleaseConcurrent(tokenID int64)
	// Connected returns how many clients the server counted lately in this one's namespace, 0 while not known. It is
	// what a global threshold is divided by while no server decides.
	Connected() int
}

// Tokens holds the token service in force and counts what became of requests. The zero value holds none. Safe for
// concurrent use.
type Tokens struct {
	// Failed is told of a service that panicked; nil: nobody is. It is set before use.
	Failed func(what string, err error)

	service  atomic.Pointer[TokenService]
	counters tokenCounters
}

// Set puts a service into force, nil for none. Calls that have asked the one before get its answer, and give concurrency
// tokens back to it.
func (t *Tokens) Set(s TokenService) {
	if s == nil {
		t.service.Store(nil)
		return
	}
	t.service.Store(&s)
}

// Service returns the service in force, nil if there is none.
func (t *Tokens) Service() TokenService {
	if t == nil {
		return nil
	}
	if s := t.service.Load(); s != nil {
		return *s
	}
	return nil
}
