package client

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// waiter is one call that waits for the result of its request. It is used again by later calls. A caller fills it, the
// writer reads it, the reader leaves the answer and the caller takes that, each perhaps on another core: what they touch
// for a plain flow request is the first cache line.
type waiter struct {
	next *waiter       // in the inbox, in a queue of those to be woken, in a chain, or of a batch
	done chan answered // takes one element when the result is set; made once

	// What is asked for.
	flowID int64
	asked  int64 // when, on the client's clock; 0: just before the inbox was emptied
	wait   int64 // of the result, as all below that no comment is at
	xid    int32 // of the request; 0 in the inbox and in a batch
	count  int32

	remaining   int32
	status      chain.TokenStatus
	kind        wire.Type
	prioritized bool
	shared      bool // in a batch, with other calls of the flow

	// Guarded by the connection's mu while the call waits, as xid.
	resolved bool // the result is set, and done has or will get its element
	gone     bool // the call left; the inbox or the batch gives the waiter back
	rare     bool // something of what follows is set

	_       [2]byte
	tokenID int64
	err     error
	refuse  error  // why the connection did not take the request; nil: it did
	frame   []byte // of a parameter request
}

// answered is what done takes. With an element of this size a channel has its cache lines to itself.
type answered [16]byte

func (w *waiter) set(r chain.TokenResult) {
	w.status, w.remaining, w.wait = r.Status, r.Remaining, int64(r.Wait)
	if r.TokenID != 0 || r.Err != nil {
		w.tokenID, w.err, w.rare = r.TokenID, r.Err, true
	}
}

func (w *waiter) get() (r chain.TokenResult, refuse error) {
	r = chain.TokenResult{Status: w.status, Remaining: w.remaining, Wait: time.Duration(w.wait)}
	if w.rare {
		r.TokenID, r.Err, refuse = w.tokenID, w.err, w.refuse
	}
	return r, refuse
}

// waiters are those not in use, of one client.
type waiters struct{ pool sync.Pool }

func (p *waiters) get() *waiter {
	if w, ok := p.pool.Get().(*waiter); ok {
		return w
	}
	return &waiter{done: make(chan answered, 1)}
}

func (p *waiters) put(w *waiter) {
	w.next, w.xid, w.resolved, w.gone = nil, 0, false, false
	if w.rare {
		w.tokenID, w.err, w.refuse, w.rare = 0, nil, nil, false
	}
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
	w.set(r)
	w.resolved = true
	q.push(w)
}

// wake wakes all, in so many chains: each call wakes the next of its chain and then goes on. The waiters belong to their
// calls again afterwards.
//
// A call that is woken by another runs next on the same processor. So the calls of an answer find what they need in its
// caches, and leave their next requests one after the other, which makes one write of them; were all woken at once, the
// other processors, asleep, would be woken to take part of them, which costs more than these calls have to do. One chain
// for every two processors lets those that are awake help, and keeps the chains short where there are many.
func (q *queue) wake(chains int) {
	for left := q.n; left > 0; chains-- {
		length := (left + chains - 1) / chains
		first, last := q.head, q.head
		for range length - 1 {
			last = last.next
		}
		q.head, last.next = last.next, nil
		left -= length
		first.done <- answered{}
	}
	*q = queue{}
}

// chains is how many chains calls are woken in.
func chains() int { return max(1, runtime.GOMAXPROCS(0)/2) }

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
	if next := w.next; next != nil { // of the chain: see wake
		next.done <- answered{}
	}
	r, err := w.get()
	cn.client.waiters.put(w)
	return r, err
}

// failed is the result of a request that no server answered.
func failed(err error) chain.TokenResult {
	return chain.TokenResult{Status: chain.TokenFail, Remaining: -1, Err: err}
}
