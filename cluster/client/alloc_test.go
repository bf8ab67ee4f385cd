//go:build !race

package client_test

import (
	"context"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

func TestRequestAllocs(t *testing.T) { // not parallel: it counts allocations
	addr := echo(t)
	c := usable(t, connect(t, addr))
	lone := usable(t, connect(t, addr, client.WithCoalescing(0)))
	off := client.New(client.WithServer(addr))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	values := []chain.Arg{chain.String("", "user-1"), chain.Int("", 7)}
	for name, call := range map[string]func() chain.TokenResult{
		"flow":                       func() chain.TokenResult { return c.RequestToken(context.Background(), 103, 1, false) },
		"flow, context that may end": func() chain.TokenResult { return c.RequestToken(ctx, 103, 1, false) },
		"param":                      func() chain.TokenResult { return c.RequestParamToken(context.Background(), 202, 1, values) },
		"coalescing":                 func() chain.TokenResult { return lone.RequestToken(context.Background(), 103, 1, false) },
		"not connected":              func() chain.TokenResult { return off.RequestToken(context.Background(), 103, 1, false) },
		"bad":                        func() chain.TokenResult { return c.RequestToken(context.Background(), 0, 1, false) },
	} {
		for range 100 {
			call()
		}
		if n := alloctest.Count(func() { call() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestCrowdAllocs(t *testing.T) { // not parallel: it counts allocations
	addr := echo(t)
	for name, opts := range map[string][]client.Option{"single": nil, "coalescing": {client.WithCoalescing(0)}} {
		c := usable(t, connect(t, addr, opts...))
		begin, end := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		const callers, calls = 64, 50
		for range callers {
			wg.Go(func() {
				for range begin {
					for range calls {
						c.RequestToken(context.Background(), 103, 1, false)
					}
					end <- struct{}{}
				}
			})
		}
		n := testing.AllocsPerRun(50, func() {
			for range callers {
				begin <- struct{}{}
			}
			for range callers {
				<-end
			}
		})
		close(begin)
		wg.Wait()
		if n > callers*calls/100 { // the runtime's own
			t.Errorf("%s: %v allocations in %d requests", name, n, callers*calls)
		}
	}
}
