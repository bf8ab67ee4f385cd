package server

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net"
)

// tlsHandshake is the first byte of a TLS connection. A frame of ours never begins with it.
const tlsHandshake = 0x16

// greet tells plaintext from TLS by the first byte that came, and says whether the connection goes on.
func (c *conn) greet() bool {
	if c.greeted {
		return true
	}
	c.greeted = true
	secure := c.b.in[0] == tlsHandshake
	switch {
	case secure && c.s.tls != nil:
		return c.handshake()
	case secure, c.s.tls != nil && !c.s.plaintext:
		c.why.CompareAndSwap(endPeer, endTLS)
		c.s.totals.tlsFailures.Add(1)
		c.s.quiet(&c.s.said.tls).Warn("token server refused a connection: TLS where there is none, or plaintext where TLS must be",
			slog.String("client", c.remote()), slog.Bool("tls", secure))
		return false
	}
	return true
}

// handshake makes the connection one with TLS. What was read belongs to its first message.
func (c *conn) handshake() bool {
	first := bytes.Clone(c.b.in[:c.b.filled])
	c.give(nil)
	secure := tls.Server(&prefixed{Conn: c.sock, prefix: first}, c.s.tls)
	c.poll = poller{}
	c.net = secure
	c.shaking.Store(c.s.tick.Load() + 1)
	c.s.crowd(c)
	err := secure.Handshake()
	c.s.uncrowd(c)
	c.shaking.Store(0)
	if err != nil {
		c.why.CompareAndSwap(endPeer, endTLS)
		c.s.totals.tlsFailures.Add(1)
		c.s.quiet(&c.s.said.tls).Warn("TLS handshake failed", slog.String("client", c.remote()), slog.Any("error", err))
		return false
	}
	// There is nothing to work on before the next read.
	return c.again()
}

// again reads on in place of what a handshake took.
func (c *conn) again() bool {
	for {
		err := c.read()
		if err == nil {
			return true
		}
		if !c.goesOn(err) {
			return false
		}
	}
}

// crowd notes a handshake under way. If there are too many the oldest ends.
func (s *Server) crowd(c *conn) {
	s.mu.Lock()
	s.shaking.push(&c.shakes)
	victim := s.shaking.overflow(s.timing.maxShaking)
	s.mu.Unlock()
	if victim != nil {
		victim.end(endCrowded)
	}
}

func (s *Server) uncrowd(c *conn) {
	s.mu.Lock()
	s.shaking.remove(&c.shakes)
	s.mu.Unlock()
}

// prefixed is a connection of which something was read already.
type prefixed struct {
	net.Conn
	prefix []byte
}

// Read reads the prefix first.
func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.prefix) == 0 {
		return p.Conn.Read(b)
	}
	n := copy(b, p.prefix)
	if p.prefix = p.prefix[n:]; len(p.prefix) == 0 {
		p.prefix = nil
	}
	return n, nil
}
