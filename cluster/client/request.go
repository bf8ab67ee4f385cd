package client

import (
	"context"
	"encoding/binary"
	"errors"
	"math"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

var _ chain.TokenService = (*Client)(nil)

// demand is what a call asks for.
type demand struct {
	kind        wire.Type
	flowID      int64
	count       int64
	prioritized bool
	values      []chain.Arg
}

// RequestToken asks for count units of a flow rule.
func (c *Client) RequestToken(ctx context.Context, flowID, count int64, prioritized bool) chain.TokenResult {
	return c.request(ctx, &demand{kind: wire.TypeFlow, flowID: flowID, count: count, prioritized: prioritized})
}

// RequestParamToken asks for count units of each of the values. Values that cannot be sent are left out; if none is
// left, the request is a bad one.
func (c *Client) RequestParamToken(ctx context.Context, flowID, count int64, values []chain.Arg) chain.TokenResult {
	return c.request(ctx, &demand{kind: wire.TypeParam, flowID: flowID, count: count, values: values})
}

// request asks on the connection in use, and on the next one if that is being left.
func (c *Client) request(ctx context.Context, d *demand) chain.TokenResult {
	if d.flowID <= 0 || d.count <= 0 || d.count > math.MaxInt32 {
		return badRequest()
	}
	for {
		cn, res := c.usable(ctx)
		if cn == nil {
			return res
		}
		w := c.waiters.get()
		err := c.submit(cn, w, d)
		if err != nil {
			c.waiters.put(w)
		} else if res, err = cn.await(ctx, w); err == nil {
			return res
		}
		if res, again := c.refused(cn, err); !again {
			return res
		}
	}
}

// What keeps a request from being sent, apart from the exported errors.
var (
	errUnsendable = errors.New("token client: nothing of the values can be sent")
	errExtension  = errors.New("token client: the server has no concurrency tokens")
)

// submit hands a request to a connection, or says why it does not take it.
func (c *Client) submit(cn *conn, w *waiter, d *demand) error {
	switch {
	case cn.calm.now(c):
		return ErrBackOff
	case d.kind == wire.TypeParam && !c.encode(w, d):
		return errUnsendable
	case d.kind == wire.TypeAcquire && !cn.ext:
		return errExtension
	}
	w.kind, w.flowID, w.count, w.prioritized = d.kind, d.flowID, int32(d.count), d.prioritized
	w.shared = d.kind == wire.TypeFlow && c.window > 0 && d.count == 1 && !d.prioritized
	return cn.post(w)
}

// encode puts the frame of a parameter request into w. False means that it must not be sent.
func (c *Client) encode(w *waiter, d *demand) bool {
	frame, _, dropped, err := wire.AppendParam(w.frame[:0], 0, d.flowID, int32(d.count), d.values, 0)
	w.frame = frame
	if dropped > 0 {
		c.dropped.Add(int64(dropped))
		c.noteDropped(d.flowID)
	}
	return err == nil && (dropped == 0 || !c.strict)
}

// putXID writes the id into a frame.
func putXID(frame []byte, xid int32) { binary.BigEndian.PutUint32(frame[2:], uint32(xid)) }

// usable returns the connection to ask on, or why there is none.
func (c *Client) usable(ctx context.Context) (*conn, chain.TokenResult) {
	if c == nil {
		return nil, failed(ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return nil, failed(err)
	}
	cn := c.current.Load()
	switch {
	case cn == nil:
		c.local.Add(1)
		return nil, failed(c.reason())
	case cn.silent.Load():
		c.local.Add(1)
		return nil, failed(ErrLocal)
	}
	return cn, chain.TokenResult{}
}

// refused says what to answer when a connection did not take a request: again, if there may be another one.
func (c *Client) refused(cn *conn, err error) (res chain.TokenResult, again bool) {
	switch {
	case errors.Is(err, errUnsendable):
		return badRequest(), false
	case errors.Is(err, errExtension):
		return chain.TokenResult{Status: chain.TokenNotAvailable, Remaining: -1}, false
	case errors.Is(err, ErrBackOff):
		c.local.Add(1)
		return chain.TokenResult{Status: chain.TokenTooManyRequest, Err: ErrBackOff}, false
	case c.current.Load() != cn:
		return res, true
	case errors.Is(err, errMoved):
		err = ErrClosed
	}
	c.local.Add(1)
	return failed(err), false
}

// badRequest is the answer to a request that is not sent because it cannot make sense.
func badRequest() chain.TokenResult { return chain.TokenResult{Status: chain.TokenBadRequest} }
