package hotspot_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

func key(value any) hotspot.Key {
	k, _ := hotspot.ScalarKey(chain.Any("", value))
	return k
}

// passes counts how many of calls calls at now pass.
func passes(c *hotspot.Controller, now int64, value any, calls int) (n int) {
	for range calls {
		if _, _, ok := c.Reserve(now, key(value), 1); ok {
			n++
		}
	}
	return n
}

// bucketModel is the token bucket of one value as the specification has it, with whole thresholds.
type bucketModel struct {
	threshold, burst, period int64
	known                    bool
	last, rest               int64
}

func (m *bucketModel) acquire(nowMs, n int64) bool {
	top := m.threshold + m.burst
	switch {
	case m.threshold == 0:
		return false
	case n == 0:
		return true
	case n > top:
		return false
	case !m.known:
		m.known, m.last, m.rest = true, nowMs, top-n
		return true
	}
	if elapsed := nowMs - m.last; elapsed > m.period {
		rest := min(top, m.rest+elapsed*m.threshold/m.period) - n
		if rest < 0 {
			return false
		}
		m.last, m.rest = nowMs, rest
		return true
	}
	if m.rest < n {
		return false
	}
	m.rest -= n
	return true
}

// Random calls, some of them undone (which leaves no trace), decide as the model does.
func TestBucketAgreesWithModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		rule := qps(float64(r.IntN(7)))
		rule.BurstCount, rule.DurationInSec = int64(r.IntN(4)), int64(r.IntN(4))
		c := hotspot.New(rule)
		models := make([]bucketModel, 3)
		for i := range models {
			models[i] = bucketModel{threshold: int64(rule.Count), burst: rule.BurstCount, period: 1000 * max(1, rule.DurationInSec)}
		}
		now := r.Int64N(sec)
		for step := range 400 {
			now += r.Int64N(int64(max(1, rule.DurationInSec)) * sec / 2)
			who, n := r.IntN(len(models)), int64(r.IntN(4))
			undone := r.IntN(3) == 0
			m := models[who]
			want := m.acquire(now/ms, n)
			h, _, got := c.Reserve(now, key(who), n)
			if got != want {
				t.Fatalf("seed %d step %d: value %d, n %d at %d ms: passed is %v, want %v", seed, step, who, n, now/ms, got, want)
			}
			if undone {
				c.Undo(h)
			} else {
				models[who] = m
			}
		}
	}
}

func TestFractionalCounts(t *testing.T) {
	t.Parallel()
	for _, s := range []struct {
		count           float64
		duration, burst int64
		at              []int64 // ms
		want            []int   // passes of 10 calls
	}{
		{2.9, 1, 0, []int64{0, 1000, 1001, 2002}, []int{2, 0, 2, 2}},
		{2.5, 1, 1, []int64{0, 1001, 2002, 3003}, []int{3, 3, 2, 3}}, // half tokens add up
		{0.5, 1, 0, []int64{0, 1001, 2000, 2001, 4001, 4002}, []int{1, 0, 0, 1, 0, 1}},
		{0.5, 10, 0, []int64{0, 20000, 20001}, []int{1, 0, 1}},
		{0.9, 1, 5, []int64{0, 1111, 1112}, []int{6, 0, 1}},
		{1e-7, 1, 0, []int64{0, 9_999_999_999, 10_000_000_002}, []int{1, 0, 1}},
		{0, 1, 2, []int64{0, 1001}, []int{0, 0}},
		{math.Inf(1), 1, 0, []int64{0}, []int{10}},
		{math.MaxFloat64, 200_000, math.MaxInt64, []int64{0, 200_000_001}, []int{10, 10}},
	} {
		rule := qps(s.count)
		rule.DurationInSec, rule.BurstCount = s.duration, s.burst
		c := hotspot.New(rule)
		for i, at := range s.at {
			if at > math.MaxInt64/ms {
				continue
			}
			if got := passes(c, at*ms, "a", 10); got != s.want[i] {
				t.Errorf("count %v per %d s, burst %d: %d passed at %d ms, want %d", s.count, s.duration, s.burst, got, at, s.want[i])
			}
		}
	}
}

func TestZeroCallsAndZeroThreshold(t *testing.T) {
	t.Parallel()
	rule := qps(2)
	rule.Items = []hotspot.Item{{Object: "no", Count: 0}}
	c := hotspot.New(rule)
	if _, _, ok := c.Reserve(0, key("a"), 0); !ok {
		t.Error("n = 0 was refused")
	}
	if _, _, ok := c.Reserve(0, key("no"), 0); ok {
		t.Error("a threshold of 0 let n = 0 pass")
	}
	if _, _, ok := c.Reserve(0, key("a"), 3); ok {
		t.Error("n = 3 passed at a threshold of 2")
	}
	if _, _, ok := c.Reserve(0, key("a"), math.MaxInt64); ok {
		t.Error("a huge n passed")
	}
	if c.Len() != 0 {
		t.Errorf("%d values kept of calls that reserved nothing, want 0", c.Len())
	}
	if got := passes(c, 0, "a", 5); got != 2 {
		t.Errorf("%d passed, want 2", got)
	}
}

// An exception item for an integer stands for every integer type, not for a text.
func TestB58ItemsMatchEveryIntegerType(t *testing.T) {
	t.Parallel()
	rule := qps(1)
	rule.Items = []hotspot.Item{
		{Object: "7", ClassType: "int", Count: 100},
		{Object: "1.5", ClassType: "float", Count: 3},
		{Object: "TRUE", ClassType: "java.lang.Boolean", Count: 4},
		{Object: "xyz", ClassType: "char", Count: 5},
		{Object: "nine", ClassType: "int", Count: 9},
		{Object: "twice", Count: 2},
		{Object: "twice", Count: 6},
	}
	c := hotspot.New(rule)
	for _, s := range []struct {
		value any
		want  int
	}{{int64(7), 10}, {"7", 1}, {int32(8), 1}, {7.0, 1}, {float32(1.5), 3}, {true, 4}, {false, 1}, {"x", 5}, {"nine", 1}, {"twice", 6}} {
		if got := passes(c, 0, s.value, 10); got != s.want {
			t.Errorf("%T %v: %d passed, want %d", s.value, s.value, got, s.want)
		}
	}
	if got := passes(c, 0, uint8(7), 100); got != 90 {
		t.Errorf("%d more passed as uint8, want 90", got)
	}
	if c.Threshold(key(uint16(7))) != 100 || c.Threshold(key("7")) != 1 {
		t.Error("thresholds are not those of the items")
	}
}

// The elements of a list are admitted all or none; a refused call charges nothing.
func TestListsAreAllOrNothing(t *testing.T) {
	t.Parallel()
	c := hotspot.New(qps(2))
	admit := func(values ...string) bool {
		held, _, refused, ok := c.Admit(0, chain.Any("", values), 1, nil)
		if ok != (refused == hotspot.Key{}) || !ok && len(held) > 0 {
			t.Errorf("%v: ok %v, refused %v, %d holds", values, ok, refused, len(held))
		}
		return ok
	}
	if admit("a", "b", "b", "b") {
		t.Error("a value passed three times at a threshold of 2")
	}
	if !admit("a", "b") || !admit("b", "a") {
		t.Error("the refused call was charged")
	}
	if admit("c", "a") || passes(c, 0, "c", 3) != 2 {
		t.Error("c was charged for the call that a refused")
	}
}

// Undo after other calls and after a refill gives back what was reserved, never more.
func TestUndoAfterRefill(t *testing.T) {
	t.Parallel()
	rule := qps(2)
	rule.BurstCount = 8
	c := hotspot.New(rule)
	held := make([]hotspot.Hold, 0, 10)
	for range 10 {
		h, _, _ := c.Reserve(0, key("a"), 1)
		held = append(held, h)
	}
	if passes(c, 1001*ms, "a", 5) != 2 { // refilled by 2
		t.Fatal("want 2 after the refill")
	}
	for _, h := range held {
		c.Undo(h)
	}
	if got := passes(c, 1001*ms, "a", 20); got != 8 {
		t.Errorf("%d passed after ten calls were undone, want the 8 that were left unfilled", got)
	}
}

func TestReserveAlloc(t *testing.T) {
	for name, rule := range benchRules() {
		for what, arg := range map[string]chain.Arg{
			"text": chain.String("", "a"), "long": chain.String("", string(make([]byte, 1000))), "int": chain.Int("", 1),
			"list": chain.Any("", []string{"a", "b"}), "struct": chain.Any("", point{1, 2}),
		} {
			c, holds := hotspot.New(rule), make([]hotspot.Hold, 0, 4)
			if n := testing.AllocsPerRun(1000, func() {
				held, _, _, _ := c.Admit(0, arg, 1, holds)
				for _, h := range held {
					c.Release(h)
				}
			}); n != 0 {
				t.Errorf("%s %s: %v allocations per passed call, want 0", name, what, n)
			}
			if n := testing.AllocsPerRun(1000, func() {
				held, _, _, _ := c.Admit(0, arg, 1, holds)
				for _, h := range slices.Backward(held) {
					c.Undo(h)
				}
			}); n != 0 {
				t.Errorf("%s %s: %v allocations per undone call, want 0", name, what, n)
			}
		}
	}
	for name, rule := range map[string]hotspot.Rule{"bucket": qps(1), "queue": throttled(1, 0), "concurrency": concurrency(1), "closed": qps(0)} {
		c := hotspot.New(rule)
		c.Reserve(0, key("a"), 1)
		if n := testing.AllocsPerRun(1000, func() {
			if _, _, _, ok := c.Admit(0, chain.String("", "a"), 1, nil); ok {
				t.Fatal("passed")
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per refused call, want 0", name, n)
		}
	}
}
