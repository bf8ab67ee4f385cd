package client_test

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// TestSentinelServer proves that a server that does not know the extension never sees a byte of it.
func TestSentinelServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{connected: 3}
		c := ready(t, f)
		wantStatus(t, ask(c), chain.TokenOK, nil)
		wantStatus(t, c.RequestToken(t.Context(), 123456789012, 5, true), chain.TokenOK, nil)
		wantStatus(t, c.RequestParamToken(t.Context(), 202, 1, []chain.Arg{chain.String("", "user-1")}), chain.TokenOK, nil)
		wantStatus(t, c.AcquireConcurrent(t.Context(), 101, 1), chain.TokenNotAvailable, nil)
		c.ReleaseConcurrent(7)
		time.Sleep(300 * time.Millisecond) // and the first ping of the connection
		want := strings.NewReplacer(" ", "", "|", "").Replace("000d 47530001 00 00000004 61707041|" +
			"0012 00000001 01 0000000000000065 00000001 00|0012 00000002 01 0000001cbe991a14 00000005 01|" +
			"0020 00000003 02 00000000000000ca 00000001 00000001 07 00000006 757365722d31|" +
			"000d 3b9aca01 00 00000004 61707041")
		if got := hex.EncodeToString(f.peer(0).bytes()); got != want {
			t.Errorf("sent %s, want %s", got, want)
		}
		if s := c.Status(); s.Connected != 3 || s.Extension || s.State != client.StateReady || s.Counters.Answers["ok"] != 3 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []wire.Request
		f := &fake{flow: func(p *peer, r *wire.Request) {
			if asked = append(asked, *r); len(asked) == 8 {
				for i := range asked {
					p.answer(&asked[len(asked)-1-i], chain.TokenOK, int32(asked[len(asked)-1-i].FlowID))
				}
			}
		}}
		c := ready(t, f)
		var wg sync.WaitGroup
		for id := range int64(8) {
			wg.Go(func() {
				if r := c.RequestToken(t.Context(), id+1, 1, false); r.Status != chain.TokenOK || int64(r.Remaining) != id+1 {
					t.Errorf("flow %d: %+v", id+1, r)
				}
			})
		}
		wg.Wait()
	})
}

func TestTimeoutIsPrecise(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(p *peer, r *wire.Request) {
			time.Sleep(30 * time.Millisecond) // all on this connection
			p.answer(r, chain.TokenOK, 1)
		}}
		c := ready(t, f, client.WithMaxTimeouts(0))
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 700 * time.Microsecond)
				start := time.Now()
				wantStatus(t, ask(c), chain.TokenFail, client.ErrTimeout)
				if took := time.Since(start); took < 20*time.Millisecond || took > 21*time.Millisecond {
					t.Errorf("took %v", took)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Second)
		if s := c.Status(); s.Counters.Timeouts != 10 || s.Counters.Late != 10 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
		c.SetTimeout(time.Second)
		wantStatus(t, ask(c), chain.TokenOK, nil)
	})
}

func TestContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f, client.WithMaxTimeouts(3))
		f.set(func() { f.mute = true })
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		wantStatus(t, c.RequestToken(ctx, 1, 1, false), chain.TokenFail, context.DeadlineExceeded)
		if took := time.Since(start); took != 5*time.Millisecond {
			t.Errorf("took %v", took)
		}
		wantStatus(t, c.RequestToken(ctx, 1, 1, false), chain.TokenFail, context.DeadlineExceeded)
		ctx, leave := context.WithCancel(t.Context())
		for range 2 {
			go c.RequestToken(ctx, 1, 1, false)
		}
		synctest.Wait()
		leave()
		time.Sleep(21 * time.Millisecond)
		// Those that nobody waited for to the end say as much about the server as others.
		wantStatus(t, ask(c), chain.TokenFail, client.ErrLocal)
		if s := c.Status(); s.InFlight != 0 || s.Counters.Timeouts != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestDisconnectFailsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(*peer, *wire.Request) {}}
		c := ready(t, f, client.WithCoalescing(0))
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				wantStatus(t, c.RequestToken(t.Context(), 1, int64(1+i%2), false), chain.TokenFail, client.ErrClosed)
			})
		}
		synctest.Wait()
		f.kill()
		wg.Wait()
		synctest.Wait()
		wantStatus(t, ask(c), chain.TokenFail, client.ErrClosed)
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
	})
}

func TestRequestsThatAreNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		ctx := t.Context()
		user := []chain.Arg{chain.String("", "u")}
		odd := []chain.Arg{chain.Any("", struct{}{}), chain.Any("", map[string]int{})}
		for name, r := range map[string]chain.TokenResult{
			"no flow": c.RequestToken(ctx, 0, 1, false), "no units": c.RequestToken(ctx, 1, 0, false),
			"too many units": c.RequestToken(ctx, 1, math.MaxInt32+1, false), "no param flow": c.RequestParamToken(ctx, -1, 1, user),
			"no values": c.RequestParamToken(ctx, 1, 1, nil), "no sendable value": c.RequestParamToken(ctx, 1, 1, odd),
			"no place": c.AcquireConcurrent(ctx, 1, 0),
		} {
			if r.Status != chain.TokenBadRequest || r.Err != nil {
				t.Errorf("%s: %+v", name, r)
			}
		}
		wantStatus(t, c.RequestParamToken(ctx, 1, 1, append(odd, user...)), chain.TokenOK, nil)
		if s := c.Status(); s.Counters.DroppedValues != 4 || s.Counters.Requests != 1 {
			t.Errorf("%+v", s.Counters)
		}
		strict := ready(t, f, client.WithStrictValues())
		wantStatus(t, strict.RequestParamToken(ctx, 1, 1, append(odd, user...)), chain.TokenBadRequest, nil)
		wantStatus(t, strict.RequestParamToken(ctx, 1, 1, user), chain.TokenOK, nil)
	})
}

func TestIDsWrap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := int32(0)
		var held wire.Request
		f := &fake{flow: func(p *peer, r *wire.Request) {
			if r.XID == hold {
				held = *r
				return
			}
			p.answer(r, chain.TokenOK, 0)
		}}
		c := ready(t, f, client.WithTimeout(time.Hour))
		hold = 1
		go func() { wantStatus(t, ask(c), chain.TokenBlocked, nil) }()
		synctest.Wait()
		c.SetLastXID(wire.MaxXID - 2)
		for range 4 {
			wantStatus(t, ask(c), chain.TokenOK, nil)
		}
		f.peer(0).answer(&held, chain.TokenBlocked, 0)
		synctest.Wait()
		var ids []int32
		requests, _ := f.peer(0).requests(wire.TypeFlow)
		for _, r := range requests {
			ids = append(ids, r.XID)
		}
		want := []int32{1, wire.MaxXID - 1, wire.MaxXID, 2, 3} // 1 still waits
		for i := range want {
			if len(ids) != len(want) || ids[i] != want[i] {
				t.Fatalf("ids %v, want %v", ids, want)
			}
		}
	})
}

func TestTableStaysSmall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := true
		f := &fake{flow: func(p *peer, r *wire.Request) {
			if !first {
				p.answer(r, chain.TokenOK, 0)
			}
			first = false
		}}
		c := ready(t, f, client.WithTimeout(time.Hour))
		go ask(c)
		synctest.Wait()
		for range 1000 {
			wantStatus(t, ask(c), chain.TokenOK, nil)
		}
		if n := c.Slots(); n != 64 {
			t.Errorf("%d slots for one request that waits", n)
		}
	})
}

func TestTooManyRequestsAreNotRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		f := &fake{flow: func(p *peer, r *wire.Request) {
			if well.Load() {
				p.answer(r, chain.TokenOK, 0)
				return
			}
			p.answer(r, chain.TokenTooManyRequest, 0)
		}}
		c, stubborn := ready(t, f), ready(t, f, client.WithoutBackOff())
		if r := ask(c); r.Status != chain.TokenTooManyRequest || r.Err != nil {
			t.Errorf("first %+v", r)
		}
		wantStatus(t, ask(c), chain.TokenTooManyRequest, client.ErrBackOff)
		for range 3 {
			if r := ask(stubborn); r.Status != chain.TokenTooManyRequest || r.Err != nil {
				t.Errorf("without back-off %+v", r)
			}
		}
		for range 2000 { // two seconds
			ask(c)
			time.Sleep(time.Millisecond)
		}
		if n := c.Status().Counters.Requests; n < 10 || n > 100 {
			t.Errorf("%d requests in two seconds", n)
		}
		well.Store(true)
		time.Sleep(200 * time.Millisecond)
		for range 10 {
			wantStatus(t, ask(c), chain.TokenOK, nil)
		}
	})
}

func TestZeroAndNil(t *testing.T) {
	t.Parallel()
	var none *client.Client
	var zero client.Client
	none.Start()
	none.SetServer("a:1")
	none.SetTimeout(1)
	none.ReleaseConcurrent(1)
	for _, c := range []*client.Client{none, &zero} {
		wantStatus(t, ask(c), chain.TokenFail, client.ErrClosed)
		wantStatus(t, c.AcquireConcurrent(t.Context(), 1, 1), chain.TokenFail, client.ErrClosed)
		if s := c.Status(); s.State != client.StateOff || c.Connected() != 0 {
			t.Errorf("%+v", s)
		}
		if err := c.Ready(t.Context()); !errors.Is(err, client.ErrClosed) {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	zero.Start() // closed
	wantStatus(t, ask(&zero), chain.TokenFail, client.ErrClosed)
}
