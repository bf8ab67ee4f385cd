package tidegate_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

func TestConcurrencyTokens(t *testing.T) {
	t.Parallel()
	var on atomic.Bool
	g, f := newFleet(t, status(chain.TokenOK), laterRule(&on))
	load(t, g.FlowRules(), clusterFlow(4, `,"count":2,"grade":0`, ""))
	a, b := g.pass("r"), g.pass("r", tidegate.Call{Count: 3})
	f.expect(t, "two", "concurrent 4 x1", "concurrent 4 x3")
	if n := f.outstanding(t); n != 2 {
		t.Errorf("%d tokens are held, want 2", n)
	}
	g.SetTokenService(newTokens(status(chain.TokenBlocked)))
	a.Exit(nil)
	a.Exit(nil) // only the first counts
	b.Exit(errCall)
	if n := f.outstanding(t); n != 0 { // the service that gave them gets them
		t.Errorf("%d tokens are held, want 0", n)
	}
	g.blocked("r", tidegate.ErrFlow)
	g.SetTokenService(f)
	on.Store(true)
	g.blocked("r", tidegate.ErrCustom)
	f.expect(t, "refused by a later local rule")
	g.idle()
}

// A server without concurrency tokens: calls in flight are limited here, never calls per second, and it is said once.
func TestServerWithoutConcurrencyTokens(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	g, f := newFleet(t, status(chain.TokenNotAvailable), tidegate.WithLogger(slog.New(slog.NewTextHandler(&text, nil))))
	load(t, g.FlowRules(), clusterFlow(4, `,"count":4,"grade":0`, ""))
	f.connect(2)
	for range 50 {
		g.call("r", nil)
	}
	a := g.pass("r")
	load(t, g.FlowRules(), clusterFlow(4, `,"count":4,"grade":0`, ""), `{"resource":"other"}`)
	b := g.pass("r")
	g.blocked("r", tidegate.ErrFlow)
	a.Exit(nil)
	g.call("r", nil)
	b.Exit(nil)
	if n := strings.Count(text.String(), "no concurrency tokens"); n != 1 || !strings.Contains(text.String(), "flow_id=4") {
		t.Errorf("said %d times:\n%s", n, &text)
	}
	if c := g.TokenCounters(); c.Fallbacks[chain.ReasonNotAvailable] != 54 || c.Requests[chain.TokenNotAvailable] != 54 {
		t.Errorf("%+v", c)
	}
	g.idle()
}

// A service that panics or ends the goroutine is one that did not answer; what the call holds is given back.
func TestBrokenTokenService(t *testing.T) {
	t.Parallel()
	g, f := newFleet(t, func(a asked) tidegate.TokenResult {
		if a.kind != "concurrent" {
			panic("broken service")
		}
		return tidegate.TokenResult{}
	})
	load(t, g.FlowRules(), clusterFlow(1, `,"count":1`, ""), clusterFlow(2, `,"count":5,"grade":0`, ""), `{"resource":"r","count":5}`)
	g.call("r", nil)
	g.blocked("r", tidegate.ErrFlow)
	if n := g.Counters().InternalErrors; n != 2 {
		t.Errorf("%d internal errors, want 2", n)
	}
	g.at(2000)
	f.set(func(a asked) tidegate.TokenResult {
		if a.kind != "concurrent" {
			runtime.Goexit()
		}
		return tidegate.TokenResult{}
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = g.enter("r") })
	}
	wg.Wait()
	f.set(status(chain.TokenOK))
	if n := g.capacity(tidegate.Call{}); n != 5 {
		t.Errorf("%d calls pass, want 5", n)
	}
	if n := f.outstanding(t); n != 0 {
		t.Errorf("%d tokens are held", n)
	}
	g.idle()
}

// A service whose other methods panic harms nobody.
type brokenTokens struct{ *fakeTokens }

func (brokenTokens) ReleaseConcurrent(int64) { panic("broken release") }
func (brokenTokens) Connected() int          { panic("broken count") }

func TestBrokenTokenServiceElsewhere(t *testing.T) {
	t.Parallel()
	f := newTokens(func(a asked) tidegate.TokenResult {
		if a.kind == "flow" {
			return away()
		}
		return tidegate.TokenResult{}
	})
	g := newStill(t, tidegate.WithTokenService(brokenTokens{f}))
	load(t, g.FlowRules(), clusterFlow(1, `,"count":2`, ""), clusterFlow(2, `,"count":5,"grade":0`, ""))
	g.call("r", nil)
	g.call("r", nil)
	g.blocked("r", tidegate.ErrFlow)
	if n := g.Counters().InternalErrors; n < 3 {
		t.Errorf("%d internal errors", n)
	}
	g.idle()
}

// Whatever happens to calls, each token is released once.
func TestConcurrencyTokensStress(t *testing.T) {
	t.Parallel()
	var on atomic.Bool
	f := newTokens(func(a asked) tidegate.TokenResult {
		switch n := rand.IntN(12); {
		case n == 0:
			panic("broken service")
		case n == 1:
			return away()
		case n == 2:
			return tidegate.TokenResult{Status: chain.TokenBlocked}
		case n == 3 && a.kind != "param":
			return tidegate.TokenResult{Status: chain.TokenShouldWait, Wait: time.Duration(rand.IntN(int(time.Millisecond)))}
		}
		return tidegate.TokenResult{}
	})
	e, err := tidegate.New(tidegate.WithTokenService(f), laterRule(&on))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	g := guard{Engine: e, t: t}
	load(t, g.FlowRules(), clusterFlow(1, `,"count":1000`, ""), clusterFlow(2, `,"count":8,"grade":0`, ""), clusterFlow(3, `,"count":8,"grade":0,"mode":"observe"`, ""))
	load(t, g.ParamRules(), clusterParam(4, `,"count":1000`, ""))
	load(t, g.DegradeRules(), `{"resource":"r","grade":2,"count":50,"timeWindow":1,"minRequestAmount":1}`)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(int(time.Millisecond))))
				entry, err := g.Enter(ctx, "r", argCall(i%5))
				if err != nil && !errors.Is(err, tidegate.ErrBlocked) {
					t.Error(err)
				}
				if i%10 == 0 {
					on.Store(worker%2 == 0 && i%20 == 0)
					go entry.Exit(nil)
				}
				entry.Exit(nil)
				cancel()
			}
		})
	}
	wg.Wait()
	if n := f.outstanding(t); n != 0 {
		t.Errorf("%d tokens are held", n)
	}
	g.idle()
}
