package server_test

import (
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]server.Option{"total": server.WithMaxConns(3), "perAddress": server.WithMaxConnsPerIP(3)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, addr := start(t, newService(t), c)
			var peers []peer
			for range 3 {
				p := dial(t, addr)
				p.answers()
				peers = append(peers, p)
			}
			dial(t, addr).ends()
			for _, p := range peers {
				p.answers()
			}
			_ = peers[0].Close()
			eventually(t, "place free again", func() bool { return s.Status().Connections == 2 })
			dial(t, addr).answers()
			if st := s.Status(); st.Refused[name] != 1 || st.Accepted != 5 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// Of those that say nothing the oldest goes, so that new ones, who mean it, come in.
func TestSilentCrowd(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t), server.WithTiming(0, 0, 0, 4, 0))
	old := dial(t, addr)
	old.answers()
	var silent []peer
	for range 20 {
		silent = append(silent, dial(t, addr))
		dial(t, addr).answers()
	}
	silent[0].ends()
	old.answers()
	eventually(t, "crowd gone", func() bool { return s.Status().Ended["crowded"] >= 16 })
}

func TestHandshakeLimits(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s, addr := start(t, newService(t), server.WithTLS(a.server(t)), server.WithTiming(20*time.Millisecond, 0, 300*time.Millisecond, 0, 3))
	var stuck []peer
	for range 6 {
		p := dial(t, addr)
		p.send([]byte{0x16, 3, 1})
		stuck = append(stuck, p)
	}
	eventually(t, "three crowded out", func() bool { return s.Status().Ended["crowded"] == 3 })
	dialTLS(t, addr, &tls.Config{RootCAs: a.pool}).answers()
	for _, p := range stuck {
		p.ends()
	}
}

// The other clients are answered whatever hostile ones do, and what those cost is given back.
func TestHostileCrowd(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t), server.WithTiming(20*time.Millisecond, 500*time.Millisecond, 0, 0, 0))
	good := dial(t, addr)
	good.ping("appA")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, attack := range []func(net.Conn, *rand.Rand){garbage, halfFrames, vanish, deaf} {
		wg.Go(func() { keepOn(stop, addr, attack) })
	}
	var halfOpen []net.Conn
	for range 500 {
		if c, err := net.DialTimeout("tcp", addr, patience); err == nil {
			halfOpen = append(halfOpen, c)
		}
	}
	for range 200 {
		good.answers()
	}
	close(stop)
	wg.Wait()
	eventually(t, "half open ones gone", func() bool { return s.Status().Connections == 1 })
	for _, c := range halfOpen {
		_ = c.Close()
	}
	if n := good.ping("appA"); n != 1 {
		t.Errorf("%d connected", n)
	}
}

func keepOn(stop chan struct{}, addr string, attack func(net.Conn, *rand.Rand)) {
	r := rand.New(rand.NewPCG(1, 2))
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-stop:
			return
		case <-pace.C:
		}
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err != nil {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		attack(c, r)
		_ = c.Close()
	}
}

// garbage sends random bytes.
func garbage(c net.Conn, r *rand.Rand) {
	b := make([]byte, 1+r.IntN(5000))
	for i := range b {
		b[i] = byte(r.Uint32() >> (r.Uint32() % 32))
	}
	_, _ = c.Write(b)
}

// halfFrames sends the beginning of a frame byte by byte.
func halfFrames(c net.Conn, r *rand.Rand) {
	frame := padded(20 + r.IntN(500))
	for _, b := range frame[:r.IntN(len(frame))] {
		if _, err := c.Write([]byte{b}); err != nil {
			return
		}
	}
}

// vanish asks and does not wait for the answer.
func vanish(c net.Conn, _ *rand.Rand) {
	_, _ = c.Write(padded(20))
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}

// deaf asks and asks, and reads nothing.
func deaf(c net.Conn, _ *rand.Rand) {
	_ = c.SetDeadline(time.Now().Add(20 * time.Millisecond))
	var all []byte
	for range 1000 {
		all = append(all, padded(20)...)
	}
	for {
		if _, err := c.Write(all); err != nil {
			return
		}
	}
}

// A peer that does not read stops being read: what the server holds for it stays small.
func TestDeafPeerHoldsLittle(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t))
	other := dial(t, addr)
	other.answers()
	p := dial(t, addr)
	_ = p.SetWriteDeadline(time.Now().Add(time.Second))
	var all []byte
	for range 10_000 {
		all = append(all, padded(20)...)
	}
	var sent int
	for {
		n, err := p.Write(all)
		if sent += n; err != nil {
			break
		}
	}
	other.answers()
	st := s.Status()
	if asked := st.Decisions["ok"]; asked > uint64(sent/20) || sent > 64<<20 {
		t.Errorf("%d bytes taken, %d answers", sent, asked)
	}
	eventually(t, "deaf peer dropped", func() bool { return s.Status().Ended["slow"] == 1 })
}

func TestShedding(t *testing.T) {
	t.Parallel()
	s := server.New(newService(t), server.WithTiming(5*time.Millisecond, 0, 0, 0, 0))
	waited := make(chan time.Duration, 1)
	waited <- 50 * time.Millisecond
	s.SetWaited(func() (time.Duration, bool) {
		w := <-waited
		waited <- w
		return w, true
	})
	p := dial(t, listen(t, s))
	eventually(t, "full level", func() bool { return s.Status().ShedLevel == 4 })
	if r := p.ask(unlimited(1)); r.Status != chain.TokenTooManyRequest || r.XID != 1 {
		t.Errorf("%+v", r)
	}
	if r := p.ask(wire.Request{XID: 2, Type: wire.TypeFlow, FlowID: 103, Count: 1, Prioritized: true}); r.Status != chain.TokenOK {
		t.Errorf("prioritized: %+v", r)
	}
	if n := p.ping("appA"); n != 1 {
		t.Errorf("%d connected", n)
	}
	<-waited
	waited <- time.Millisecond
	eventually(t, "relief", func() bool { return s.Status().ShedLevel == 0 })
	p.answers()
	if st := s.Status(); st.Shed != 1 || st.Decisions["too_many_request"] != 1 {
		t.Errorf("%+v", st)
	}
}

func TestOverloadMeasure(t *testing.T) {
	t.Parallel()
	s := server.New(newService(t))
	s.Waited()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 2000 {
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if d, ok := s.Waited(); !ok || d < 0 || d > patience {
		t.Errorf("%v, %v", d, ok)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.1:5":            "10.0.0.1",
		"[::ffff:10.0.0.1]:5":   "10.0.0.1",
		"[2001:db8:1:2:3::4]:5": "2001:db8:1:2::",
		"[fe80::1%eth0]:5":      "fe80::",
	} {
		a := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))
		if got := server.AddressOf(a); got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v, want %s", text, got, want)
		}
	}
}

// Requests of many peers at once are all answered, each its own.
func TestManyPeers(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t))
	var wg sync.WaitGroup
	for i := range 16 {
		p := dial(t, addr)
		wg.Go(func() {
			var all []byte
			for xid := range 16 {
				r := unlimited(int32(i<<8 | xid))
				all, _ = wire.AppendRequest(all, &r)
			}
			for range 50 {
				p.send(all)
				for xid := range 16 {
					var r wire.Response
					if err := r.Decode(p.receive()[2:]); err != nil || r.XID != int32(i<<8|xid) || r.Status != chain.TokenOK {
						t.Errorf("%+v (%v)", r, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	st := s.Status()
	if st.Decisions["ok"] != 16*16*50 || st.Latency.P99Micros == 0 || len(st.Latency.Buckets) == 0 {
		t.Errorf("%+v", st)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
