package client_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

func wantState(t testing.TB, c *client.Client, want client.State) {
	t.Helper()
	if s := c.Status(); s.State != want {
		t.Errorf("state %v (%v), want %v", s.State, s.Err, want)
	}
}

func TestLocalAfterTimeoutsUntilPing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		wantStatus(t, ask(c), chain.TokenOK, nil)
		f.set(func() { f.mute = true })
		for range 3 {
			wantStatus(t, ask(c), chain.TokenFail, client.ErrTimeout)
		}
		start := time.Now()
		for range 1000 {
			wantStatus(t, ask(c), chain.TokenFail, client.ErrLocal)
		}
		wantState(t, c, client.StateLocal)
		if took := time.Since(start); took != 0 {
			t.Errorf("1000 calls took %v", took)
		}
		time.Sleep(1500 * time.Millisecond)
		wantStatus(t, ask(c), chain.TokenFail, client.ErrLocal)
		f.set(func() { f.mute = false })
		time.Sleep(time.Second)
		wantStatus(t, ask(c), chain.TokenOK, nil)
		wantState(t, c, client.StateReady)
		if _, at := f.peer(0).requests(wire.TypePing); len(at) != 4 || at[3]-at[2] != time.Second || at[2]-at[1] != time.Second {
			t.Errorf("pings at %v", at)
		}
		if s := c.Status(); s.Counters.Local != 1001 || s.Counters.Timeouts != 3 || f.count() != 1 {
			t.Errorf("%+v, %d connections", s.Counters, f.count())
		}
	})
}

// TestHiccup proves that deciding locally ends at once when the server was late only once.
func TestHiccup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		thaw := f.freeze()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { wantStatus(t, ask(c), chain.TokenFail, client.ErrTimeout) })
		}
		wg.Wait()
		thaw()
		synctest.Wait()
		wantStatus(t, ask(c), chain.TokenOK, nil)
	})
}

// TestServerThatOnlyPings proves that one that answers pings alone does not make every call wait.
func TestServerThatOnlyPings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(*peer, *wire.Request) {}}
		c := ready(t, f)
		slow, begin := 0, time.Now()
		for time.Since(begin) < 30*time.Second {
			if r := ask(c); r.Err == client.ErrTimeout { //nolint:errorlint // never wrapped
				slow++
			}
			time.Sleep(time.Millisecond)
		}
		if slow > 100 {
			t.Errorf("%d calls waited in 30 s", slow)
		}
	})
}

func TestTimeoutsInARow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		f := &fake{flow: func(p *peer, r *wire.Request) {
			if n++; n%3 == 0 {
				p.answer(r, chain.TokenOK, 0)
			}
		}}
		c := ready(t, f)
		for range 30 {
			if r := ask(c); r.Err == client.ErrLocal { //nolint:errorlint // never wrapped
				t.Fatal("two timeouts in a row are not three")
			}
		}
	})
}

// TestSlowPing proves that a server that answers later than the timeout stays left alone.
func TestSlowPing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		thaw := f.freeze()
		for range 3 {
			wantStatus(t, ask(c), chain.TokenFail, client.ErrTimeout)
		}
		time.Sleep(1500 * time.Millisecond) // a ping is under way for half a second
		thaw()
		synctest.Wait()
		wantStatus(t, ask(c), chain.TokenFail, client.ErrLocal)
		time.Sleep(time.Second)
		wantStatus(t, ask(c), chain.TokenOK, nil)
	})
}

func TestFrozenServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{connected: 4}
		c := ready(t, f)
		thaw := f.freeze()
		var slow int
		for range 30_000 { // a call every millisecond or so
			start := time.Now()
			r := ask(c)
			if took := time.Since(start); took > 0 {
				slow++
				if took > 21*time.Millisecond {
					t.Fatalf("a call took %v", took)
				}
			}
			if r.Status != chain.TokenFail {
				t.Fatalf("%+v", r)
			}
			time.Sleep(time.Millisecond)
		}
		if n := f.count(); slow != 3 || n < 5 || n > 60 {
			t.Errorf("%d calls waited, %d connections tried", slow, n)
		}
		if c.Connected() != 4 {
			t.Errorf("%d connected", c.Connected())
		}
		thaw()
		time.Sleep(5 * time.Second)
		wantStatus(t, ask(c), chain.TokenOK, nil)
		wantState(t, c, client.StateReady)
	})
}

// TestIdleClientNoticesSilence needs no request to know that the server is silent.
func TestIdleClientNoticesSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		f.set(func() { f.mute = true })
		time.Sleep(11500 * time.Millisecond)
		wantStatus(t, ask(c), chain.TokenFail, client.ErrLocal)
		f.set(func() { f.mute = false })
		time.Sleep(time.Second)
		wantStatus(t, ask(c), chain.TokenOK, nil)
	})
}

// TestPartition proves that another connection is made when the old one is dead though it looks alive.
func TestPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		gate := make(chan struct{}) // which the first connection will not get past
		f.set(func() { f.gate = gate })
		for range 3 {
			ask(c)
		}
		f.set(func() { f.gate = nil })
		time.Sleep(5 * time.Second)
		if r := ask(c); r.Status != chain.TokenOK {
			t.Errorf("%+v", r)
		}
		if s := c.Status(); s.Counters.Reconnects != 1 {
			t.Errorf("%d reconnects", s.Counters.Reconnects)
		}
		close(gate)
	})
}

func TestReasons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := client.New(client.WithDialer(f.dial))
		defer c.Close()
		wantStatus(t, ask(c), chain.TokenFail, client.ErrClosed)
		c.Start()
		if err := c.Ready(t.Context()); err == nil {
			t.Error("ready without a server")
		}
		wantStatus(t, ask(c), chain.TokenFail, client.ErrUnassigned)
		wantState(t, c, client.StateOff)
		f.down = true
		c.SetServer("a:1")
		err := c.Ready(t.Context())
		wantStatus(t, chain.TokenResult{Err: err}, chain.TokenOK, client.ErrRefused)
		wantStatus(t, ask(c), chain.TokenFail, errDial)
		wantState(t, c, client.StateConnecting)
		f.set(func() { f.down, f.mute = false, true })
		c.SetServer("b:1")
		start := time.Now()
		wantStatus(t, chain.TokenResult{Err: c.Ready(t.Context())}, chain.TokenOK, client.ErrTimeout)
		if took := time.Since(start); took != time.Second {
			t.Errorf("an attempt took %v", took)
		}
		c.SetServer("")
		synctest.Wait()
		wantStatus(t, ask(c), chain.TokenFail, client.ErrUnassigned)
	})
}

func TestB75ReconnectsForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{down: true}
		c := dialed(t, f)
		time.Sleep(time.Hour)
		f.mu.Lock()
		dials := f.dials
		f.mu.Unlock()
		if n := len(dials); n < 2000 || n > 3000 { // every 1.5 s
			t.Errorf("%d attempts in an hour", n)
		}
		bound, longest := 100*time.Millisecond, time.Duration(0)
		for i := 1; i < len(dials); i++ {
			pause := dials[i] - dials[i-1]
			if pause > bound {
				t.Errorf("pause %d of %v, bound %v", i, pause, bound)
			}
			longest = max(longest, pause)
			bound = min(3*time.Second, 2*bound)
		}
		if longest < 2*time.Second {
			t.Errorf("longest pause %v", longest)
		}
		f.set(func() { f.down = false })
		time.Sleep(3 * time.Second)
		wantStatus(t, ask(c), chain.TokenOK, nil)
	})
}

func TestSetServerTriesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{down: true}
		c := dialed(t, f)
		time.Sleep(time.Minute)
		f.set(func() { f.down = false })
		for _, addr := range []string{"b:1", "b:1"} {
			start := time.Now()
			c.SetServer(addr)
			if err := c.Ready(t.Context()); err != nil || time.Since(start) != 0 {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}
		f.kill()
		time.Sleep(time.Minute)
		f.set(func() { f.down = false })
		c.SetServer("b:1") // as before
		if err := c.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestReturnOfServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		for range 5 {
			f.kill()
			time.Sleep(2 * time.Minute)
			r := ask(c)
			wantStatus(t, r, chain.TokenFail, client.ErrRefused)
			f.set(func() { f.down = false })
			time.Sleep(3 * time.Second)
			wantStatus(t, ask(c), chain.TokenOK, nil)
		}
		if s := c.Status(); s.Counters.Reconnects != 5 {
			t.Errorf("%+v", s.Counters)
		}
	})
}

// TestServerThatHangsUp proves that one that accepts and closes is not stormed.
func TestServerThatHangsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(p *peer, _ *wire.Request) { _ = p.conn.Close() }}
		c := dialed(t, f)
		for range 60_000 {
			ask(c)
			time.Sleep(time.Millisecond)
		}
		if n := f.count(); n > 100 {
			t.Errorf("%d connections in a minute", n)
		}
	})
}

func TestServerChangeLosesNoCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(p *peer, r *wire.Request) {
			go func() {
				time.Sleep(10 * time.Millisecond)
				p.answer(r, chain.TokenOK, 0)
			}()
		}}
		c := ready(t, f)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				for range 100 {
					wantStatus(t, ask(c), chain.TokenOK, nil)
					time.Sleep(time.Millisecond)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		c.SetServer("b:1")
		time.Sleep(200 * time.Millisecond)
		c.SetServer("a:1")
		wg.Wait()
		if !f.peer(0).closed() || !f.peer(1).closed() || f.count() != 3 || f.peer(1).addr != "b:1" {
			t.Errorf("%d connections, the old ones closed: %v %v", f.count(), f.peer(0).closed(), f.peer(1).closed())
		}
		if s := c.Status(); s.Counters.Requests != 5000 || s.Server != "a:1" || s.Counters.Reconnects != 2 {
			t.Errorf("%+v", s)
		}
	})
}

// TestChangeToDeadServer proves that the old server is left when the new one cannot be reached.
func TestChangeToDeadServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		f.set(func() { f.mute = true })
		c.SetServer("b:1")
		synctest.Wait()
		f.set(func() { f.mute = false })
		wantStatus(t, ask(c), chain.TokenOK, nil) // still by the old one
		f.set(func() { f.down = true })
		wantStatus(t, chain.TokenResult{Err: c.Ready(t.Context())}, chain.TokenOK, client.ErrTimeout)
		wantStatus(t, ask(c), chain.TokenFail, client.ErrTimeout)
		synctest.Wait()
		if !f.peer(0).closed() {
			t.Error("the old connection is open")
		}
	})
}

func TestPingsKeepTheCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{connected: 2, shortPing: true}
		c := ready(t, f)
		if c.Connected() != 2 {
			t.Errorf("%d connected", c.Connected())
		}
		f.set(func() { f.connected = 7 })
		time.Sleep(11 * time.Second)
		if c.Connected() != 7 {
			t.Errorf("%d connected", c.Connected())
		}
		time.Sleep(50 * time.Second)
		_, at := f.peer(0).requests(wire.TypePing)
		want := []time.Duration{0} // soon again while the connection is young
		for _, ms := range []time.Duration{250, 500, 1000, 2000, 4000, 8000, 16_000, 26_000, 36_000, 46_000, 56_000} {
			want = append(want, ms*time.Millisecond)
		}
		if !slices.Equal(at, want) {
			t.Errorf("pings at %v, want %v", at, want)
		}
		f.kill()
		time.Sleep(time.Minute)
		if c.Connected() != 7 {
			t.Errorf("%d connected after the end of the connection", c.Connected())
		}
	})
}

func TestBlankNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, f := range []*fake{{}, {ext: true}} {
			c := ready(t, f, client.WithNamespace("  "))
			wantStatus(t, ask(c), chain.TokenOK, nil)
			f.set(func() { f.mute = true })
			for range 3 {
				ask(c)
			}
			f.set(func() { f.mute = false })
			time.Sleep(1100 * time.Millisecond)
			wantStatus(t, ask(c), chain.TokenOK, nil) // a refused ping is an answer
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(*peer, *wire.Request) {}}
		c := ready(t, f, client.WithTimeout(time.Hour))
		go func() { wantStatus(t, ask(c), chain.TokenFail, client.ErrClosed) }()
		synctest.Wait()
		thaw := f.freeze()
		c.SetServer("b:1") // an attempt is under way
		synctest.Wait()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		thaw()
		wantStatus(t, ask(c), chain.TokenFail, client.ErrClosed)
		wantState(t, c, client.StateOff)
	})
}

func TestReadyEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := dialed(t, &fake{mute: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		wantStatus(t, chain.TokenResult{Err: c.Ready(ctx)}, chain.TokenOK, context.DeadlineExceeded)
	})
}

type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestLogStaysShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		f := &fake{}
		c := ready(t, f, client.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		f.kill()
		for range 60_000 { // a minute
			ask(c)
			c.RequestParamToken(t.Context(), 1, 1, []chain.Arg{chain.Any("", struct{}{})})
			time.Sleep(time.Millisecond)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		text := log.b.String()
		if n := strings.Count(text, "\n"); n < 3 || n > 16 || !strings.Contains(text, "connected to token server") {
			t.Errorf("%d lines:\n%s", n, text)
		}
	})
}
