package server

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// A conn is one connection. Its goroutine is the only user of what is not said to be guarded or atomic.
type conn struct {
	s      *Server
	sock   net.Conn // as accepted
	net    net.Conn // sock, or TLS on it
	poll   poller   // reads sock without holding a buffer meanwhile
	ip     netip.Addr
	waits  link // guarded by the server's mu
	shakes link // guarded by the server's mu

	split   wire.Splitter
	b       *batch // while there is something to do
	small   []byte // to wait with, where poll cannot
	rest    []byte // of a frame that has not arrived in whole, while there is no batch
	ns      string // of the latest ping
	member  string // its name with the token service, "" while it needs none
	greeted bool   // the first byte has told plaintext from TLS
	knows   bool   // the peer knows the extension
	proven  bool   // the peer may ask
	half    bool   // waitsFor is set
	auth    *exchange
	faults  int
	batches uint32
	drained time.Time // since when the peer is being waited for, after Shutdown

	born     int64        // in the server's ticks, as all times here
	last     atomic.Int64 // when something was read
	waitsFor atomic.Int64 // since when the rest of a frame is missing, 0 if none is
	writing  atomic.Int64 // since when a write is under way, 0 if none is
	shaking  atomic.Int64 // since when a TLS handshake is under way, 0 if none is
	spoke    atomic.Bool  // a whole frame has come
	stranger atomic.Bool  // has not proved that it knows the secret
	draining atomic.Bool
	why      atomic.Uint32 // an end
	tallies  tallies
}

// An end says why a connection ended.
type end = uint32

const (
	endPeer      end = iota // closed or lost
	endIdle                 // silent for too long
	endSilent               // no whole frame, or half of one, for too long
	endCrowded              // too many without a whole frame, or in handshakes
	endSlow                 // did not read its answers
	endMalformed            // too many malformed frames
	endSecret               // wrong proof
	endTLS                  // handshake failed, took too long, or plaintext where TLS must be
	endShutdown
	endFault // of ours
	endKinds = iota
)

func newConn(s *Server, nc net.Conn) *conn {
	now := s.tick.Load()
	c := &conn{s: s, sock: nc, net: nc, born: now, ip: addressOf(nc.RemoteAddr()), proven: len(s.secret) == 0}
	c.waits.conn, c.shakes.conn = c, c
	c.last.Store(now)
	c.stranger.Store(!c.proven)
	if tcp, ok := nc.(*net.TCPConn); ok {
		tune(tcp)
		if raw, err := tcp.SyscallConn(); err == nil {
			c.poll.init(c, raw)
		}
	}
	return c
}

// tune sets what Java's server sets, and the probing of silent peers. An error leaves the system's default.
func tune(tcp *net.TCPConn) {
	_ = tcp.SetNoDelay(true)
	_ = tcp.SetReadBuffer(socketBuffer)
	_ = tcp.SetWriteBuffer(socketBuffer)
	_ = tcp.SetKeepAliveConfig(keepAlive())
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { limitUnacknowledged(fd, vanished) })
	}
}

// The system's buffers of a connection are small, so that what a peer does not read, and what the server has not come
// to read, is bounded.
const socketBuffer = 32 << 10

// A peer that vanished is noticed after 25 seconds, whether it is silent or owes an acknowledgement.
const vanished = 25 * time.Second

func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}
}

// serve answers until the connection ends.
func (c *conn) serve() {
	defer c.s.running.Done()
	defer c.finish()
	defer c.rescue()
	for {
		if err := c.read(); err != nil {
			if c.goesOn(err) {
				continue
			}
			return
		}
		if !c.greet() || !c.work() {
			return
		}
	}
}

// rescue keeps an error of the program to its connection.
func (c *conn) rescue() {
	if v := recover(); v != nil {
		c.why.Store(endFault)
		c.b = nil // nobody knows what is in it
		c.s.logger.Error("token server connection failed", slog.String("client", c.remote()), slog.Any("panic", v))
	}
}

// goesOn says whether a connection goes on after an error of reading: one that is being drained does, until nothing
// more comes.
func (c *conn) goesOn(err error) bool {
	if !c.draining.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	quiet := c.s.timing.quiet
	now := time.Now()
	if c.drained.IsZero() {
		c.drained = now
		return c.sock.SetReadDeadline(now.Add(quiet)) == nil
	}
	c.farewell(endShutdown)
	return false
}

// farewell ends the connection after its last answer: the peer is given time to read it.
func (c *conn) farewell(why end) {
	c.why.CompareAndSwap(endPeer, why)
	if w, ok := c.net.(interface{ CloseWrite() error }); !ok || w.CloseWrite() != nil {
		return
	}
	if c.sock.SetReadDeadline(time.Now().Add(c.s.timing.linger)) != nil {
		return
	}
	c.give(nil)
	_, _ = io.CopyN(io.Discard, c.net, mostDiscarded) // only its end counts
}

// mostDiscarded bounds what is read from a peer that was told that the connection is over.
const mostDiscarded = 1 << 20

// finish forgets the connection.
func (c *conn) finish() {
	c.give(nil)
	_ = c.sock.Close() // there is nobody to tell
	if c.member != "" {
		c.s.service.Leave(c.member)
	}
	c.s.remove(c)
}

// end closes the connection from outside, for a reason; the first one counts.
func (c *conn) end(why end) {
	c.why.CompareAndSwap(endPeer, why)
	_ = c.sock.Close() // its goroutine notices
}

// cut ends the connection at once.
func (c *conn) cut() { c.end(endShutdown) }

// drain tells the connection to end when everything that came is answered.
func (c *conn) drain() {
	c.draining.Store(true)
	if c.sock.SetReadDeadline(time.Unix(1, 0)) != nil {
		c.cut()
	}
}

func (c *conn) remote() string {
	if a := c.sock.RemoteAddr(); a != nil {
		return a.String()
	}
	return ""
}
