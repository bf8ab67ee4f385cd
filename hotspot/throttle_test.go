package hotspot_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate/hotspot"
)

// A pace above 1,000 a second is kept too: 500 ms hold 1,000 calls of half a ms.
func TestB12PaceAboveThousand(t *testing.T) {
	t.Parallel()
	c := hotspot.New(throttled(2000, 500))
	if got := passes(c, 0, "a", 10_000); got < 1000 || got > 1002 {
		t.Errorf("%d passed, want 1001 +-1", got)
	}
}

// A batch is charged its own cost, also after an idle time; a refused one charges nothing.
func TestB15BatchAfterIdle(t *testing.T) {
	t.Parallel()
	c := hotspot.New(throttled(1000, 5))
	for _, s := range []struct {
		at, n int64
		want  bool
	}{{0, 1, true}, {10_000, 15_000, false}, {10_001, 1, true}, {20_000, 5000, true}} {
		if _, wait, ok := c.Reserve(s.at*ms, key("a"), s.n); ok != s.want || wait != 0 {
			t.Errorf("n = %d at %d ms: passed is %v with a wait of %d, want %v at once", s.n, s.at, ok, wait, s.want)
		}
	}
}

func TestQueuePlaces(t *testing.T) {
	t.Parallel()
	c := hotspot.New(throttled(5, 500))
	for i, want := range []int64{0, 200, 400, -1, -1} {
		_, wait, ok := c.Reserve(sec, key("a"), 1)
		if ok != (want >= 0) || ok && wait != want*ms {
			t.Errorf("call %d: passed is %v, wait %d ns, want %d ms", i, ok, wait, want)
		}
	}
	if _, _, ok := c.Reserve(sec+100*ms, key("a"), 1); ok {
		t.Error("a wait of exactly the queueing time passed")
	}
	if _, wait, ok := c.Reserve(sec+100*ms+1, key("a"), 1); !ok || wait != 500*ms-1 {
		t.Errorf("passed is %v, wait %d ns, want 499999999", ok, wait)
	}
}

func TestExactPace(t *testing.T) {
	t.Parallel()
	c := hotspot.New(throttled(3, 2000))
	for i, want := range []int64{0, 333333333, 666666666, 999999999} {
		if _, wait, _ := c.Reserve(0, key("a"), 1); wait != want {
			t.Errorf("call %d waits %d ns, want %d", i, wait, want)
		}
	}
	rule := throttled(0.1, 0)
	c = hotspot.New(rule)
	if passes(c, 0, "a", 1) != 1 || passes(c, 10*sec-1, "a", 1) != 0 || passes(c, 10*sec, "a", 2) != 1 {
		t.Error("0.1 a second is not one call per ten seconds")
	}
}

// Random calls, some of them undone, get the places that the specification's formulas give.
func TestQueueAgreesWithModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		count, duration, queueMs := float64(1+r.IntN(40))/4, int64(1+r.IntN(3)), int64(r.IntN(2000))
		rule := throttled(count, queueMs)
		rule.DurationInSec = duration
		c := hotspot.New(rule)
		last, known, now := int64(0), false, int64(0)
		for step := range 300 {
			now += r.Int64N(sec / 2)
			n := int64(r.IntN(4))
			place := now
			if cost := int64(math.Round(1e9 * float64(n*duration) / count)); known && last+cost > now {
				place = last + cost
			}
			want := n == 0 || place == now || place-now < queueMs*ms
			h, wait, ok := c.Reserve(now, key("a"), n)
			if ok != want || ok && n > 0 && wait != place-now {
				t.Fatalf("seed %d step %d, n = %d: passed is %v after %d ns, want %v after %d", seed, step, n, ok, wait, want, place-now)
			}
			if r.IntN(3) == 0 {
				c.Undo(h)
			} else if ok && n > 0 {
				last, known = place, true
			}
		}
	}
}

// Places are given back in reverse order; a place in the middle is not, so that the pace holds.
func TestUndoPlace(t *testing.T) {
	t.Parallel()
	c := hotspot.New(throttled(10, 1000))
	first, _, _ := c.Reserve(0, key("a"), 1)
	second, _, _ := c.Reserve(0, key("a"), 1)
	third, _, _ := c.Reserve(0, key("a"), 1)
	c.Undo(third)
	c.Undo(second)
	if h, wait, _ := c.Reserve(0, key("a"), 1); wait != 100*ms {
		t.Errorf("the place given back is not given again: wait %d ns", wait)
	} else {
		c.Undo(h)
	}
	c.Undo(first)
	if _, wait, ok := c.Reserve(0, key("a"), 5000); !ok || wait != 0 {
		t.Errorf("a value with every call undone is not new: %v, wait %d", ok, wait)
	}
	front, _, _ := c.Reserve(0, key("b"), 1)
	c.Reserve(0, key("b"), 1)
	c.Undo(front)
	if _, wait, _ := c.Reserve(0, key("b"), 1); wait != 200*ms {
		t.Errorf("wait %d ns behind a caller who waits 100 ms, want 200 ms", wait)
	}
}

// Callers at one instant get different places, a cost apart.
func TestQueueRace(t *testing.T) {
	t.Parallel()
	c := hotspot.New(throttled(1000, 500))
	var mu sync.Mutex
	waits := map[int64]int{}
	parallel(8, func(int) {
		for range 100 {
			_, wait, ok := c.Reserve(sec, key("a"), 1)
			if !ok {
				wait = -1
			}
			mu.Lock()
			waits[wait]++
			mu.Unlock()
		}
	})
	if waits[-1] != 300 {
		t.Errorf("%d refused, want 300", waits[-1])
	}
	for i := range int64(500) {
		if waits[i*ms] != 1 {
			t.Errorf("%d calls got the place %d ms away, want 1", waits[i*ms], i)
		}
	}
}

// parallel runs fn on n goroutines and waits for them.
func parallel(n int, fn func(worker int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

// At one call in four seconds a value that was called two seconds ago is in use: it stays while others are idle.
func TestPacedValueIsInUse(t *testing.T) {
	t.Parallel()
	rule := throttled(0.25, 1)
	rule.ParamsMaxCapacity = 4
	c := hotspot.New(rule)
	for i := range 2 {
		c.Reserve(10*sec, key(i), 1)
		c.Reserve(10*sec, key(i), 1) // refused, but a use
	}
	for i := range 2 {
		c.Reserve(sec, key(10+i), 1)
		c.Reserve(sec, key(10+i), 1)
	}
	for i := range 2 {
		c.Reserve(12*sec, key(20+i), 1)
	}
	for i := range 2 {
		if !c.Known(key(i)) || c.Known(key(10+i)) {
			t.Errorf("value %d went before its next call may pass, or value %d stayed", i, 10+i)
		}
		if _, _, ok := c.Reserve(12*sec, key(i), 1); ok {
			t.Errorf("value %d was called too soon", i)
		}
	}
}
