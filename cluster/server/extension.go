package server

import (
	"crypto/hmac"
	"crypto/rand"
	"log/slog"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// extension answers the messages that only peers of our kind send, and those of unknown types.
func (c *conn) extension(b *batch, req *wire.Request) {
	if !c.knows || req.Type < wire.TypeChallenge || req.Type > wire.TypeRenew {
		c.tallies.unknown.Add(1)
		b.status(req.XID, req.Type, chain.TokenFail)
		return
	}
	switch req.Type {
	case wire.TypeChallenge:
		c.challenge(b, req)
	case wire.TypeProve:
		c.prove(b, req)
	default:
		c.concurrency(b, req)
	}
}

// concurrency answers messages about concurrency tokens.
func (c *conn) concurrency(b *batch, req *wire.Request) {
	service := c.s.service
	switch {
	case !c.proven:
		b.unproven++
		b.status(req.XID, req.Type, chain.TokenFail)
	case req.Type == wire.TypeAcquire:
		r := service.Acquire(b.now, c.name(), c.ns, req.FlowID, req.Count)
		b.answers[statusIndex(r.Status)]++
		b.resp = wire.Response{XID: req.XID, Type: req.Type, Status: r.Status, Remaining: r.Remaining, TokenID: r.TokenID}
		b.reply()
	case req.Type == wire.TypeRelease:
		b.status(req.XID, req.Type, service.Release(c.name(), req.TokenID))
	default:
		service.Renew(b.now, c.name())
		b.status(req.XID, req.Type, chain.TokenOK)
	}
}

// name returns the connection's name as a member. Both its addresses make it unique among the servers of one service.
func (c *conn) name() string {
	if c.member == "" {
		c.member = c.s.nameOf(c)
	}
	return c.member
}

// An exchange is a proof under way: it is good for one attempt.
type exchange struct{ client, server [wire.NonceSize]byte }

// challenge proves to the client that this server knows the secret, and asks for the same.
func (c *conn) challenge(b *batch, req *wire.Request) {
	if len(c.s.secret) == 0 || len(req.Auth) != wire.NonceSize {
		b.status(req.XID, req.Type, chain.TokenFail)
		return
	}
	e := &exchange{client: [wire.NonceSize]byte(req.Auth)}
	_, _ = rand.Read(e.server[:]) // it never fails
	c.auth = e
	b.resp = wire.Response{
		XID: req.XID, Type: req.Type,
		Auth: slices.Concat(e.server[:], wire.ServerProof(c.s.secret, e.client[:], e.server[:])),
	}
	b.reply()
}

// prove checks the client's proof. After a wrong one the connection ends.
func (c *conn) prove(b *batch, req *wire.Request) {
	if len(c.s.secret) == 0 {
		b.status(req.XID, req.Type, chain.TokenFail)
		return
	}
	e := c.auth
	c.auth = nil
	if e == nil || !hmac.Equal(req.Auth, wire.ClientProof(c.s.secret, e.server[:], e.client[:])) {
		c.s.totals.authFailures.Add(1)
		c.s.quiet(&c.s.said.secret).Warn("token client does not know the secret", slog.String("client", c.remote()))
		b.status(req.XID, req.Type, chain.TokenFail)
		c.why.CompareAndSwap(endPeer, endSecret)
		return
	}
	c.s.totals.authSuccesses.Add(1)
	c.proven = true
	c.stranger.Store(false)
	b.status(req.XID, req.Type, chain.TokenOK)
}
