package chain

import (
	"context"
	"fmt"
	"math"
)

// Answer is what the result of a request for tokens means for the call under one rule.
type Answer uint8

// The answers.
const (
	AnswerPass        Answer = iota // let in, perhaps after a wait, which the call has been told of
	AnswerBlock                     // refused by the server
	AnswerFallback                  // no server decided: the rule's fallback does
	AnswerUnavailable               // as AnswerFallback: the server has no concurrency tokens
	AnswerGone                      // the caller left while it waited for the answer: see Context.GaveUp
)

// Asker asks the token service for one rule in cluster mode and says what the answer means: one way for all kinds of
// rules. It is safe for concurrent use. Its zero value finds no service.
type Asker struct {
	tokens *Tokens
	config ClusterConfig
	now    func() int64
}

// NewAsker makes the asker of a rule; now returns engine time in ns, and config must be valid.
func NewAsker(tokens *Tokens, config *ClusterConfig, now func() int64) Asker {
	a := Asker{tokens: tokens, now: now}
	if config != nil {
		a.config = *config
	}
	return a
}

type demand uint8

const (
	demandFlow demand = iota
	demandParam
	demandConcurrent
)

// request is one request for tokens.
type request struct {
	demand      demand
	flowID      int64
	count       int64
	prioritized bool
	values      []Arg
}

// Flow asks for the call's units of a rate. A call of no units passes unasked while there is a service.
func (a *Asker) Flow(c *Context) Answer {
	return a.ask(c, &request{demand: demandFlow, count: c.Count, prioritized: c.Prioritized})
}

// Param asks for the call's units of each value. Without values the call passes unasked.
func (a *Asker) Param(c *Context, values []Arg) Answer {
	if len(values) == 0 {
		return AnswerPass
	}
	return a.ask(c, &request{demand: demandParam, count: c.Count, values: values})
}

// Concurrent asks for a place among the calls in flight. The call holds it until it ends, or is refused later.
func (a *Asker) Concurrent(c *Context) Answer {
	return a.ask(c, &request{demand: demandConcurrent, count: max(1, c.Count)})
}

// ask sends the request and acts on its answer. After a request that nobody answered, the others of the same call are
// not sent, so that a call waits for one timeout at most.
func (a *Asker) ask(c *Context, q *request) Answer {
	if a.tokens == nil {
		return AnswerFallback
	}
	service := a.tokens.service.Load()
	switch {
	case service == nil:
		return a.tokens.fellBack(ReasonNoService)
	case q.count == 0:
		return AnswerPass
	case c.unanswered:
		return a.tokens.fellBack(ReasonSkipped)
	case q.count > math.MaxInt32: // no server can be asked for so many
		return a.tokens.fellBack(ReasonBadRequest)
	}
	q.flowID = a.config.FlowID
	ctx := c.asking
	if ctx == nil {
		ctx = context.Background()
	}
	res := a.tokens.send(ctx, c, *service, q)
	a.tokens.answered(res.Status)
	if q.demand == demandConcurrent && res.Status.Granted() && res.TokenID != 0 {
		c.Hold(a, NeedRelease, res.TokenID, 0, service)
	}
	if res.Status == TokenFail && res.Err != nil {
		c.unanswered = true
		if c.left = ctx.Err(); c.left != nil {
			return AnswerGone
		}
	}
	return a.judge(c, q.demand, res)
}

// judge says what the answer means, as in Sentinel but for places among the calls in flight, which a server may not know.
func (a *Asker) judge(c *Context, d demand, res TokenResult) Answer {
	switch res.Status {
	case TokenOK:
		return AnswerPass
	case TokenBlocked:
		return AnswerBlock
	case TokenShouldWait:
		if d != demandParam {
			c.Wait(max(0, a.now()-c.Now) + min(int64(res.Wait), math.MaxInt64/2)) // whatever the service says, no overflow
			return AnswerPass
		}
	case TokenNoRule:
		return a.tokens.fellBack(ReasonNoRule)
	case TokenBadRequest:
		return a.tokens.fellBack(ReasonBadRequest)
	case TokenTooManyRequest:
		return a.tokens.fellBack(ReasonTooMany)
	case TokenFail:
		return a.tokens.fellBack(ReasonNoAnswer)
	case TokenNotAvailable:
		if d == demandConcurrent {
			a.tokens.fellBack(ReasonNotAvailable)
			return AnswerUnavailable
		}
	case TokenNoRefRule, TokenReleased, TokenAlreadyReleased:
	}
	if d == demandParam {
		return a.tokens.fellBack(ReasonUnexpected)
	}
	return AnswerBlock
}

// send asks the service, which may be the user's: one that panics has not answered.
func (t *Tokens) send(ctx context.Context, c *Context, s TokenService, q *request) (res TokenResult) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			res = TokenResult{Status: TokenFail, Err: t.panicked(p)}
			return
		}
		c.UndoTo(Mark{}) // it ended the goroutine
	}()
	switch q.demand {
	case demandFlow:
		res = s.RequestToken(ctx, q.flowID, q.count, q.prioritized)
	case demandParam:
		res = s.RequestParamToken(ctx, q.flowID, q.count, q.values)
	case demandConcurrent:
		res = s.AcquireConcurrent(ctx, q.flowID, q.count)
	}
	returned = true
	return res
}

func (t *Tokens) panicked(p any) error {
	err := fmt.Errorf("panic: %v", p)
	if t.Failed != nil {
		t.Failed("token service", err)
	}
	return err
}

// Commit has nothing to confirm.
func (a *Asker) Commit(*Context, *Hold) *BlockError { return nil }

// Undo gives the token of a call that was refused later back.
func (a *Asker) Undo(_ *Context, h *Hold) { a.release(h) }

// Release gives the token of a call that ended back.
func (a *Asker) Release(_ *Context, h *Hold, _ Done) { a.release(h) }

// release tells the service that gave the token, whichever is in force now.
func (a *Asker) release(h *Hold) {
	service, ok := h.Ref.(*TokenService)
	if !ok {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			_ = a.tokens.panicked(p)
		}
	}()
	(*service).ReleaseConcurrent(h.A)
}

// Shares says whether the rule's threshold is divided among the clients while no server decides.
func (a *Asker) Shares() bool {
	return a.config.ThresholdType == ThresholdGlobal && a.config.Fallback() == FallbackShare
}

// Fallback returns the rule's policy in effect.
func (a *Asker) Fallback() FallbackPolicy { return a.config.Fallback() }

// Clients returns by how many the rule's threshold is to be divided now, at least 1.
func (a *Asker) Clients() int {
	if !a.Shares() {
		return 1
	}
	return a.tokens.clients()
}

// Explain tells the threshold of the token server that refused.
func (a *Asker) Explain(count float64) Explanation {
	if a.config.ThresholdType == ThresholdPerClient {
		count *= float64(a.tokens.clients())
	}
	return Explanation{Limit: count, ByServer: true}
}

// clients returns how many clients the server counted lately, 1 while that is not known.
func (t *Tokens) clients() (n int) {
	s := t.Service()
	if s == nil {
		return 1
	}
	defer func() {
		if p := recover(); p != nil {
			_ = t.panicked(p)
			n = 1
		}
	}()
	return max(1, s.Connected())
}

// asked is what a call knows of its requests for tokens.
type asked struct {
	asking     context.Context // the caller's, while the call is being decided
	unanswered bool            // a request got no answer
	left       error           // the caller left: its context's error
	values     []Arg           // reused by the next call of the record
}

// StartAsking tells the call's checks that the token service may be asked from now on, in the caller's context. The
// engine alone calls it.
func (c *Context) StartAsking(ctx context.Context) { c.asking, c.unanswered, c.left = ctx, false, nil }

// StopAsking ends that. It drops what belongs to the caller.
func (c *Context) StopAsking() { c.asking, c.left = nil, nil }

// Values returns an empty list for the values of a request, to append to.
func (c *Context) Values() []Arg { return c.values[:0] }

// mostValues bounds the list that a call leaves to the next one.
const mostValues = 64

// KeepValues takes the list back after the request.
func (c *Context) KeepValues(values []Arg) {
	clear(values)
	if c.values = values; cap(values) > mostValues {
		c.values = nil
	}
}

// Left says whether the caller left while the call waited for a token service.
func (c *Context) Left() bool { return c.left != nil }

// GaveUp is the refusal of a call whose caller left while it waited for a token service.
func (c *Context) GaveUp() *BlockError {
	return NewBlockError(KindFlow, c.Resource.Name, nil, c.left, nil)
}

// Resolve decides as an answer says: refused is the refusal by the server, blocked that by a fallback that refuses every
// call. Where the fallback decides in this process, decide does, by the rule's share among so many clients.
func (a *Asker) Resolve(c *Context, answer Answer, refused, blocked *BlockError, decide func(clients int) *BlockError) *BlockError {
	switch answer {
	case AnswerPass:
		return nil
	case AnswerBlock:
		return refused
	case AnswerGone:
		return c.GaveUp()
	case AnswerFallback, AnswerUnavailable:
	}
	switch a.Fallback() {
	case FallbackPass:
		return nil
	case FallbackBlock:
		return blocked
	case FallbackUnset, FallbackShare, FallbackLocal:
	}
	return decide(a.Clients())
}
