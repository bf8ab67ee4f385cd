//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// askers are calls of a client that follow each other without pause.
type askers struct {
	stop    atomic.Bool
	running sync.WaitGroup
	mu      sync.Mutex
	results map[string]int // guarded by mu; by status, or error
	slowest time.Duration  // guarded by mu
}

func startAskers(c *client.Client, callers int) *askers {
	a := &askers{results: map[string]int{}}
	for range callers {
		a.running.Go(func() {
			for !a.stop.Load() {
				began := time.Now()
				a.note(c.RequestToken(context.Background(), fleetFlow, 1, false), time.Since(began))
				time.Sleep(time.Millisecond)
			}
		})
	}
	return a
}

func (a *askers) note(r chain.TokenResult, took time.Duration) {
	name := r.Status.String()
	if r.Err != nil {
		name = r.Err.Error()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.results[name]++
	a.slowest = max(a.slowest, took)
}

// end ends the calls and returns how many were answered by a server, and why others were not.
func (a *askers) end() (answered int, lost string) {
	a.stop.Store(true)
	a.running.Wait()
	for name, n := range a.results {
		if name == "ok" || name == "blocked" {
			answered += n
			continue
		}
		lost += fmt.Sprintf("%d times %s; ", n, name)
	}
	return answered, lost
}

func newAsker(t *testing.T, addr string, options ...client.Option) *client.Client {
	t.Helper()
	c := client.New(append([]client.Option{
		client.WithServer(addr), client.WithNamespace("shop"), client.WithTimeout(patience), client.WithDialTimeout(patience),
		client.WithoutBackOff(),
	}, options...)...)
	t.Cleanup(func() { _ = c.Close() }) // it returns nil always
	c.Start()
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// A planned move to a server on another port, and the orderly end of the first one: no call is without its answer.
func TestServerMoves(t *testing.T) {
	t.Parallel()
	one, two := serveFleet(t, loopback(t)), serveFleet(t, loopback(t))
	for name, options := range map[string][]client.Option{"plain": nil, "coalescing": {client.WithCoalescing(0)}} {
		c := newAsker(t, one.addr, options...)
		a := startAskers(c, 16)
		time.Sleep(100 * time.Millisecond)
		c.SetServer(two.addr)
		until(t, "moved", func() bool { return c.Status().Server == two.addr })
		if name == "coalescing" {
			one.signal(syscall.SIGINT)
			if code := one.exit(); code != exitOK {
				t.Errorf("exit code %d\n%s", code, one.log)
			}
		}
		time.Sleep(100 * time.Millisecond)
		if answered, lost := a.end(); lost != "" || answered == 0 {
			t.Errorf("%s: %d answered; %s", name, answered, lost)
		}
	}
}

// Assignments that change faster than connections are made lose no call, and leave no connection behind.
func TestRapidFlips(t *testing.T) {
	t.Parallel()
	one, two := serveFleet(t, loopback(t)), serveFleet(t, loopback(t))
	for name, options := range map[string][]client.Option{"plain": nil, "coalescing": {client.WithCoalescing(0)}} {
		c := newAsker(t, one.addr, options...)
		a := startAskers(c, 32)
		for i := range 200 {
			c.SetServer([]string{two.addr, one.addr}[i%2])
			time.Sleep(time.Duration(i%8) * time.Millisecond)
		}
		until(t, "at the last one", func() bool { return c.Status().Server == one.addr })
		answered, lost := a.end()
		t.Logf("%s: %d answered, %d connections made, slowest %v", name, answered, c.Status().Counters.Reconnects+1, a.slowest)
		if lost != "" || answered == 0 {
			t.Errorf("%s: %d answered; %s", name, answered, lost)
		}
		until(t, "connections of the past closed", func() bool {
			return one.status().Server.Connections == 1 && two.status().Server.Connections == 0
		})
		_ = c.Close()
	}
}

// An orderly end under load: what was sent before is answered, nobody waits for an answer that does not come.
func TestServerStops(t *testing.T) {
	t.Parallel()
	p := serveFleet(t, loopback(t))
	f := newFleet(t, p.addr, client.WithTimeout(patience))
	f.load()
	stream := newStream(t, p.addr)
	half, idle := dial(t, p.addr), dial(t, p.addr)
	_ = write(half, []byte{0, 18, 0, 0})
	_ = idle
	time.Sleep(300 * time.Millisecond)
	sent := stream.sent.Load()
	began := time.Now()
	p.signal(syscall.SIGINT)
	stream.ended.Wait()
	code := p.exit()
	took := time.Since(began)
	time.Sleep(200 * time.Millisecond)
	f.quit()
	slowest := quantile(f.between(began.Add(-time.Second), time.Now()), 1)
	t.Logf("ended after %v; %d sent before, %d in all, %d answered; slowest call %v", took, sent, stream.sent.Load(), stream.answered.Load(), slowest)
	if code != exitOK || took > drainTimeout {
		t.Errorf("exit code %d after %v\n%s", code, took, p.log)
	}
	if n := stream.answered.Load(); n < sent {
		t.Errorf("%d of the %d requests sent before the end were answered", n, sent)
	}
	if slowest > patience/4 {
		t.Errorf("a call waited %v for an answer that did not come", slowest)
	}
	for _, m := range f.members {
		if n := m.client.Status().Counters.Timeouts; n > 0 {
			t.Errorf("%d calls waited in vain", n)
		}
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // it may be closed
	return c
}

// stream is a peer that sends requests without waiting for answers, and counts both.
type stream struct {
	sent, answered atomic.Int64
	ended          sync.WaitGroup
}

func newStream(t *testing.T, addr string) *stream {
	t.Helper()
	c, s := dial(t, addr), new(stream)
	var over atomic.Bool
	s.ended.Go(func() {
		for xid := int32(1); !over.Load(); xid++ {
			b, err := wire.AppendRequest(nil, &wire.Request{XID: xid, Type: wire.TypeFlow, FlowID: fleetFlow, Count: 1})
			if err != nil || write(c, b) != nil {
				return
			}
			s.sent.Add(1)
			time.Sleep(100 * time.Microsecond)
		}
	})
	s.ended.Go(func() {
		defer over.Store(true)
		var frames wire.Splitter
		var in [4096]byte
		for filled := 0; ; {
			n, err := c.Read(in[filled:])
			if err != nil {
				return
			}
			buf := in[:filled+n]
			for {
				_, rest, kind := frames.Next(buf)
				buf = rest
				if kind == wire.FramePartial {
					break
				}
				s.answered.Add(1)
			}
			filled = copy(in[:], buf)
		}
	})
	return s
}
