package hotspot_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

// The first users of a value count, one after the other and all at once.
func TestB49FirstUsersCount(t *testing.T) {
	t.Parallel()
	c := hotspot.New(concurrency(2))
	for i, value := range []any{true, true, true, false} {
		if _, _, ok := c.Reserve(0, key(value), 1); ok != (i != 2) {
			t.Errorf("call %d with %v: passed is %v", i, value, ok)
		}
	}
	for round := range 50 {
		var passed atomic.Int64
		c := hotspot.New(concurrency(10))
		parallel(20, func(int) {
			if _, _, ok := c.Reserve(0, key("new"), 1); ok {
				passed.Add(1)
			}
		})
		if passed.Load() != 10 {
			t.Fatalf("round %d: %d passed, want 10", round, passed.Load())
		}
	}
}

// 8 goroutines, 10,000 calls each on one value at concurrency 1, while others push values out of a small table.
func TestConcurrencyIsExact(t *testing.T) {
	t.Parallel()
	rule := concurrency(1)
	rule.ParamsMaxCapacity = 4
	c := hotspot.New(rule)
	var flying, passed atomic.Int64
	parallel(8, func(worker int) {
		for i := range 10_000 {
			if h, _, ok := c.Reserve(int64(i), key("hot"), 1); ok {
				passed.Add(1)
				if n := flying.Add(1); n != 1 {
					t.Errorf("%d in flight", n)
				}
				if i%64 == 0 {
					runtime.Gosched()
				}
				flying.Add(-1)
				if i%2 == 0 {
					c.Release(h)
				} else {
					c.Undo(h)
				}
			}
			if i%10 == 0 {
				h, _, _ := c.Reserve(int64(i), key(worker*100_000+i), 1)
				c.Release(h)
			}
		}
	})
	if passed.Load() == 0 {
		t.Error("nothing passed")
	}
	for _, s := range c.Top(0, 100) {
		if s.InFlight != 0 {
			t.Errorf("%v: %d in flight at the end", s.Value, s.InFlight)
		}
	}
	if c.Len() > 4 {
		t.Errorf("%d values at the end, want at most 4", c.Len())
	}
	if h, _, ok := c.Reserve(0, key("hot"), 1); !ok {
		t.Error("refused with none in flight")
	} else if _, _, ok := c.Reserve(0, key("hot"), 1); ok {
		t.Error("passed with one in flight")
	} else {
		c.Release(h)
		c.Release(h) // once too often: harmless
		if got := passes(c, 0, "hot", 3); got != 1 {
			t.Errorf("%d passed, want 1", got)
		}
	}
}

// A list is compared without what the same call holds, and counts every element.
func TestConcurrencyOfLists(t *testing.T) {
	t.Parallel()
	c := hotspot.New(concurrency(2))
	admit := func(values ...int) ([]hotspot.Hold, bool) {
		held, _, _, ok := c.Admit(0, chain.Any("", values), 1, nil)
		return held, ok
	}
	held, ok := admit(4, 4, 4)
	if !ok || len(held) != 3 {
		t.Fatalf("a list of three equal values: passed is %v with %d holds", ok, len(held))
	}
	if _, ok := admit(4); ok {
		t.Error("passed with three in flight")
	}
	c.Release(held[0])
	if _, ok := admit(5, 4); ok || passes(c, 0, 5, 3) != 2 {
		t.Error("a refused list was counted")
	}
	c.Release(held[1])
	if _, ok := admit(4); !ok {
		t.Error("refused with one in flight")
	}
}

func TestConcurrencyIgnoresCount(t *testing.T) {
	t.Parallel()
	c := hotspot.New(concurrency(1.9))
	if _, _, ok := c.Reserve(0, key("a"), 5); !ok {
		t.Error("n = 5 was refused")
	}
	if _, _, ok := c.Reserve(0, key("a"), 0); ok {
		t.Error("two in flight at 1.9")
	}
	if _, _, ok := hotspot.New(concurrency(0.5)).Reserve(0, key("a"), 1); ok {
		t.Error("one in flight at 0.5")
	}
}
