//go:build linux

package main

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A network that swallows everything in both directions, new connections included, and later does not.
func TestServerCutOff(t *testing.T) {
	p := serveFleet(t, loopback(t))
	line := newLine(t, p.addr)
	f := newFleet(t, line.addr)
	f.suffer(3*time.Second, fault{func() { line.cut.Store(true) }, func() time.Time { line.cut.Store(false); return time.Now() }}).judge()
}

// line hands connections on to a server until it is cut: then it goes on reading and forgets what it reads.
type line struct {
	addr string
	cut  atomic.Bool
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	ln, err := net.Listen("tcp", loopback(t))
	if err != nil {
		t.Fatal(err)
	}
	l := &line{addr: ln.Addr().String()}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = ln.Close(); running.Wait() })
	running.Go(func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.serve(ctx, near, to) })
		}
	})
	return l
}

func (l *line) serve(ctx context.Context, near net.Conn, to string) {
	defer near.Close()
	far, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer far.Close()
	defer context.AfterFunc(ctx, func() { _ = near.Close(); _ = far.Close() })()
	var running sync.WaitGroup
	running.Go(func() { l.pump(far, near) })
	l.pump(near, far)
	running.Wait()
}

// pump copies until the source ends. A stream of which something was lost stays silent for good.
func (l *line) pump(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for lost := false; ; {
		n, err := from.Read(buf)
		if lost = lost || l.cut.Load(); !lost && n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if !lost {
				_ = to.Close() // the other pump ends then
			}
			return
		}
	}
}
