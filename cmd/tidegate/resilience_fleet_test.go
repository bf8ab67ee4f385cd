//go:build linux

package main

import (
	"context"
	"math"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	root "github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/flow"
)

// What the fleets of these tests guard: a limit for all together, per second, of which much more is wanted.
const (
	fleetSize  = 3
	fleetLimit = 300
	fleetPace  = 3 * time.Millisecond // between the calls of a member
	fleetFlow  = 7
)

// fleet is guarded instances with a token client each, under load.
type fleet struct {
	t         *testing.T
	members   []*member
	yardstick yardstick
	stop      context.CancelFunc
	work      sync.WaitGroup
}

// member is one instance.
type member struct {
	engine *root.Engine
	client *client.Client

	mu    sync.Mutex
	calls []guardedCall // guarded by mu
}

// guardedCall is one call, as its caller saw it.
type guardedCall struct {
	began  time.Time
	took   time.Duration
	passed bool
}

// newFleet connects a fleet to a server.
func newFleet(t *testing.T, addr string, options ...client.Option) *fleet {
	t.Helper()
	f := &fleet{t: t}
	for range fleetSize {
		f.members = append(f.members, newMember(t, addr, options...))
	}
	f.until("all connected and counted", func(m *member) bool { return m.client.Connected() == fleetSize })
	return f
}

func newMember(t *testing.T, addr string, options ...client.Option) *member {
	t.Helper()
	m := &member{client: client.New(append([]client.Option{
		client.WithServer(addr), client.WithNamespace("shop"),
	}, options...)...)}
	var err error
	if m.engine, err = root.New(root.WithTokenService(m.client)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.client.Close() // it returns nil always
		if err := m.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = m.engine.FlowRules().Load(flow.Rule{
		ID: 1, Resource: "r", Count: fleetLimit, ClusterMode: true,
		ClusterConfig: &chain.ClusterConfig{FlowID: fleetFlow, ThresholdType: chain.ThresholdGlobal},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.client.Start()
	return m
}

// load makes calls until quit, at a pace that does not depend on how long they take.
func (f *fleet) load() {
	ctx, cancel := context.WithCancel(f.t.Context())
	f.stop = cancel
	f.t.Cleanup(f.quit)
	f.work.Go(func() { f.yardstick.run(ctx) })
	for _, m := range f.members {
		f.work.Go(func() {
			pace := time.NewTicker(fleetPace)
			defer pace.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-pace.C:
					f.work.Go(func() { m.call() })
				}
			}
		})
	}
}

func (f *fleet) quit() { f.stop(); f.work.Wait() }

// call makes one call.
func (m *member) call() guardedCall {
	c := guardedCall{began: time.Now()}
	entry, err := m.engine.Enter(context.Background(), "r", root.Call{})
	c.took = time.Since(c.began)
	if c.passed = err == nil; c.passed {
		entry.Exit(nil)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
	return c
}

// until waits until something is so of all members, and returns how long that took.
func (f *fleet) until(what string, is func(*member) bool) time.Duration {
	f.t.Helper()
	return until(f.t, what, func() bool {
		return !slices.ContainsFunc(f.members, func(m *member) bool { return !is(m) })
	})
}

func ready(m *member) bool { return m.client.Status().State == client.StateReady }
func alone(m *member) bool { return m.client.Status().State != client.StateReady }

// between returns the calls that began in a span of time.
func (f *fleet) between(from, to time.Time) (calls []guardedCall) {
	for _, m := range f.members {
		m.mu.Lock()
		for _, c := range m.calls {
			if !c.began.Before(from) && c.began.Before(to) {
				calls = append(calls, c)
			}
		}
		m.mu.Unlock()
	}
	slices.SortFunc(calls, func(a, b guardedCall) int { return a.began.Compare(b.began) })
	return calls
}

func passedOf(calls []guardedCall) (n int) {
	for _, c := range calls {
		if c.passed {
			n++
		}
	}
	return n
}

// fullest returns how many calls certainly passed within one second of the clock, in the fullest: they came and were
// answered within it.
func fullest(calls []guardedCall) (most int) {
	passed := map[int64]int{}
	for _, c := range calls {
		if second := c.began.Unix(); c.passed && c.began.Add(c.took).Unix() == second {
			passed[second]++
			most = max(most, passed[second])
		}
	}
	return most
}

// quantile returns how long a share of the calls took at most.
func quantile(calls []guardedCall, share float64) time.Duration {
	took := make([]time.Duration, len(calls))
	for i, c := range calls {
		took[i] = c.took
	}
	return quantileOf(took, share)
}

func quantileOf(took []time.Duration, share float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(len(took)-1, int(math.Ceil(share*float64(len(took)))))]
}

// yardstick measures how long the machine, busy as it is, keeps a goroutine waiting that wants nothing.
type yardstick struct {
	mu    sync.Mutex
	waits []guardedCall // guarded by mu
}

func (y *yardstick) run(ctx context.Context) {
	for ctx.Err() == nil {
		due := time.Now().Add(time.Millisecond)
		time.Sleep(time.Millisecond)
		y.mu.Lock()
		y.waits = append(y.waits, guardedCall{began: due, took: time.Since(due)})
		y.mu.Unlock()
	}
}

// between returns what the machine cost a goroutine in a span of time: of a share of the waits at most, and of all.
func (y *yardstick) between(from, to time.Time, share float64) (at, most time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	var waits []guardedCall
	for _, w := range y.waits {
		if !w.began.Before(from) && w.began.Before(to) {
			waits = append(waits, w)
		}
	}
	return quantile(waits, share), quantile(waits, 1)
}

// cores returns how much of the machine's processors this process and its servers used in the time since before.
func (f *fleet) used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		f.t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
