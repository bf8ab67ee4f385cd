package client

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// grain is the least time between two looks at what is overdue: how late a timeout may be.
const grain = int64(500 * time.Microsecond)

// alarm makes the timer fire at a time, unless it fires before. Caller holds mu.
func (cn *conn) alarm(at, now int64) {
	if at < cn.fireAt {
		cn.fireAt = at
		cn.timer.Reset(time.Duration(max(0, at-now)))
	}
}

// expire ends the requests whose time is up and closes batches that have waited for long enough. The timer calls it.
func (cn *conn) expire() {
	var woken queue
	cn.mu.Lock()
	now := cn.client.now()
	cn.fireAt = math.MaxInt64
	if cn.why != nil {
		cn.mu.Unlock()
		return
	}
	next := cn.rescue(now, &woken)
	next = min(next, cn.pending.due(now, func(s slot) { cn.timeout(s, &woken) }))
	next = min(next, cn.lanes.overdue(now, &woken, cn))
	if next != math.MaxInt64 {
		cn.alarm(max(next, now+grain), now)
	}
	if m := cn.client.maxTimeouts; m > 0 && cn.streak >= m {
		cn.fallSilent()
	}
	finished := cn.retiring && cn.pending.used == 0 && cn.lanes.empty()
	wake := cn.lanes.due != nil && cn.claimWriter()
	cn.mu.Unlock()
	cn.wakeWriter(wake)
	woken.wake(cn.chains)
	if finished {
		cn.end(errMoved)
	}
}

// rescue registers the calls that have come while the writer was busy, so that their time can end, and returns when to do
// so again. From now on calls note when they come, until the writer is done. Caller holds mu.
func (cn *conn) rescue(now int64, woken *queue) (next int64) {
	if !cn.writing {
		return math.MaxInt64
	}
	cn.stuck.Store(true)
	cn.collect(now, woken)
	return now + cn.client.timeout.Load()
}

// timeout ends one request. Caller holds mu.
func (cn *conn) timeout(s slot, woken *queue) {
	switch {
	case s.batch != nil:
		cn.timeoutBatch(s, woken)
	case s.waiter != nil:
		cn.missed(1)
		woken.resolve(s.waiter, failed(ErrTimeout))
	case s.kind <= wire.TypeAcquire: // its caller left before
		cn.streak++
	}
}

// missed counts calls that got no answer. Caller holds mu.
func (cn *conn) missed(calls int) {
	cn.streak += calls
	cn.figures.timeouts += int64(calls)
}

// fallSilent makes calls decide locally. Caller holds mu.
func (cn *conn) fallSilent() {
	if !cn.silent.Swap(true) {
		cn.silentAt = cn.client.now()
		cn.sudden = cn.backAt == 0 || cn.silentAt-cn.backAt > longSpell
		cn.client.nudge()
	}
}

// retire lets the connection end when what was asked on it is answered or timed out.
func (cn *conn) retire() {
	cn.mu.Lock()
	cn.retiring = true
	finished := cn.pending.used == 0 && cn.lanes.empty()
	cn.mu.Unlock()
	if finished {
		cn.end(errMoved)
	}
}

// end closes the connection and fails at once what waits for an answer. Only the first call has an effect.
func (cn *conn) end(why error) {
	var woken queue
	cn.mu.Lock()
	if cn.why != nil {
		cn.mu.Unlock()
		return
	}
	cn.why = why
	lost := why
	if errors.Is(lost, errMoved) {
		lost = ErrClosed
	}
	cn.timer.Stop()
	cn.pending.due(math.MaxInt64, func(s slot) {
		switch {
		case s.batch != nil:
			s.batch.flying--
			cn.finishBatch(s.batch, failed(lost), &woken)
		case s.waiter != nil:
			woken.resolve(s.waiter, failed(lost))
		}
	})
	cn.lanes.fail(failed(lost), &woken, cn)
	for calls := cn.inbox.close(); calls.n > 0; {
		cn.admit(calls.pop(), 0, &woken)
	}
	wake := cn.claimWriter() // so that it ends
	cn.mu.Unlock()
	cn.wakeWriter(wake)
	woken.wake(cn.chains)
	cn.close()
}

// close closes the socket. TLS says goodbye before, which a server that does not read would delay.
func (cn *conn) close() {
	if cn.silent.Load() {
		_ = cn.raw.Close()
	}
	_ = cn.net.Close()
}

// over tells that the reader has ended.
func (cn *conn) over() {
	cn.client.ended(cn)
	close(cn.done)
	cn.client.nudge()
}

// calm is how long the server is left alone after it had too many requests.
type calm struct {
	until atomic.Int64 // 0: the server has not had too many since
	level int          // guarded by the connection's mu
}

const (
	calmFirst = int64(10 * time.Millisecond)
	calmMost  = int64(200 * time.Millisecond)
)

// answered takes the status of an answer. Caller holds the connection's mu.
func (c *calm) answered(r *wire.Response, now int64, of *Client) {
	if r.Type > wire.TypeParam || of.persistent {
		return
	}
	if r.Status != chain.TokenTooManyRequest {
		if c.level != 0 { // every call reads until, beside it
			c.level = 0
		}
		return
	}
	if now < c.until.Load() {
		return
	}
	bound := min(calmMost, calmFirst<<min(c.level, 10))
	c.level++
	c.until.Store(now + 1 + of.random(bound))
}

// now says whether the server is left alone now.
func (c *calm) now(of *Client) bool {
	until := c.until.Load()
	return until > 0 && of.now() < until
}
