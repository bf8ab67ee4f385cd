package stat_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/stat"
)

// inFlight is a scope's calls in flight, for a gate.
type inFlight struct{ atomic.Int64 }

func (f *inFlight) active() int64 { return f.Load() }

func settlingGate(t *testing.T) *stat.Gate {
	t.Helper()
	return stat.NewNode(scope(t, 1e9, 2)).Exact().Gate()
}

func TestGateCountsCallsThatEnteredBefore(t *testing.T) {
	t.Parallel()
	var scope inFlight
	scope.Store(3) // entered before anybody asked for the gate
	g := settlingGate(t)
	if !g.Settling() || g.Held(scope.active) != 3 {
		t.Errorf("settling %v, holds %d, want 3", g.Settling(), g.Held(scope.active))
	}
	first, ok := g.Acquire(1, 4, scope.active)
	if !ok {
		t.Fatal("refused the fourth of five places")
	}
	second, ok := g.Acquire(1, 4, scope.active)
	if !ok {
		t.Fatal("refused the fifth place")
	}
	if _, ok := g.Acquire(1, 4, scope.active); ok {
		t.Fatal("a sixth call got in")
	}
	scope.Add(1) // the first arrives, the second is still on its way
	g.Arrived(&first)
	if _, ok := g.Acquire(1, 4, scope.active); ok {
		t.Fatal("a sixth call got in while one was on its way")
	}
	scope.Add(-2) // two of the old ones leave
	third, ok := g.Acquire(1, 4, scope.active)
	if !ok || !g.Settling() {
		t.Fatalf("place free: %v, settling %v", ok, g.Settling())
	}
	scope.Add(-1) // the last old one leaves
	fourth, ok := g.Acquire(1, 4, scope.active)
	if !ok || g.Settling() {
		t.Errorf("place free: %v, still settling: %v", ok, g.Settling())
	}
	for _, p := range []stat.Permit{first, second, third, fourth} {
		g.Release(p)
	}
	if got := g.Held(func() int64 { return 0 }); got != 0 {
		t.Errorf("%d held at the end", got)
	}
}

func TestGatePermits(t *testing.T) {
	t.Parallel()
	var scope inFlight
	g := settlingGate(t)
	a, ok := g.Acquire(3, 7, scope.active) // 3 of 10
	if !ok {
		t.Fatal("refused 3 of 10")
	}
	b, ok := g.Acquire(7, 3, scope.active)
	if !ok {
		t.Fatal("refused 7 more")
	}
	if _, ok := g.Acquire(1, 9, scope.active); ok {
		t.Error("an eleventh permit")
	}
	if _, ok := g.Acquire(0, -1, scope.active); ok {
		t.Error("negative room let a call in")
	}
	c := g.Take(5, scope.active)
	if got := g.Held(scope.active); got != 15 {
		t.Errorf("%d held, want 15", got)
	}
	for _, p := range []stat.Permit{b, c, a} {
		g.Release(p)
	}
	if got := g.Held(scope.active); got != 0 {
		t.Errorf("%d held at the end", got)
	}
}

// A permit released without ever arriving, as of a call that a later rule refused, leaves nothing behind.
func TestGateUndoWhileSettling(t *testing.T) {
	t.Parallel()
	var scope inFlight
	scope.Store(1)
	g := settlingGate(t)
	for range 100 {
		p, ok := g.Acquire(1, 1, scope.active)
		if !ok {
			t.Fatal("the second place is not free")
		}
		g.Release(p)
	}
	if got := g.Held(scope.active); got != 1 {
		t.Errorf("%d held, want the old call", got)
	}
}

// Calls that entered before, calls that come, calls that are refused later: never above the limit, zero at the end.
func TestGateNeverAboveTheLimit(t *testing.T) { // not parallel: GOMAXPROCS
	const limit = 10
	for _, procs := range []int{1, 2, 4, 8} {
		old := runtime.GOMAXPROCS(procs)
		n := stat.NewNode(scope(t, 1e9, 2))
		for range 6 {
			n.Pass(0, epoch, 1)
		}
		g := n.Exact().Gate()
		var inside, most atomic.Int64
		inside.Store(6)
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 6 {
				inside.Add(-1)
				n.Complete(0, epoch, 1, ms, false)
				runtime.Gosched()
			}
		})
		for w := range uint32(16) {
			wg.Go(func() {
				for i := range 1000 {
					p, ok := g.Acquire(1, limit-1, n.Active)
					if !ok {
						continue
					}
					if i%5 == 0 { // refused by a later rule
						g.Release(p)
						continue
					}
					now := inside.Add(1)
					for have := most.Load(); now > have && !most.CompareAndSwap(have, now); have = most.Load() {
					}
					n.Pass(w, epoch, 1)
					g.Arrived(&p)
					runtime.Gosched()
					inside.Add(-1)
					g.Release(p)
					n.Complete(w, epoch, 1, ms, false)
				}
			})
		}
		wg.Wait()
		if most.Load() > limit {
			t.Errorf("GOMAXPROCS %d: %d in flight, limit %d", procs, most.Load(), limit)
		}
		if g.Held(n.Active) != 0 || n.Active() != 0 {
			t.Errorf("GOMAXPROCS %d: %d held, %d in flight at the end", procs, g.Held(n.Active), n.Active())
		}
		runtime.GOMAXPROCS(old)
	}
}
