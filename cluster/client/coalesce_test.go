package client_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// limited grants so many units in all.
func limited(limit int32) *fake {
	left := limit
	return &fake{flow: func(p *peer, r *wire.Request) {
		if r.Count > left {
			p.answer(r, chain.TokenBlocked, 0)
			return
		}
		left -= r.Count
		p.answer(r, chain.TokenOK, left)
	}}
}

// together makes n calls at the same time while another one of the flow is under way, and counts their results.
func together(t *testing.T, c *client.Client, n int) (ok, blocked int, remaining []int32) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range n {
		wg.Go(func() {
			r := ask(c)
			mu.Lock()
			defer mu.Unlock()
			switch r.Status {
			case chain.TokenOK:
				ok++
				remaining = append(remaining, r.Remaining)
			case chain.TokenBlocked:
				blocked++
			default:
				t.Errorf("%+v", r)
			}
		})
	}
	wg.Wait()
	return ok, blocked, remaining
}

func counts(p *peer) (out []int32) {
	requests, _ := p.requests(wire.TypeFlow)
	for _, r := range requests {
		out = append(out, r.Count)
	}
	return out
}

func TestCoalescingAdmitsWhatSinglesWould(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{1, 2, 3, 7, 64, 100} {
		for _, limit := range []int32{0, 1, 2, 3, 9, 10, 15, 16, 17, 31, 32, 33, 40, 48, 63, 64, 65, 99, 100, 101} {
			synctest.Test(t, func(t *testing.T) {
				f := limited(limit)
				c := ready(t, f, client.WithCoalescing(0))
				ok, blocked, remaining := together(t, c, callers)
				if want := min(callers, int(limit)); ok != want || ok+blocked != callers {
					t.Errorf("%d callers, limit %d: %d granted, %d blocked", callers, limit, ok, blocked)
				}
				slices.Sort(remaining)
				for i, left := range remaining { // each sees what it would have seen alone
					if want := limit - int32(len(remaining)) + int32(i); left != want {
						t.Fatalf("%d callers, limit %d: remaining %v", callers, limit, remaining)
					}
				}
			})
		}
	}
}

func TestCoalescingAsksForHalves(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int32][]int32{
		0: {64, 32, 16, 1}, 1: {64, 32, 16, 1, 1}, 3: {64, 32, 16, 1, 1},
		40: {64, 32, 16, 1}, 64: {64}, 1000: {64},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := limited(limit + 1)
			answer := f.flow
			var first *wire.Request
			f.flow = func(p *peer, r *wire.Request) {
				if first == nil { // while this is under way, the others gather
					first = r
					time.AfterFunc(100*time.Microsecond, func() { answer(p, r) })
					return
				}
				answer(p, r)
			}
			c := ready(t, f, client.WithCoalescing(0))
			go ask(c)
			synctest.Wait()
			ok, blocked, _ := together(t, c, 64)
			got := counts(f.peer(0))[1:]
			if len(got) < len(want) || !slices.Equal(got[:len(want)], want) || ok+blocked != 64 || ok != min(64, int(limit)) {
				t.Errorf("limit %d: asked for %v, want %v; %d granted", limit, got, want, ok)
			}
		})
	}
}

func TestCoalescingWaitsForTheWindowAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(p *peer, r *wire.Request) {
			time.AfterFunc(5*time.Millisecond, func() { p.answer(r, chain.TokenOK, 5) })
		}}
		c := ready(t, f, client.WithCoalescing(0))
		go ask(c)
		synctest.Wait()
		start := time.Now()
		if ok, _, _ := together(t, c, 10); ok != 10 {
			t.Errorf("%d granted", ok)
		}
		if took := time.Since(start); took < 5200*time.Microsecond || took > 5700*time.Microsecond {
			t.Errorf("took %v", took)
		}
		if got := counts(f.peer(0)); !slices.Equal(got, []int32{1, 10}) {
			t.Errorf("asked for %v", got)
		}
	})
}

func TestOnlyPlainRequestsCoalesce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f, client.WithCoalescing(0))
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				c.RequestToken(context.Background(), 101, 2, false)
				c.RequestToken(context.Background(), 101, 1, true)
				c.RequestToken(context.Background(), 200+int64(i), 1, false)
			})
		}
		wg.Wait()
		if got := counts(f.peer(0)); len(got) != 60 || c.Status().Counters.Coalesced != 0 {
			t.Errorf("asked for %v", got)
		}
	})
}

func TestCoalescedCallersLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(p *peer, r *wire.Request) {
			time.AfterFunc(time.Millisecond, func() { p.answer(r, chain.TokenOK, 0) })
		}}
		c := ready(t, f, client.WithCoalescing(2*time.Millisecond))
		go ask(c)
		synctest.Wait()
		early, leaveEarly := context.WithCancel(t.Context())
		late, leaveLate := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for _, ctx := range []context.Context{early, late, t.Context()} {
			for range 5 {
				wg.Go(func() {
					want := chain.TokenOK
					if ctx != t.Context() {
						want = chain.TokenFail
					}
					wantStatus(t, c.RequestToken(ctx, 101, 1, false), want, ctx.Err())
				})
			}
		}
		synctest.Wait()
		leaveEarly() // before the request is sent
		time.Sleep(1500 * time.Microsecond)
		leaveLate() // while it is under way
		wg.Wait()
		if got := counts(f.peer(0)); !slices.Equal(got, []int32{1, 10}) {
			t.Errorf("asked for %v", got)
		}
		time.Sleep(time.Second)
		wantStatus(t, ask(c), chain.TokenOK, nil)
	})
}

func TestCoalescedCallsTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f, client.WithCoalescing(0))
		f.set(func() { f.mute = true })
		start := time.Now()
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() { wantStatus(t, ask(c), chain.TokenFail, client.ErrTimeout) })
		}
		wg.Wait()
		if took := time.Since(start); took < 20*time.Millisecond || took > 21*time.Millisecond {
			t.Errorf("took %v", took)
		}
		wantStatus(t, ask(c), chain.TokenFail, client.ErrLocal)
		if s := c.Status(); s.Counters.Timeouts != 30 || s.InFlight != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCoalescedAnswersThatAreNotBlocked(t *testing.T) {
	t.Parallel()
	for _, status := range []chain.TokenStatus{
		chain.TokenNoRule, chain.TokenFail, chain.TokenBadRequest, chain.TokenTooManyRequest, chain.TokenShouldWait, chain.TokenNotAvailable,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{flow: func(p *peer, r *wire.Request) { p.answer(r, status, 0) }}
			c := ready(t, f, client.WithCoalescing(0), client.WithoutBackOff())
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { wantStatus(t, ask(c), status, nil) })
			}
			wg.Wait()
		})
	}
}

// TestCoalescingUnderLoad proves on several processors that no more are let in than the limit, and no fewer.
func TestCoalescingUnderLoad(t *testing.T) {
	t.Parallel()
	const limit, callers, rounds = 1000, 64, 40
	f := limited(limit)
	c := ready(t, f, client.WithCoalescing(0), client.WithTimeout(30*time.Second))
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range rounds {
				if r := ask(c); r.Status == chain.TokenOK {
					granted.Add(1)
				} else if r.Status != chain.TokenBlocked {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	wg.Wait()
	s := c.Status()
	if n := granted.Load(); n != limit || s.InFlight != 0 {
		t.Errorf("%d granted of %d", n, limit)
	}
	t.Logf("%d calls by %d requests", callers*rounds, s.Counters.Requests)
}

// A peer that reads nothing holds up the writer, so that a batch cannot even be sent.
func TestCoalescedCallsOnStuckConnectionTimeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		c := ready(t, f, client.WithCoalescing(0), client.WithMaxTimeouts(0))
		defer f.freeze()()
		for range 3 {
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			wantStatus(t, c.RequestToken(ctx, 101, 1, false), chain.TokenFail, client.ErrTimeout)
			cancel()
			if took := time.Since(start); took < 20*time.Millisecond || took > 21*time.Millisecond {
				t.Errorf("took %v", took)
			}
		}
	})
}

func TestCoalescedRemainingStaysWithinBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{flow: func(p *peer, r *wire.Request) { p.answer(r, chain.TokenOK, math.MaxInt32) }}
		ok, _, remaining := together(t, ready(t, f, client.WithCoalescing(0)), 64)
		if ok != 64 || slices.Min(remaining) != math.MaxInt32 {
			t.Errorf("%d granted, remaining %v", ok, remaining)
		}
	})
}
