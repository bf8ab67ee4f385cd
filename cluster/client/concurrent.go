package client

import (
	"context"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// AcquireConcurrent takes count places of a rule that limits calls in flight. It is answered chain.TokenNotAvailable if
// the server does not know the extension of the protocol, as Sentinel's. While tokens are held, they are renewed every half
// second on the connection that they came from; those of a lost connection expire on the server.
func (c *Client) AcquireConcurrent(ctx context.Context, flowID, count int64) chain.TokenResult {
	return c.request(ctx, &demand{kind: wire.TypeAcquire, flowID: flowID, count: count})
}

// ReleaseConcurrent gives the places of a token back. It does not wait for the answer, and without a connection it does
// nothing: the server lets the token expire.
func (c *Client) ReleaseConcurrent(tokenID int64) {
	if c == nil {
		return
	}
	if cn := c.current.Load(); cn != nil && cn.ext {
		cn.mu.Lock()
		wake := false
		if cn.why == nil {
			cn.giveBack(tokenID)
			wake = cn.claimWriter()
		}
		cn.mu.Unlock()
		cn.wakeWriter(wake)
	}
}

// giveBack sends the release of a token. Caller holds mu.
func (cn *conn) giveBack(tokenID int64) {
	delete(cn.held, tokenID)
	now := cn.client.now()
	cn.enqueue(&wire.Request{Type: wire.TypeRelease, TokenID: tokenID}, now, now+cn.client.timeout.Load())
}

// hold notes the token that came with an answer. Caller holds mu.
func (cn *conn) hold(r *wire.Response) {
	if r.Type != wire.TypeAcquire || !r.Status.Granted() {
		return
	}
	if cn.held == nil {
		cn.held = map[int64]struct{}{}
	}
	if cn.held[r.TokenID] = struct{}{}; len(cn.held) == 1 {
		cn.client.nudge()
	}
}

// unwanted gives back the token of an answer that came too late. Caller holds mu.
func (cn *conn) unwanted(r *wire.Response) {
	if r.Type == wire.TypeAcquire && r.Status.Granted() && r.TokenID != 0 && cn.why == nil {
		cn.giveBack(r.TokenID)
	}
}

// renew tells the server that the tokens of the connection are still held, if there are any.
func (cn *conn) renew() {
	cn.mu.Lock()
	wake := false
	if len(cn.held) > 0 && cn.why == nil && len(cn.out) <= writeMost {
		now := cn.client.now()
		cn.enqueue(&wire.Request{Type: wire.TypeRenew}, now, now+cn.client.timeout.Load())
		wake = cn.claimWriter()
	}
	cn.mu.Unlock()
	cn.wakeWriter(wake)
}

// holds says whether the connection has tokens to renew.
func (cn *conn) holds() bool {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	return len(cn.held) > 0
}
