package server_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

func TestConnectedCounts(t *testing.T) {
	t.Parallel()
	service := newService(t)
	_, addr := start(t, service)
	a, b := dial(t, addr), dial(t, addr)
	if n := a.ping("appA"); n != 1 {
		t.Errorf("%d", n)
	}
	if n := a.ping("appA"); n != 1 {
		t.Errorf("a repeated ping: %d", n)
	}
	if n := b.ping("appA"); n != 2 {
		t.Errorf("%d", n)
	}
	if n := a.ping("appB"); n != 1 {
		t.Errorf("a second namespace: %d", n)
	}
	if err := a.Conn.(*net.TCPConn).SetLinger(0); err != nil { // a reset, as of a process that was killed
		t.Fatal(err)
	}
	_ = a.Close()
	eventually(t, "both namespaces left", func() bool { return service.Connected("appA") == 1 && service.Connected("appB") == 0 })
}

// bubble serves pipes in a bubble of time.
func bubble(t *testing.T, opts []server.Option, test func(t *testing.T, s *server.Server, ln *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, ln := server.New(newService(t), opts...), newPipes()
		done := make(chan error)
		go func() { done <- s.Serve(ln) }()
		synctest.Wait()
		test(t, s, ln)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, server.ErrClosed) {
			t.Error(err)
		}
	})
}

// open says whether the server keeps a connection.
func (p peer) open() bool {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := p.Read(make([]byte, 1))
	_ = p.SetReadDeadline(time.Time{})
	return isTimeout(err)
}

func TestIdle(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, s *server.Server, ln *pipes) {
		java, ours, asked := ln.dial(t), ln.dial(t), ln.dial(t)
		java.ping("appA")
		ours.ping("appA")
		ours.ping("appA")
		asked.answers() // never pinged
		time.Sleep(590 * time.Second)
		for _, p := range []peer{java, ours, asked} {
			if !p.open() {
				t.Error("closed too early")
			}
		}
		time.Sleep(15 * time.Second)
		if ours.open() || !java.open() || !asked.open() {
			t.Errorf("ours %v, java %v, asked %v", ours.open(), java.open(), asked.open())
		}
		if n := java.ping("appA"); n != 1 {
			t.Errorf("%d connected", n)
		}
		if st := s.Status(); st.Ended["idle"] != 1 || st.Connections != 2 {
			t.Errorf("%+v", st)
		}
	})
}

func TestIdleChanged(t *testing.T) {
	t.Parallel()
	bubble(t, []server.Option{server.WithIdle(-1)}, func(t *testing.T, s *server.Server, ln *pipes) {
		p := ln.dial(t)
		p.ping("appA")
		p.ping("appA")
		time.Sleep(20 * time.Minute)
		if !p.open() {
			t.Fatal("closed although never is set")
		}
		s.SetIdle(5 * time.Second)
		time.Sleep(3 * time.Second)
		if p.open() {
			t.Error("still open")
		}
	})
}

// A peer that never says anything whole does not stay.
func TestSilent(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, s *server.Server, ln *pipes) {
		silent, half, stuck := ln.dial(t), ln.dial(t), ln.dial(t)
		half.send([]byte{0, 100})
		stuck.answers()
		stuck.send([]byte{0, 18, 0})
		for range 28 {
			time.Sleep(time.Second)
			half.send([]byte{0})
		}
		if !silent.open() || !half.open() || !stuck.open() {
			t.Error("closed too early")
		}
		time.Sleep(5 * time.Second)
		if silent.open() || half.open() || stuck.open() {
			t.Errorf("silent %v, half %v, stuck %v", silent.open(), half.open(), stuck.open())
		}
		if st := s.Status(); st.Ended["silent"] != 3 {
			t.Errorf("%+v", st)
		}
	})
}

func TestStrangersDoNotStay(t *testing.T) {
	t.Parallel()
	bubble(t, []server.Option{server.WithSecret(secret)}, func(t *testing.T, _ *server.Server, ln *pipes) {
		p := ln.dial(t)
		p.ask(unlimited(1))
		time.Sleep(33 * time.Second)
		if p.open() {
			t.Error("still open")
		}
	})
}

func TestSlowReader(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, s *server.Server, ln *pipes) {
		slow, other := ln.dial(t), ln.dial(t)
		slow.send(padded(20))
		time.Sleep(4 * time.Second)
		other.answers()
		if st := s.Status(); st.Connections != 2 {
			t.Errorf("%+v", st)
		}
		time.Sleep(4 * time.Second)
		if st := s.Status(); st.Ended["slow"] != 1 || st.Connections != 1 {
			t.Errorf("%+v", st)
		}
		other.answers()
	})
}

// An error of accepting that passes pauses; any other ends the listener, visibly.
func TestAcceptErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, ln := server.New(newService(t)), newPipes()
		var full error = &net.OpError{Op: "accept", Err: syscall.EMFILE}
		ln.fail.Store(&full)
		done := make(chan error)
		go func() { done <- s.Serve(ln) }()
		time.Sleep(10 * time.Second)
		if n := s.Status().AcceptErrors; n < 10 || n > 30 {
			t.Errorf("%d attempts in 10 s", n)
		}
		ln.fail.Store(nil)
		time.Sleep(2 * time.Second)
		p := ln.dial(t)
		p.answers()
		_ = p.Close()
		broken := errors.New("broken")
		ln.fail.Store(&broken)
		q := ln.dial(t)
		if err := <-done; !errors.Is(err, broken) {
			t.Error(err)
		}
		q.answers()
		if l := s.Status().Listeners; len(l) != 1 || l[0].Error == "" || l[0].Address != "pipe" {
			t.Errorf("%+v", l)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestListenErrors(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t))
	other := server.New(newService(t))
	if _, err := other.Listen(context.Background(), addr); !errors.Is(err, syscall.EADDRINUSE) && runtime.GOOS != "windows" {
		t.Errorf("address in use: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if _, err := other.Listen(context.Background(), "127.0.0.1:0"); !errors.Is(err, server.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if err := other.Serve(newPipes()); !errors.Is(err, server.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	if st := s.Status(); st.State != "serving" || len(st.Listeners) != 1 || st.Listeners[0].Address != addr {
		t.Errorf("%+v", st)
	}
	if st := other.Status(); st.State != "closed" {
		t.Errorf("%+v", st)
	}
}

// A server can move to another address while its connections stay.
func TestStopListening(t *testing.T) {
	t.Parallel()
	s := server.New(newService(t))
	a, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p, second := dial(t, a.String()), listen(t, s)
	p.answers()
	if err := s.StopListening(a); err != nil {
		t.Fatal(err)
	}
	p.answers()
	dial(t, second).answers()
	if c, err := net.DialTimeout("tcp", a.String(), time.Second); err == nil {
		_ = c.Close()
		t.Error("the old address still accepts")
	}
	if err := s.StopListening(a); err == nil {
		t.Error("no error for an address it does not listen at")
	}
}

func TestZeroValues(t *testing.T) {
	t.Parallel()
	for _, s := range []*server.Server{nil, {}, server.New(nil)} {
		if _, err := s.Listen(context.Background(), "127.0.0.1:0"); err == nil {
			t.Error("listens without a service")
		}
		if err := s.Serve(newPipes()); err == nil {
			t.Error("serves without a service")
		}
		s.SetIdle(time.Second)
		if st := s.Status(); st.State != "new" || st.Connections != 0 {
			t.Errorf("%+v", st)
		}
		if err := errors.Join(s.StopListening(nil), s.Shutdown(context.Background()), s.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := server.New(newService(t), nil).Serve(nil); err == nil {
		t.Error("serves no listener")
	}
}

func TestShutdownAnswersWhatArrived(t *testing.T) {
	t.Parallel()
	service := newService(t)
	s, addr := start(t, service)
	const requests = 500
	var peers []peer
	for range 8 {
		p := dial(t, addr)
		p.ping("appA")
		peers = append(peers, p)
	}
	for _, p := range peers {
		var all []byte
		for i := range requests {
			r := unlimited(int32(i + 1))
			all, _ = wire.AppendRequest(all, &r)
		}
		p.send(all)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for _, p := range peers {
		for i := range requests {
			var r wire.Response
			if err := r.Decode(p.receive()[2:]); err != nil || r.XID != int32(i+1) || r.Status != chain.TokenOK {
				t.Fatalf("answer %d: %+v (%v)", i, r, err)
			}
		}
		p.ends()
	}
	if n := service.Connected("appA"); n != 0 {
		t.Errorf("%d still connected", n)
	}
	if st := s.Status(); st.State != "closed" || st.Ended["shutdown"] != 8 {
		t.Errorf("%+v", st)
	}
}

// A peer that goes on asking is answered for a moment, and then told.
func TestShutdownOfBusyPeer(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t))
	p := dial(t, addr)
	p.answers()
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	for i := int32(1); ; i++ {
		b, _ := wire.AppendRequest(nil, &wire.Request{XID: i, Type: wire.TypeFlow, FlowID: 103, Count: 1})
		if _, err := p.Write(b); err != nil {
			break
		}
		head := make([]byte, 16)
		_ = p.SetReadDeadline(time.Now().Add(patience))
		if n, err := p.Read(head); err != nil || n != 16 {
			break // told at the border of a request
		}
	}
	_ = p.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(t *testing.T, s *server.Server, ln *pipes) {
		slow := ln.dial(t)
		slow.send(padded(20)) // and never reads
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// A fault of the decision ends one connection, not the process.
func TestFault(t *testing.T) {
	t.Parallel()
	var broken bool
	service := newService(t, token.WithClock(func() int64 {
		if broken {
			panic("clock")
		}
		return 1
	}))
	synctest.Test(t, func(t *testing.T) {
		s, ln := server.New(service), newPipes()
		done := make(chan error)
		go func() { done <- s.Serve(ln) }()
		p, q := ln.dial(t), ln.dial(t)
		synctest.Wait()
		broken = true
		p.send(padded(20))
		if p.open() {
			t.Error("still open")
		}
		synctest.Wait()
		broken = false
		q.answers()
		if st := s.Status(); st.Ended["fault"] != 1 {
			t.Errorf("%+v", st)
		}
		if err := errors.Join(s.Close(), <-done); !errors.Is(err, server.ErrClosed) {
			t.Error(err)
		}
	})
}
