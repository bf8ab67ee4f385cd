package client

import (
	"context"
	"sync"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// waiter is one call that waits for the result of its request. It is used again by later calls.
type waiter struct {
	done   chan struct{} // takes one element when result is set; made once
	result chain.TokenResult
	refuse error   // with result: why the connection did not take the request; nil: it did
	next   *waiter // in the inbox, in a queue of those to be woken, or of a batch

	// What is asked for.
	kind        wire.Type
	flowID      int64
	count       int32
	prioritized bool
	shared      bool   // in a batch, with other calls of the flow
	frame       []byte // of a parameter request
	asked       int64  // when, on the client's clock; 0: just before the inbox was emptied

	// Guarded by the connection's mu while the call waits.
	xid      int32 // of its request; 0 in the inbox and in a batch
	resolved bool  // result is set, and done has or will get its element
	gone     bool  // the call left; the inbox or the batch gives the waiter back
}

// waiters are those not in use, of one client.
type waiters struct{ pool sync.Pool }

func (p *waiters) get() *waiter {
	if w, ok := p.pool.Get().(*waiter); ok {
		return w
	}
	return &waiter{done: make(chan struct{}, 1)}
}

func (p *waiters) put(w *waiter) {
	w.next, w.refuse, w.xid, w.resolved, w.gone = nil, nil, 0, false, false
	w.result = chain.TokenResult{}
	p.pool.Put(w)
}

// queue is a list of waiters in the order in which they came.
type queue struct {
	head, tail *waiter
	n          int
}

func (q *queue) push(w *waiter) {
	if w.next = nil; q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.n++
}

func (q *queue) pop() *waiter {
	w := q.head
	if w == nil {
		return nil
	}
	if q.head = w.next; q.head == nil {
		q.tail = nil
	}
	w.next = nil
	q.n--
	return w
}

// resolve sets the result of a waiting call and puts it into the queue of those to be woken. Caller holds the
// connection's mu, and wakes the queue when it has let go of it.
func (q *queue) resolve(w *waiter, r chain.TokenResult) {
	w.result, w.resolved = r, true
	q.push(w)
}

// wake wakes all. The waiters belong to their calls again afterwards.
func (q *queue) wake() {
	for w := q.pop(); w != nil; w = q.pop() {
		w.done <- struct{}{}
	}
}

// await waits for the result of a call in the inbox of cn, at most until the context ends. The error says that cn did not
// take the request.
func (cn *conn) await(ctx context.Context, w *waiter) (chain.TokenResult, error) {
	if left := ctx.Done(); left == nil {
		<-w.done
	} else {
		select {
		case <-w.done:
		case <-left:
			if cn.abandon(w) {
				return failed(ctx.Err()), nil
			}
			<-w.done // the answer came just now
		}
	}
	r, err := w.result, w.refuse
	cn.client.waiters.put(w)
	return r, err
}

// failed is the result of a request that no server answered.
func failed(err error) chain.TokenResult {
	return chain.TokenResult{Status: chain.TokenFail, Remaining: -1, Err: err}
}
