package client

import (
	"errors"
	"math"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// lane is the coalescing of one flow on one connection. It exists while it has work.
type lane struct {
	flow   int64
	flying int    // batches that were sent and are not finished
	open   *batch // takes callers; nil: none
	due    bool   // open is to be sent with the next write
	next   *lane  // in the list of those that are due, or of those not in use
}

// lanes are all of a connection. Guarded by its mu.
type lanes struct {
	byFlow map[int64]*lane
	due    *lane // list
	spare  *lane // list
	idle   *batch
}

func (l *lanes) empty() bool { return len(l.byFlow) == 0 }

func (l *lanes) of(flow int64) *lane {
	if n := l.byFlow[flow]; n != nil {
		return n
	}
	n := l.spare
	if n == nil {
		n = new(lane)
	} else {
		l.spare = n.next
	}
	*n = lane{flow: flow}
	if l.byFlow == nil {
		l.byFlow = map[int64]*lane{}
	}
	l.byFlow[flow] = n
	return n
}

// settle forgets a lane without work, and makes one due whose callers have no batch before them any more.
func (l *lanes) settle(n *lane) {
	switch {
	case n.flying > 0:
	case n.open != nil:
		l.send(n)
	default:
		delete(l.byFlow, n.flow)
		n.next, l.spare = l.spare, n
	}
}

// send makes a lane due.
func (l *lanes) send(n *lane) {
	if !n.due {
		n.due, n.next, l.due = true, l.due, n
	}
}

// join lets a call take part in the next request of its flow. Caller holds mu.
func (cn *conn) join(w *waiter, now, deadline int64) {
	n := cn.lanes.of(w.flowID)
	if n.open == nil {
		b := cn.lanes.batch(n)
		n.open, b.deadline, b.closes = b, deadline, now+int64(cn.client.window)
		if n.flying == 0 {
			cn.lanes.send(n)
			cn.alarm(b.deadline, now) // the writer may be held up
		} else {
			cn.alarm(b.closes, now)
		}
	}
	n.open.members.push(w)
	n.open.left++
}

// sendBatches closes the batches that are due and appends their requests. Caller holds mu.
func (cn *conn) sendBatches(now int64) {
	for n := cn.lanes.due; n != nil; n = cn.lanes.due {
		cn.lanes.due, n.next, n.due = n.next, nil, false
		b := n.open
		n.open = nil
		if cn.leave(b); b.left == 0 {
			cn.lanes.recycle(b)
			cn.lanes.settle(n)
			continue
		}
		n.flying++
		if b.left > 1 {
			cn.figures.coalesced += int64(b.left)
		}
		b.round, b.asked, b.bound = 1, b.left, b.left
		cn.askBatch(b, b.asked, now)
	}
}

// overdue makes the lanes due whose batch has waited for the window, and returns when the next one will have. It also
// ends batches whose time is up before they were sent.
func (l *lanes) overdue(now int64, woken *queue, cn *conn) (next int64) {
	next = math.MaxInt64
	for _, n := range l.byFlow {
		b := n.open
		switch {
		case b == nil:
		case b.deadline <= now:
			cn.drop(n, failed(ErrTimeout), woken)
		case n.due:
			next = min(next, b.deadline)
		case b.closes <= now:
			l.send(n)
			next = min(next, b.deadline)
		default:
			next = min(next, b.closes)
		}
	}
	return next
}

// drop ends the open batch of a lane. Caller holds mu.
func (cn *conn) drop(n *lane, r chain.TokenResult, woken *queue) {
	b := n.open
	cn.leave(b)
	if errors.Is(r.Err, ErrTimeout) {
		cn.missed(b.left)
	}
	cn.giveAll(b, r, woken)
	cn.lanes.recycle(b)
	n.open = nil
	if n.due {
		cn.lanes.undue(n)
	}
	cn.lanes.settle(n)
}

func (l *lanes) undue(n *lane) {
	for at := &l.due; *at != nil; at = &(*at).next {
		if *at == n {
			*at, n.next, n.due = n.next, nil, false
			return
		}
	}
}

// fail ends all open batches. Caller holds mu.
func (l *lanes) fail(r chain.TokenResult, woken *queue, cn *conn) {
	for _, n := range l.byFlow {
		if n.open != nil {
			cn.drop(n, r, woken)
		}
	}
}

// askBatch sends a request of a batch. Caller holds mu.
func (cn *conn) askBatch(b *batch, units int, now int64) {
	r := wire.Request{Type: wire.TypeFlow, FlowID: b.lane.flow, Count: int32(min(units, math.MaxInt32))}
	s := cn.enqueue(&r, now, b.deadline)
	s.batch, s.asked = b, units
	b.flying++
}
