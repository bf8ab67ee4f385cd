package client

import (
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// mostRounds is how many times a batch asks for units of several callers.
const mostRounds = 3

// batch is a group of calls for one unit each of the same flow. It asks for as many units as it has callers; refused,
// for the first half, and so on; after mostRounds for single units. The server's answers are given to the callers in
// the order in which they came. Guarded by the connection's mu.
type batch struct {
	lane     *lane
	members  queue // without result; some may have left
	left     int   // members, without those known to have left
	deadline int64 // of the first member, and so of all
	closes   int64 // when it is sent even if the lane has one under way
	round    int   // 1 to mostRounds; then singles
	asked    int   // units of the last round
	bound    int   // as many as may still be granted, by what was refused and granted so far
	flying   int   // requests without answer
	refused  bool  // a single unit was
	finished bool
	next     *batch
}

func (l *lanes) batch(n *lane) *batch {
	b := l.idle
	if b == nil {
		return &batch{lane: n}
	}
	l.idle = b.next
	*b = batch{lane: n}
	return b
}

func (l *lanes) recycle(b *batch) { *b = batch{next: l.idle}; l.idle = b }

// leave takes out the members whose callers have left. Caller holds mu.
func (cn *conn) leave(b *batch) {
	var stay queue
	b.left = 0
	for w := b.members.pop(); w != nil; w = b.members.pop() {
		if w.gone {
			cn.client.waiters.put(w)
			continue
		}
		stay.push(w)
		b.left++
	}
	b.members = stay
}

// give gives the first member a result. Caller holds mu.
func (b *batch) give(r chain.TokenResult, woken *queue) {
	if w := b.members.pop(); w != nil {
		b.left--
		woken.resolve(w, r)
	}
}

func (cn *conn) giveAll(b *batch, r chain.TokenResult, woken *queue) {
	for b.left > 0 {
		b.give(r, woken)
	}
}

// answerBatch takes the answer to a request of a batch. Caller holds mu.
func (cn *conn) answerBatch(s slot, r *wire.Response, now int64, woken *queue) {
	b := s.batch
	b.flying--
	if b.finished {
		cn.figures.late++
		cn.release(b)
		return
	}
	cn.leave(b)
	switch {
	case r.Status.Granted():
		b.bound -= s.asked
		b.grant(s.asked, r, woken)
	case r.Status != chain.TokenBlocked:
		cn.finishBatch(b, result(r), woken)
		return
	default:
		b.bound = min(b.bound, s.asked-1)
		b.refused = b.refused || s.asked == 1
	}
	cn.carryOn(b, now, woken)
}

// grant gives the first members a unit each, with what a single request would have been told to remain.
func (b *batch) grant(units int, r *wire.Response, woken *queue) {
	res := result(r)
	for i := units - 1; i >= 0 && b.left > 0; i-- {
		if res.Remaining = r.Remaining; r.Remaining >= 0 {
			res.Remaining = wire.Clamp(int64(r.Remaining) + int64(i))
		}
		b.give(res, woken)
	}
}

// carryOn asks for those who are left. Caller holds mu.
func (cn *conn) carryOn(b *batch, now int64, woken *queue) {
	switch {
	case b.left == 0:
		cn.finishBatch(b, chain.TokenResult{}, woken)
	case b.flying > 0: // single units under way
	case b.refused:
		cn.finishBatch(b, chain.TokenResult{Status: chain.TokenBlocked}, woken)
	case b.round < mostRounds:
		b.round++
		b.asked = min((b.asked+1)/2, b.left)
		cn.askBatch(b, b.asked, now)
	default:
		cn.askSingles(b, now)
	}
}

// askSingles asks for one unit. Once that is granted, it asks for a unit for each of those left who may get one.
// Caller holds mu.
func (cn *conn) askSingles(b *batch, now int64) {
	n := 1
	if b.round++; b.round > mostRounds+1 {
		n = max(1, min(b.left, b.bound))
	}
	for range n {
		cn.askBatch(b, 1, now)
	}
}

// timeoutBatch ends a batch that got no answer in time. Caller holds mu.
func (cn *conn) timeoutBatch(s slot, woken *queue) {
	b := s.batch
	b.flying--
	if b.finished {
		cn.release(b)
		return
	}
	cn.leave(b)
	cn.missed(max(1, b.left))
	cn.finishBatch(b, failed(ErrTimeout), woken)
}

// finishBatch gives all who are left the same result. Caller holds mu.
func (cn *conn) finishBatch(b *batch, r chain.TokenResult, woken *queue) {
	if !b.finished {
		b.finished = true
		cn.leave(b)
		cn.giveAll(b, r, woken)
		b.lane.flying--
		cn.lanes.settle(b.lane)
	}
	cn.release(b)
}

// release lets a batch be used again when nothing refers to it. Caller holds mu.
func (cn *conn) release(b *batch) {
	if b.finished && b.flying == 0 {
		cn.lanes.recycle(b)
	}
}
