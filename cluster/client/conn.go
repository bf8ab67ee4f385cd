package client

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// conn is a connection on which requests can be made. A goroutine reads it, one writes it, and a timer ends requests
// whose time is up. It is over when the reader has ended.
type conn struct {
	client *Client
	net    net.Conn // with TLS, if any
	raw    net.Conn // without
	addr   string
	ext    bool // the server knows the extension
	born   int64
	silent atomic.Bool   // the server is not asked for now; written with mu held
	wakeup chan struct{} // tells the writer that there is something to write
	done   chan struct{} // closed when the connection is over

	mu       sync.Mutex
	why      error // guarded by mu, as all below; set: no more requests
	retiring bool
	pending  table
	out      []byte // frames to write
	crowd    int    // calls that the last read answered, or that waited after it
	writing  bool   // the writer will look at out again without being woken
	streak   int    // timeouts in a row
	silentAt int64  // when the server fell silent last
	backAt   int64  // when it answered again
	sudden   bool   // it had not been silent for a while before
	timer    *time.Timer
	fireAt   int64 // when timer fires; math.MaxInt64: it is not set
	pings    pings
	calm     calm
	lanes    lanes
	held     map[int64]struct{} // concurrency tokens
	figures  figures
}

// errMoved says that a connection takes no more requests, while another one may.
var errMoved = errors.New("token client: connection takes no more requests")

// start lets the connection run. Bytes that were read already are in rest.
func (cn *conn) start(rest []byte) {
	cn.timer = time.AfterFunc(time.Hour, cn.expire)
	cn.timer.Stop()
	open := cn.client.opened(cn)
	cn.client.running.Go(cn.write)
	cn.client.running.Go(func() { cn.read(rest) })
	if !open {
		cn.end(ErrClosed)
	}
}

// admit says whether a request may be sent now. Caller holds mu.
func (cn *conn) admit(now int64) error {
	switch {
	case cn.why != nil:
		return cn.why
	case cn.retiring:
		return errMoved
	case len(cn.out) > writeMost:
		return ErrTimeout
	case cn.calm.until > now:
		return ErrBackOff
	}
	return nil
}

// ask sends a request of a single call. If it fails, the call does not wait.
func (cn *conn) ask(w *waiter, r *wire.Request) error {
	now := cn.client.now()
	cn.mu.Lock()
	if err := cn.admit(now); err != nil {
		cn.mu.Unlock()
		return err
	}
	s := cn.enqueue(r, now, now+cn.client.timeout.Load())
	s.waiter, w.xid = w, s.xid
	wake := cn.claimWriter()
	cn.mu.Unlock()
	cn.wakeWriter(wake)
	return nil
}

// askEncoded is as ask, with the request's frame in w.
func (cn *conn) askEncoded(w *waiter) error {
	now := cn.client.now()
	cn.mu.Lock()
	if err := cn.admit(now); err != nil {
		cn.mu.Unlock()
		return err
	}
	s := cn.register(wire.TypeParam, now, now+cn.client.timeout.Load())
	s.waiter, w.xid = w, s.xid
	start := len(cn.out)
	cn.out = append(cn.out, w.frame...)
	putXID(cn.out[start:], s.xid)
	wake := cn.claimWriter()
	cn.mu.Unlock()
	cn.wakeWriter(wake)
	return nil
}

// enqueue registers a request and then appends its frame to what is written next. Caller holds mu.
func (cn *conn) enqueue(r *wire.Request, now, deadline int64) *slot {
	s := cn.register(r.Type, now, deadline)
	r.XID = s.xid
	cn.append(r)
	return s
}

// register adds a request without answer. Caller holds mu.
func (cn *conn) register(kind wire.Type, now, deadline int64) *slot {
	s := cn.pending.add()
	s.kind, s.sent, s.deadline = kind, now, deadline
	cn.figures.requests++
	cn.alarm(deadline, now)
	return s
}

// append adds a frame to what is written next. Caller holds mu.
func (cn *conn) append(r *wire.Request) {
	out, err := wire.AppendRequest(cn.out, r)
	if err != nil { // nothing that is sent here is too long or without encoding
		cn.figures.malformed++
	}
	cn.out = out
}

// abandon makes a request one that nobody waits for. It keeps its place, so that a missing answer is noticed. False
// means that the result is there.
func (cn *conn) abandon(w *waiter) bool {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if w.resolved {
		return false
	}
	if w.batched {
		w.gone = true
		return true
	}
	if s := cn.pending.find(w.xid); s != nil && s.waiter == w {
		s.waiter = nil
	}
	cn.client.waiters.put(w)
	return true
}
