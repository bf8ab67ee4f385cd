package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// flows answers the flow requests at the beginning of in that are in their usual layout, which most requests are, and
// returns what follows them.
func (c *conn) flows(b *batch, in []byte) (rest []byte, n int) {
	for len(b.out) <= flushAt {
		room := min((flushAt-len(b.out))/wire.TokenFrame+1, len(b.flows))
		k := 0
		for ; k < room; k++ {
			xid, id, count, prioritized, ok := wire.CutFlow(in)
			if !ok {
				break
			}
			in = in[wire.FlowFrame:]
			r := &b.flows[k]
			r.Ref, r.ID, r.Count, r.Prioritized = xid, id, count, prioritized
		}
		if k == 0 {
			break
		}
		c.s.service.Flows(b.now, c.ns, b.flows[:k])
		for i := range k {
			r := &b.flows[i]
			b.token(r.Ref, wire.TypeFlow, r.Status, r.Remaining, r.Wait)
		}
		n += k
	}
	return in, n
}

// answer appends the answer to one message.
func (c *conn) answer(b *batch, payload []byte) {
	req := &b.req
	if err := req.Decode(payload); err != nil {
		c.malformed(b, payload, err)
		return
	}
	switch req.Type {
	case wire.TypeFlow, wire.TypeParam:
		r := c.decide(b, req)
		b.token(req.XID, req.Type, r.Status, r.Remaining, r.Wait)
	case wire.TypePing:
		c.ping(b, req)
	default:
		c.extension(b, req)
	}
}

// decide has the token service decide.
func (c *conn) decide(b *batch, req *wire.Request) chain.TokenResult {
	switch {
	case !c.proven:
		b.unproven++
		return chain.TokenResult{Status: chain.TokenFail}
	case b.shed > 0 && sheds(b.shed, req):
		b.refused++
		return chain.TokenResult{Status: chain.TokenTooManyRequest}
	case req.Type == wire.TypeFlow:
		return c.s.service.Flow(b.now, c.ns, req.FlowID, req.Count, req.Prioritized)
	}
	return c.s.service.Param(b.now, c.ns, req.FlowID, req.Count, req.Values)
}

// token appends the answer to a request for tokens, and counts it.
func (b *batch) token(xid int32, t wire.Type, status chain.TokenStatus, remaining int32, wait time.Duration) {
	b.answers[statusIndex(status)]++
	var ms int32
	if wait > 0 {
		ms = wire.Clamp(int64((wait + time.Millisecond - 1) / time.Millisecond))
	}
	b.out = wire.AppendToken(b.out, xid, t, status, remaining, ms)
}

// reply appends the response.
func (b *batch) reply() {
	// It fails for proofs too long for a frame only, and ours is not. Then there is no answer.
	b.out, _ = wire.AppendResponse(b.out, &b.resp)
}

// status appends a response without data.
func (b *batch) status(xid int32, t wire.Type, s chain.TokenStatus) {
	b.out = append(b.out, 0, 6, byte(xid>>24), byte(xid>>16), byte(xid>>8), byte(xid), byte(t), byte(s))
}

// ping counts the connection in a namespace. It also tells a peer that knows the extension that this one does.
func (c *conn) ping(b *batch, req *wire.Request) {
	b.pings++
	b.resp = wire.Response{XID: req.XID, Type: wire.TypePing, Status: chain.TokenFail}
	if req.XID == wire.HelloXID {
		b.resp.XID, c.knows = wire.ReplyXID, true
	}
	switch {
	case !c.proven:
		b.unproven++
	case len(bytes.TrimSpace(req.Namespace)) > 0:
		if c.ns != string(req.Namespace) {
			c.ns = string(req.Namespace)
		}
		b.resp.Status = chain.TokenOK
		b.resp.Connected = wire.Clamp(int64(c.s.service.Join(c.name(), c.ns)))
	}
	b.reply()
}

// malformed answers a message that cannot be decoded.
func (c *conn) malformed(b *batch, payload []byte, err error) {
	c.faults++
	c.tallies.malformed.Add(1)
	var format *wire.FormatError
	if errors.As(err, &format) && format.Header {
		c.refuse(b, payload)
		return
	}
	var xid int32
	if len(payload) >= 4 {
		xid = int32(binary.BigEndian.Uint32(payload))
	}
	b.status(xid, wire.TypePing, chain.TokenFail)
}

// oversized answers a frame that is too long, by its header.
func (c *conn) oversized(b *batch, header []byte) {
	c.faults++
	c.tallies.oversized.Add(1)
	c.refuse(b, header)
}

// refuse answers a message of which only the header is known, in the layout of its type.
func (c *conn) refuse(b *batch, header []byte) {
	xid, t := int32(binary.BigEndian.Uint32(header)), wire.Type(header[4])
	switch t {
	case wire.TypeFlow, wire.TypeParam:
		b.resp = wire.Response{XID: xid, Type: t, Status: chain.TokenBadRequest}
		b.reply()
	case wire.TypePing:
		b.status(xid, t, chain.TokenBadRequest)
	default:
		b.status(xid, t, chain.TokenFail)
	}
}
