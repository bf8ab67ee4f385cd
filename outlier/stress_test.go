package outlier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/outlier"
)

// Callers, a changing set of addresses, checks and readers at once: never more ejected than allowed, and when
// all addresses work again all come back.
func TestStressInVirtualTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var healthy atomic.Bool
		outcome := func() error {
			if !healthy.Load() && rand.IntN(3) == 0 {
				return errDown
			}
			return nil
		}
		rule := circuitbreaker.Rule{Resource: "shop", Grade: circuitbreaker.ErrorRatio, Count: 0.3, MinRequestAmount: 3, TimeWindow: 1, ProbeNum: 2}
		g := newGroup(t, outlier.Config{
			Rule: rule, ActiveRecovery: true, RecoveryInterval: 300 * time.Millisecond, MaxChecks: 2, RecycleAfter: 3 * time.Second,
			Check:  func(context.Context, string) error { time.Sleep(10 * time.Millisecond); return outcome() },
			Notify: func(string, circuitbreaker.Event) {},
		}, hosts(0, 10)...)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() { callMany(t, g, outcome, 2000) })
		}
		wg.Go(func() {
			for i := range 100 {
				g.Set(hosts(i%3, 10))
				time.Sleep(47 * time.Millisecond)
				// The sets overlap, so a reader between two may see either; all have ten addresses.
				if n := len(g.Ejected()); n > 5 {
					t.Errorf("%d of 10 ejected, want at most 5", n)
				}
				g.Status()
			}
			healthy.Store(true)
		})
		wg.Wait()
		for range 50 {
			callMany(t, g, outcome, 20)
			time.Sleep(200 * time.Millisecond)
		}
		if n := len(g.Available()); n != 10 {
			t.Errorf("%d of 10 available in the end: %+v", n, g.Status())
		}
	})
}

func hosts(first, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("host", first+i)
	}
	return list
}

func callMany(t *testing.T, g *outlier.Group, outcome func() error, n int) {
	for range n {
		c, err := g.Pick()
		if err != nil {
			t.Errorf("Pick: %v", err)
			return
		}
		time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
		if rand.IntN(20) == 0 {
			c.Cancel()
			continue
		}
		c.Done(outcome())
	}
}

// The same without waiting anywhere, so that the callers really collide.
func TestStressInRealTime(t *testing.T) {
	t.Parallel()
	g := newGroup(t, outlier.Config{
		ActiveRecovery: true, RecoveryInterval: time.Microsecond, RecycleAfter: time.Millisecond,
		Check: func(context.Context, string) error {
			if rand.IntN(2) == 0 {
				return errDown
			}
			return nil
		},
	}, hosts(0, 9)...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 3000 {
				c, err := g.Pick()
				if err != nil {
					t.Errorf("Pick: %v", err)
					return
				}
				if i%7 == 0 {
					c.Done(errDown)
				} else {
					c.Done(nil)
				}
				if i%100 == 0 {
					g.Set(hosts(rand.IntN(2), 9))
				}
				if n := len(g.Ejected()); n > 4 {
					t.Errorf("%d of 9 ejected, want at most 4", n)
				}
				if c, err := g.Start("host3"); err == nil {
					c.Cancel()
				} else if !errors.Is(err, outlier.ErrEjected) {
					t.Errorf("Start: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

func BenchmarkPick(b *testing.B) {
	g, err := outlier.New(outlier.Config{Rule: oneError()})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	g.Set(hosts(0, 10))
	b.Run("serial", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c, _ := g.Pick()
			c.Done(nil)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c, _ := g.Pick()
				c.Done(nil)
			}
		})
	})
}
