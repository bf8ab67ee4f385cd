package token_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// callersAtOnce is how many ask at the same time.
const callersAtOnce = 64

// together runs f in so many goroutines and waits.
func together(f func(caller int)) {
	var group sync.WaitGroup
	for c := range callersAtOnce {
		group.Go(func() { f(c) })
	}
	group.Wait()
}

// No number of callers at once gets more than the limit, in either mode, whatever the number of processors.
// It sets GOMAXPROCS, so it runs alone.
func TestNoOvershoot(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		for name, opts := range map[string][]token.Option{"exact": nil, "compatible": {token.WithCompatible()}} {
			t.Run(fmt.Sprintf("%s-%d", name, procs), func(t *testing.T) { noOvershoot(t, newBench(opts...)) })
		}
	}
}

func noOvershoot(t *testing.T, b *bench) {
	t.Helper()
	const each, limit = 60, 500
	b.unlimited(t).load(t, global(1, limit), global(2, limit*2))
	b.loadParam(t, hot(1, limit))
	for second := range int64(3) {
		b.at(second * 1000)
		var flows, prior, single, several atomic.Int64
		together(func(c int) {
			for i := range each {
				if b.flow(1, 1).Status == chain.TokenOK {
					flows.Add(1)
				}
				if b.Flow(b.Now(), "", 2, 2, c%2 == 0).Status == chain.TokenOK {
					prior.Add(2)
				}
				if b.param(1, 1, text("hot")).Status == chain.TokenOK {
					single.Add(1)
				}
				if i%2 == c%2 { // in both orders
					several.Add(granted(b.param(1, 1, wire.IntValue(1), wire.IntValue(2))))
				} else {
					several.Add(granted(b.param(1, 1, wire.IntValue(2), wire.IntValue(1))))
				}
			}
		})
		if flows.Load() != limit || prior.Load() != 2*limit || single.Load() != limit || several.Load() != limit {
			t.Fatalf("second %d: %d, %d, %d, %d", second, flows.Load(), prior.Load(), single.Load(), several.Load())
		}
	}
}

func granted(r chain.TokenResult) int64 {
	if r.Status == chain.TokenOK {
		return 1
	}
	return 0
}

// The limit of requests is exact too.
func TestLimiterAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench()
	c := token.DefaultConfig()
	c.MaxAllowedQPS = 700
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	b.load(t, global(1, 1e9))
	var ok atomic.Int64
	together(func(int) {
		for range 30 {
			ok.Add(granted(b.flow(1, 1)))
		}
	})
	if ok.Load() != 700 {
		t.Errorf("%d granted, want 700", ok.Load())
	}
}

// While windows change all the time no second has more than its limit, and nobody finds the rule gone.
func TestWindowsChangeAtOnce(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		const limit = 100
		rule := func(samples int) flow.Rule { return windowed(global(1, limit), 1000, samples) }
		value := func(samples int) hotspot.Rule {
			r := hot(1, limit)
			r.ClusterConfig.SampleCount = samples
			return r
		}
		b.unlimited(t).load(t, rule(10))
		b.loadParam(t, value(10))
		var flows, params atomic.Int64
		done := make(chan struct{})
		var loader sync.WaitGroup
		loader.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					samples := []int{1, 2, 5, 10, 20}[i%5]
					b.LoadFlow("appA", []flow.Rule{rule(samples)})
					b.LoadParam("appA", []hotspot.Rule{value(samples)})
				}
			}
		})
		const rounds = 15
		for round := range int64(rounds) {
			b.at(round * 2000)
			flows.Store(0)
			params.Store(0)
			together(func(int) {
				for range 20 {
					flows.Add(granted(b.flow(1, 1)))
					params.Add(granted(b.param(1, 1, text("x"))))
				}
			})
			if flows.Load() != limit || params.Load() != limit {
				t.Errorf("round %d: granted %d and %d, want %d", round, flows.Load(), params.Load(), limit)
			}
		}
		close(done)
		loader.Wait()
		if st := b.Status(); st.NoRule != 0 || st.Flows[0].Granted != rounds*limit || st.Params[0].Granted != rounds*limit {
			t.Errorf("%+v", st)
		}
	})
}

// Everything at once: loads, removals, config, members, sweeps and status, while requests go on.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		together(func(c int) {
			who := fmt.Sprint(c)
			for i := range 40 {
				b.now.Add(ms * int64(i%3))
				switch (c + i) % 8 {
				case 0:
					b.LoadFlow("appA", []flow.Rule{global(1, 10), windowed(average(2, 5), 1000*(1+i%3), 10)})
				case 1:
					b.LoadParam("appA", []hotspot.Rule{hot(1, float64(i))})
				case 2:
					b.Join(who, "appA")
				case 3:
					b.Leave(who)
				case 4:
					b.Sweep(b.Now())
					_ = b.Status()
				case 5:
					b.Remove("appA")
				case 6:
					c := token.DefaultConfig()
					c.SampleCount = 1 + i%2
					_ = b.Configure(c)
				}
				for id := range int64(3) {
					b.prior(id, 1)
					b.param(id, 1, wire.IntValue(int32(i)), text(who))
					if r := b.acquire(who, id, 1); r.Status == chain.TokenOK {
						b.Release(who, r.TokenID)
					}
				}
			}
		})
		b.Remove("appA")
		for c := range callersAtOnce {
			b.Leave(fmt.Sprint(c))
		}
		if st := b.Status(); len(st.Namespaces) != 0 || st.TokensOut != 0 {
			t.Errorf("left over: %+v", st)
		}
	})
}
