package client

import (
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// readSize is how much is read at once.
const readSize = 32 << 10

// read takes answers until the connection ends.
func (cn *conn) read(rest []byte) {
	defer cn.over()
	buf := make([]byte, readSize)
	filled := copy(buf, rest)
	var frames wire.Splitter
	for {
		filled = copy(buf, cn.receive(&frames, buf[:filled]))
		n, err := cn.net.Read(buf[filled:])
		filled += n
		if err != nil {
			cn.receive(&frames, buf[:filled])
			cn.end(talkFault(err))
			return
		}
	}
}

// receive takes all whole answers of a read and wakes their callers. It returns the bytes that are left.
func (cn *conn) receive(frames *wire.Splitter, buf []byte) []byte {
	if len(buf) == 0 {
		return buf
	}
	var woken queue
	var r wire.Response
	now := cn.client.now()
	cn.mu.Lock()
	for {
		payload, rest, kind := frames.Next(buf)
		buf = rest
		if kind == wire.FramePartial {
			break
		}
		if kind == wire.FrameOversized || r.Decode(payload) != nil {
			cn.figures.malformed++
			continue
		}
		cn.answer(&r, now, &woken)
	}
	cn.crowd.Store(int64(max(woken.n, cn.pending.used)))
	finished := cn.retiring && cn.pending.used == 0 && cn.lanes.empty()
	wake := (len(cn.out) > 0 || cn.lanes.due != nil) && cn.claimWriter()
	cn.mu.Unlock()
	cn.wakeWriter(wake)
	woken.wake(cn.chains)
	if finished {
		cn.end(errMoved)
	}
	return buf
}

// answer takes one answer. Caller holds mu.
func (cn *conn) answer(r *wire.Response, now int64, woken *queue) {
	if r.Type == wire.TypePing {
		cn.pong(r, now)
		return
	}
	found := cn.pending.find(r.XID)
	if found == nil || found.kind != r.Type {
		cn.figures.late++
		cn.unwanted(r)
		return
	}
	s := cn.pending.remove(found)
	cn.streak = 0
	cn.figures.answered(r.Status, now-s.sent)
	cn.calm.answered(r, now, cn.client)
	switch {
	case s.batch != nil:
		cn.answerBatch(s, r, now, woken)
	case s.waiter != nil:
		cn.hold(r)
		woken.resolve(s.waiter, result(r))
	case r.Type <= wire.TypeAcquire: // its caller left
		cn.figures.late++
		cn.unwanted(r)
	}
}

func result(r *wire.Response) chain.TokenResult {
	return chain.TokenResult{
		Status: r.Status, Remaining: r.Remaining, TokenID: r.TokenID,
		Wait: time.Duration(max(0, r.WaitMs)) * time.Millisecond,
	}
}
