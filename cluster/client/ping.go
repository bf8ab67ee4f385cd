package client

import (
	"time"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

const (
	firstPing = wire.MaxXID + 1 // ids of pings on a running connection
	pingIDs   = 1 << 20         // before they begin again; below wire.HelloXID
)

// pings are those sent on a connection. Guarded by its mu.
type pings struct {
	last     int32 // the number of the one sent last
	sentAt   int64
	answered bool // the last one
	unheard  int  // in a row
}

// ping sends a ping, unless so much waits to be written that it would be of no use. Caller does not hold mu.
func (cn *conn) ping(now int64) {
	cn.mu.Lock()
	if cn.why != nil || cn.retiring {
		cn.mu.Unlock()
		return
	}
	p := &cn.pings
	if p.sentAt != 0 && !p.answered {
		if p.unheard++; cn.client.maxTimeouts > 0 {
			cn.fallSilent()
		}
	}
	p.last = (p.last + 1) % pingIDs
	p.sentAt, p.answered = now, false
	wake := false
	if len(cn.out) <= writeMost {
		cn.append(&wire.Request{XID: firstPing + p.last, Type: wire.TypePing, Namespace: []byte(cn.client.namespace)})
		wake = cn.claimWriter()
	}
	cn.mu.Unlock()
	cn.wakeWriter(wake)
}

// pong takes the answer to a ping. One that comes within the timeout ends deciding locally, whatever it says: a server
// that does not register the client answers all the same. Caller holds mu.
func (cn *conn) pong(r *wire.Response, now int64) {
	cn.client.counted(r)
	p := &cn.pings
	if r.XID != firstPing+p.last {
		return
	}
	p.answered, p.unheard = true, 0
	if now-p.sentAt > max(cn.client.timeout.Load(), int64(time.Millisecond)) {
		return
	}
	if cn.silent.Load() {
		cn.streak, cn.backAt = 0, now
		cn.silent.Store(false)
		cn.client.nudge()
	}
}

// counted takes the number of connected clients from a ping's answer.
func (c *Client) counted(r *wire.Response) {
	if r.Status == 0 && r.Connected > 0 {
		c.connected.Store(r.Connected)
	}
}

// heard says when the last ping was sent, whether it was answered, and how many before it in a row were not.
func (cn *conn) heard() (sentAt int64, answered bool, unheard int) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return cn.pings.sentAt, cn.pings.answered, cn.pings.unheard
}
