package client

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
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
	chains int           // in which calls are woken
	wakeup chan struct{} // tells the writer that there is work
	done   chan struct{} // closed when the connection is over

	// What every call reads, and few write.
	silent atomic.Bool // the server is not asked for now; written with mu held
	stuck  atomic.Bool // the writer has been writing for more than the grain; written with mu held
	calm   calm

	inbox inbox
	awake atomic.Bool  // the writer will look for work again without being woken
	crowd atomic.Int64 // calls that the last read answered, or that waited after it

	mu       sync.Mutex
	why      error // guarded by mu, as all below; set: no more requests
	retiring bool
	pending  table
	out      []byte // frames to write
	writing  bool   // the writer is busy with what it took last
	streak   int    // timeouts in a row
	silentAt int64  // when the server fell silent last
	backAt   int64  // when it answered again
	sudden   bool   // it had not been silent for a while before
	timer    *time.Timer
	fireAt   int64 // when timer fires; math.MaxInt64: it is not set
	pings    pings
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

// admit says whether the request of a call in the inbox may be sent. If not, the call is to be woken, unless it has left.
// Caller holds mu.
func (cn *conn) admit(w *waiter, now int64, woken *queue) bool {
	var refuse error
	switch {
	case w.gone:
		cn.client.waiters.put(w)
		return false
	case cn.why != nil:
		refuse = cn.why
	case cn.retiring:
		refuse = errMoved
	case len(cn.out) > writeMost:
		refuse = ErrTimeout
	case cn.calm.until.Load() > now:
		refuse = ErrBackOff
	default:
		return true
	}
	w.refuse, w.rare = refuse, true
	woken.resolve(w, chain.TokenResult{})
	return false
}

// post leaves a call in the inbox. If it fails, the call does not wait.
func (cn *conn) post(w *waiter) error {
	if w.asked = 0; cn.stuck.Load() {
		w.asked = cn.client.now()
	}
	first, open := cn.inbox.push(w)
	if !open {
		cn.mu.Lock()
		defer cn.mu.Unlock()
		return cn.why
	}
	if first {
		cn.wakeWriter(cn.claimWriter())
	}
	return nil
}

// collect registers the requests of the calls in the inbox. Those that it does not take are to be woken. Caller holds mu.
func (cn *conn) collect(now int64, woken *queue) {
	timeout, first := cn.client.timeout.Load(), now
	calls := cn.inbox.take()
	if calls.n == 0 {
		return
	}
	for w := calls.pop(); w != nil; w = calls.pop() {
		asked := now
		if w.asked > 0 {
			asked = w.asked
			first = min(first, asked)
		}
		switch {
		case !cn.admit(w, now, woken):
		case w.shared:
			cn.join(w, asked, asked+timeout)
		default:
			cn.ask(w, asked, asked+timeout)
		}
	}
	cn.alarm(first+timeout, now)
}

// ask sends the request of a single call. Caller holds mu.
func (cn *conn) ask(w *waiter, now, deadline int64) {
	s := cn.register(w.kind, now, deadline)
	s.waiter, w.xid = w, s.xid
	if w.kind == wire.TypeParam {
		start := len(cn.out)
		cn.out = append(cn.out, w.frame...)
		putXID(cn.out[start:], s.xid)
		return
	}
	cn.append(&wire.Request{XID: s.xid, Type: w.kind, FlowID: w.flowID, Count: w.count, Prioritized: w.prioritized})
}

// enqueue registers a request and then appends its frame to what is written next. Caller holds mu.
func (cn *conn) enqueue(r *wire.Request, now, deadline int64) *slot {
	s := cn.register(r.Type, now, deadline)
	cn.alarm(deadline, now)
	r.XID = s.xid
	cn.append(r)
	return s
}

// register adds a request without answer, for which the timer is to be set. Caller holds mu.
func (cn *conn) register(kind wire.Type, now, deadline int64) *slot {
	s := cn.pending.add()
	s.kind, s.sent, s.deadline = kind, now, deadline
	cn.figures.requests++
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
	if w.xid == 0 {
		w.gone = true
		return true
	}
	if s := cn.pending.find(w.xid); s != nil && s.waiter == w {
		s.waiter = nil
	}
	cn.client.waiters.put(w)
	return true
}
