package client_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// stall makes the writer of the only connection wait in the middle of a write. Two calls, of flow 1, are lost to that.
func stall(t *testing.T, f *fake, c *client.Client) (thaw func()) {
	t.Helper()
	thaw = f.freeze()
	for range 2 { // the peer takes the first in before it waits
		go c.RequestToken(context.Background(), 1, 1, false)
		synctest.Wait()
	}
	return thaw
}

func TestCallsWhileTheWriterIsHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f, client.WithMaxTimeouts(0))
		thaw := stall(t, f, c)
		var wg sync.WaitGroup
		start := time.Now()
		for i := range 30 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Microsecond)
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
				defer cancel()
				wantStatus(t, c.RequestToken(ctx, 2, 1, false), chain.TokenFail, client.ErrTimeout)
				if took := time.Since(begin); took < 20*time.Millisecond || took > 21*time.Millisecond {
					t.Errorf("call after %v took %v", begin.Sub(start), took)
				}
			})
			wg.Go(func() { // leaves before its request is registered
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Microsecond)
				defer cancel()
				wantStatus(t, c.RequestToken(ctx, 3, 1, false), chain.TokenFail, context.DeadlineExceeded)
			})
		}
		wg.Wait()
		thaw()
		synctest.Wait()
		wantStatus(t, c.RequestToken(t.Context(), 4, 1, false), chain.TokenOK, nil)
		seen := map[int64]int{}
		asked, _ := f.peer(0).requests(wire.TypeFlow)
		for i := range asked {
			seen[asked[i].FlowID]++
		}
		if seen[1] != 2 || seen[2] != 30 || seen[3] != 0 || seen[4] != 1 {
			t.Errorf("requests by flow: %v", seen)
		}
		if s := c.Status(); s.InFlight != 0 || s.Counters.Timeouts != 32 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCloseWhileTheWriterIsHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f)
		defer stall(t, f, c)()
		var wg sync.WaitGroup
		start := time.Now()
		for i := range 20 {
			wg.Go(func() {
				wantStatus(t, c.RequestToken(t.Context(), 1+int64(i), 1, i%2 == 0), chain.TokenFail, client.ErrClosed)
			})
		}
		synctest.Wait()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v", took)
		}
		wantStatus(t, ask(c), chain.TokenFail, client.ErrClosed)
	})
}

// Calls that come while connections change are all answered, by the one server or the other.
func TestNoCallIsLostBetweenConnections(t *testing.T) {
	t.Parallel()
	addrs := []string{echo(t), echo(t)}
	c := usable(t, connect(t, addrs[0], client.WithTimeout(time.Minute)))
	var over atomic.Bool
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for !over.Load() {
				if r := ask(c); r.Status != chain.TokenOK {
					t.Errorf("%+v", r)
					return
				}
			}
		})
	}
	for i := range 40 {
		c.SetServer(addrs[(i+1)%2])
		if err := c.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
	over.Store(true)
	wg.Wait()
	if s := c.Status(); s.InFlight != 0 || s.Counters.Timeouts != 0 {
		t.Errorf("%+v", s)
	}
}
