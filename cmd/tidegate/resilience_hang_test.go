//go:build linux

package main

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// impostor accepts connections and answers as it likes.
type impostor struct {
	addr     string
	ln       net.Listener
	accepted atomic.Int32
	mu       sync.Mutex
	conns    []net.Conn // guarded by mu
}

// newImpostor serves connections by serve, which may be nil, and keeps them open after it.
func newImpostor(t *testing.T, serve func(net.Conn)) *impostor {
	t.Helper()
	ln, err := net.Listen("tcp", loopback(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &impostor{addr: ln.Addr().String(), ln: ln}
	var running sync.WaitGroup
	t.Cleanup(func() { s.die(); running.Wait() })
	running.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			if serve != nil {
				running.Go(func() { serve(c) })
			}
		}
	})
	return s
}

// die closes everything, as the end of a process does.
func (s *impostor) die() {
	_ = s.ln.Close() // it may be closed
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

// respond answers the requests that it is told to, in the plain protocol.
func respond(c net.Conn, most int, wanted func(wire.Type) bool) {
	var frames wire.Splitter
	var in [4096]byte
	for filled := 0; most > 0; {
		n, err := c.Read(in[filled:])
		if err != nil {
			return
		}
		buf := in[:filled+n]
		for {
			payload, rest, kind := frames.Next(buf)
			buf = rest
			if kind == wire.FramePartial {
				break
			}
			var q wire.Request
			if kind != wire.FrameWhole || q.Decode(payload) != nil || !wanted(q.Type) {
				continue
			}
			r := wire.Response{XID: q.XID, Type: q.Type, Connected: 1}
			if out, err := wire.AppendResponse(nil, &r); err != nil || write(c, out) != nil {
				return
			}
			most--
		}
		filled = copy(in[:], buf)
	}
}

func write(c net.Conn, b []byte) error { _, err := c.Write(b); return err }

func pingsOnly(t wire.Type) bool { return t == wire.TypePing }

// A server that accepts connections and never answers, and whose sockets then die.
func TestB78ServerNeverAnswers(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Conn){
		"nothing":         nil,
		"one ping":        func(c net.Conn) { respond(c, 1, pingsOnly) },
		"pings, no calls": func(c net.Conn) { respond(c, 1<<30, pingsOnly) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newImpostor(t, serve)
			m := newMember(t, s.addr)
			if serve != nil {
				until(t, "connected", func() bool { return ready(m) })
			}
			ctx, cancel := context.WithCancel(t.Context())
			var y yardstick
			var running sync.WaitGroup
			running.Go(func() { y.run(ctx) })
			began := time.Now()
			calls := sequence(m, 100)
			s.die()
			calls = append(calls, sequence(m, 100)...)
			cancel()
			running.Wait()
			_, worst := y.between(began, time.Now(), 1)
			row, longest := 0, 0
			for _, c := range calls {
				if c.took < slowestCall/2 {
					row = 0
					continue
				}
				row++
				longest = max(longest, row)
			}
			t.Logf("most %v, p50 %v, at most %d in a row waited; machine %v", quantile(calls, 1), quantile(calls, 0.5), longest, worst)
			if limit := slowestCall + 4*worst; quantile(calls, 1) > limit {
				t.Errorf("a call took %v, want at most %v", quantile(calls, 1), limit)
			}
			if longest > 6 { // three, and three again after a ping that was answered
				t.Errorf("%d calls in a row waited", longest)
			}
			if st := m.client.Status(); st.State == client.StateReady {
				t.Errorf("%+v", st)
			}
		})
	}
}

// sequence makes calls one after the other.
func sequence(m *member, n int) (calls []guardedCall) {
	for range n {
		calls = append(calls, m.call())
	}
	return calls
}

// The server is down for a while and then back on the same port. Attempts to reach it are bounded in rate.
func TestB75ServerReturns(t *testing.T) {
	t.Parallel()
	p := serveFleet(t, loopback(t))
	var attempts atomic.Int32
	m := newMember(t, p.addr, client.WithDialer(func(ctx context.Context, addr string) (net.Conn, error) {
		attempts.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}))
	until(t, "connected", func() bool { return ready(m) })
	p.kill()
	attempts.Store(0)
	const down = 6 * time.Second
	passed := 0
	for began := time.Now(); time.Since(began) < down; time.Sleep(time.Millisecond) {
		if m.call().passed {
			passed++
		}
	}
	t.Logf("%d attempts, %.0f calls per second let in", attempts.Load(), float64(passed)/down.Seconds())
	if n := attempts.Load(); n < 3 || n > 40 {
		t.Errorf("%d attempts in %v", n, down)
	}
	if passed > 8*fleetLimit || passed < fleetLimit {
		t.Errorf("%d calls passed in %v, of a limit of %d per second", passed, down, fleetLimit)
	}
	serveFleet(t, p.addr)
	back := until(t, "the server decides", func() bool { return ready(m) })
	t.Logf("back after %v", back)
	if back > comesBack+time.Second {
		t.Errorf("back after %v", back)
	}
}

// A server that loses each connection at once, before or after its first answer, is not overrun by attempts.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(net.Conn){
		"before an answer": func(c net.Conn) { _ = c.Close() },
		"after an answer":  func(c net.Conn) { respond(c, 1, pingsOnly); _ = c.Close() },
		"no server":        func(c net.Conn) { _ = write(c, []byte("HTTP/1.1 400 Bad Request\r\n\r\n")); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newImpostor(t, serve)
			newMember(t, s.addr)
			time.Sleep(3 * time.Second)
			t.Logf("%d attempts in 3 s", s.accepted.Load())
			if n := s.accepted.Load(); n < 2 || n > 40 {
				t.Errorf("%d attempts in 3 s", n)
			}
		})
	}
}
