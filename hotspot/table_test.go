package hotspot_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestIndexAgreesWithMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		for _, whole := range []bool{true, false} {
			if step := hotspot.IndexMismatch(rand.New(rand.NewPCG(seed, 2)), 2000, whole); step >= 0 {
				t.Fatalf("seed %d: differs after step %d", seed, step)
			}
		}
	}
}

// A million values pass through: the table stays at its capacity, the heap flat, and values that come again and again
// keep their state, be it every hundredth call or one in half a capacity.
func TestManyDistinctValues(t *testing.T) {
	const capacity = many / 50
	for name, rule := range map[string]hotspot.Rule{"bucket": qps(3), "queue": throttled(1, 1), "concurrency": concurrency(1)} {
		rule.DurationInSec, rule.ParamsMaxCapacity = 1000, capacity
		c := hotspot.New(rule)
		var early int64
		passed := map[string]int{}
		for i := range many {
			if i == many/10 {
				early = heap()
			}
			h, _, ok := c.Reserve(int64(i), key(i), 1)
			if !ok {
				t.Fatalf("%s: the first call of %d was refused", name, i)
			}
			c.Release(h)
			if i%100 == 0 {
				passed["hot"] += passes(c, int64(i), "hot", 1)
			}
			if i%(capacity/2) == 0 {
				passed["warm"] += passes(c, int64(i), "warm", 1)
			}
		}
		if c.Len() != capacity {
			t.Errorf("%s: %d values, want %d", name, c.Len(), capacity)
		}
		if growth := heap() - early; growth > 1<<20 {
			t.Errorf("%s: heap grew by %d bytes", name, growth)
		}
		want := map[string]int{"bucket": 3, "queue": 1, "concurrency": 1}[name]
		if passed["hot"] != want || passed["warm"] != want {
			t.Errorf("%s: frequent values passed %v times, want %d each: they were forgotten", name, passed, want)
		}
		if got := c.Evicted(); got < many-capacity || got > many-capacity+2 {
			t.Errorf("%s: %d evictions, want %d or 2 more", name, got, many-capacity)
		}
		runtime.KeepAlive(c)
	}
}

// A value that stays is told apart from a wave of new ones even when the wave's values come three times each.
func TestHotValueSurvivesRepeatedWaves(t *testing.T) {
	t.Parallel()
	rule := qps(1)
	rule.DurationInSec, rule.ParamsMaxCapacity = 1000, 1000
	c := hotspot.New(rule)
	passed := 0
	for i := range 100_000 {
		for range 3 {
			c.Reserve(int64(i), key(i), 1)
		}
		if i%100 == 0 {
			passed += passes(c, int64(i), "hot", 1)
		}
	}
	if passed != 1 {
		t.Errorf("the hot value passed %d times, want 1", passed)
	}
}

// All the values of a capacity fit, whatever their hashes.
func TestCapacityIsUsedInFull(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int64{1, 2, 100, 1024, 10_000} {
		rule := qps(1)
		rule.ParamsMaxCapacity = capacity
		c := hotspot.New(rule)
		for range 2 {
			for i := range capacity {
				c.Reserve(0, key(i), 1)
			}
		}
		if c.Len() != int(capacity) || c.Evicted() != 0 {
			t.Errorf("capacity %d: %d values, %d evicted", capacity, c.Len(), c.Evicted())
		}
		c.Reserve(0, key("new"), 1)
		if c.Len() != int(capacity) || c.Evicted() != 1 {
			t.Errorf("capacity %d and one more: %d values, %d evicted", capacity, c.Len(), c.Evicted())
		}
	}
	if got := hotspot.New(qps(1)).Capacity(); got != 20_000 {
		t.Errorf("default capacity %d, want 20000", got)
	}
}

// Values in flight are never evicted: the table grows over its capacity by them, and shrinks as they end.
func TestValuesInFlightStay(t *testing.T) {
	t.Parallel()
	for _, capacity := range []int64{10, 2048} {
		rule := concurrency(1)
		rule.ParamsMaxCapacity = capacity
		c := hotspot.New(rule)
		twice := int(capacity) * 2
		held := make([]hotspot.Hold, twice)
		for i := range twice {
			held[i], _, _ = c.Reserve(0, key(i), 1)
		}
		if c.Len() != twice {
			t.Errorf("capacity %d: %d values with %d in flight", capacity, c.Len(), twice)
		}
		for i := range twice {
			if _, _, ok := c.Reserve(0, key(i), 1); ok {
				t.Fatalf("capacity %d: value %d was forgotten in flight", capacity, i)
			}
		}
		for i, h := range held {
			c.Release(h)
			if want := max(int(capacity), twice-i-1); c.Len() != want {
				t.Fatalf("capacity %d: %d values with %d in flight, want %d", capacity, c.Len(), twice-i-1, want)
			}
		}
		for i := range 3 * twice {
			h, _, ok := c.Reserve(0, key(-i-1), 1)
			if !ok {
				t.Fatal("refused a new value")
			}
			c.Release(h)
		}
		if c.Len() != int(capacity) {
			t.Errorf("capacity %d: %d values at rest", capacity, c.Len())
		}
	}
}

// Waves of values in flight above the capacity use the records of the waves before.
func TestRecordsAreUsedAgain(t *testing.T) {
	t.Parallel()
	rule := concurrency(1)
	rule.ParamsMaxCapacity = 100
	c := hotspot.New(rule)
	var held []hotspot.Hold
	for wave := range 20 {
		for i := range 1000 {
			h, _, _ := c.Reserve(0, key(wave*1000+i), 1)
			held = append(held, h)
		}
		for _, h := range held {
			c.Release(h)
		}
		held = held[:0]
	}
	if c.Len() != 100 || c.Records() != 1000 {
		t.Errorf("%d values in %d records, want 100 in 1000", c.Len(), c.Records())
	}
}

// Idle values go before values whose tokens are spent.
func TestIdleValuesGoFirst(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]hotspot.Rule{"bucket": qps(1), "queue": throttled(1, 1)} {
		rule.ParamsMaxCapacity = 100
		c := hotspot.New(rule)
		for i := range 50 {
			for range 5 { // seen often, long ago
				c.Reserve(0, key(i), 1)
			}
		}
		for i := range 50 {
			c.Reserve(2*sec, key(100+i), 1)
		}
		for i := range 50 {
			c.Reserve(2*sec, key(200+i), 1)
		}
		for i := range 50 {
			if c.Known(key(i)) || !c.Known(key(100+i)) {
				t.Errorf("%s: value %d stayed, or value %d went", name, i, 100+i)
			}
		}
	}
}

// Values with calls in a queue go last, but they go: the capacity holds.
func TestQueuedValuesGoLast(t *testing.T) {
	t.Parallel()
	rule := throttled(1, 10_000)
	rule.ParamsMaxCapacity = 10
	c := hotspot.New(rule)
	for i := range 9 {
		c.Reserve(0, key(i), 1)
		c.Reserve(0, key(i), 1)
	}
	for i := range 1000 {
		c.Reserve(0, key(100+i), 1)
	}
	for i := range 9 {
		if !c.Known(key(i)) {
			t.Errorf("value %d was evicted with a call in its queue", i)
		}
	}
	for i := range 1000 {
		c.Reserve(0, key(2000+i), 1)
		c.Reserve(0, key(2000+i), 1)
	}
	if c.Len() != 10 {
		t.Errorf("%d values, want 10", c.Len())
	}
}

func TestEvictedValueStartsAsNew(t *testing.T) {
	t.Parallel()
	rule := qps(1)
	rule.ParamsMaxCapacity = 1
	c := hotspot.New(rule)
	h, _, _ := c.Reserve(0, key("a"), 1)
	c.Reserve(0, key("b"), 1)
	c.Undo(h) // of a value that is gone: no effect on the new one
	if passes(c, 0, "a", 2) != 1 {
		t.Error("an evicted value is not new")
	}
}

// Requests are told apart by their key; the table holds 100 values and no request.
func TestB51NoRequestIsKept(t *testing.T) {
	c := hotspot.New(concurrency(10))
	var freed atomic.Int64
	before := heap()
	for i := range many {
		body := strings.Repeat("x", 100)
		r := &request{sku: ("sku-" + strconv.Itoa(100+i%100) + body)[:7], body: []byte(body)}
		if i%1000 == 0 {
			runtime.AddCleanup(r, func(int) { freed.Add(1) }, 0)
		}
		held, _, _, ok := c.Admit(int64(i), chain.Any("", r), 1, nil)
		if !ok {
			t.Fatal("refused")
		}
		for _, h := range held {
			c.Release(h)
		}
	}
	if c.Len() != 100 {
		t.Errorf("%d values tracked, want 100", c.Len())
	}
	if growth := heap() - before; growth > 1<<20 {
		t.Errorf("heap grew by %d bytes", growth)
	}
	for range 100 {
		if freed.Load() == many/1000 {
			break
		}
		runtime.GC()
		runtime.Gosched()
	}
	if freed.Load() != many/1000 {
		t.Errorf("%d of %d requests were freed", freed.Load(), many/1000)
	}
	runtime.KeepAlive(c)
}

// A value takes at most 256 bytes, whatever callers send.
func TestMemoryPerValue(t *testing.T) {
	long := strings.Repeat("long ", 10_000)
	for name, valueOf := range map[string]func(i int) chain.Arg{
		"int": func(i int) chain.Arg { return chain.Int("", i) },
		"text": func(i int) chain.Arg {
			return chain.String("", fmt.Sprintf("a-user-with-a-name-and-the-number-%08d", i))
		},
		"long": func(i int) chain.Arg { return chain.String("", fmt.Sprint(long[:1000], i)) },
	} {
		for _, values := range []int{4_100, 9_000, 16_400, 20_000} { // twice just after the records have doubled
			before := heap()
			c := hotspot.New(qps(1))
			for i := range values {
				c.Admit(0, valueOf(i), 1, nil)
			}
			if each := (heap() - before) / int64(values); each > 256 {
				t.Errorf("%s: %d bytes per value, want at most 256", name, each)
			} else {
				t.Logf("%s, %d values: %d bytes per value", name, values, each)
			}
			if c.Len() != values {
				t.Errorf("%s: %d values", name, c.Len())
			}
		}
	}
}

// Long texts are told apart by all of their bytes, and found again.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	c := hotspot.New(qps(1))
	start := strings.Repeat("ä", 500)
	for i := range 100 {
		text := fmt.Sprint(start, i)
		if got := passes(c, 0, text, 3); got != 1 {
			t.Errorf("text %d passed %d times, want 1", i, got)
		}
	}
	if top := c.Top(0, 1); len(top) != 1 || top[0].Text != strings.Repeat("ä", 16)+"…" {
		t.Errorf("top is %+v", top)
	}
}

// Goroutines hit, push out, undo and look at one small table: nothing above a threshold, nothing left behind.
func TestTableStress(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]hotspot.Rule{"bucket": qps(5), "queue": throttled(100, 20), "concurrency": concurrency(2)} {
		rule.ParamsMaxCapacity = 600
		c := hotspot.New(rule)
		var flying [2000]atomic.Int64
		var clock atomic.Int64
		parallel(8, func(worker int) {
			r := rand.New(rand.NewPCG(uint64(worker), 3))
			var mine []hotspot.Hold
			var whose []int
			for range 10_000 {
				n := int(r.ExpFloat64()*200) % len(flying)
				h, _, ok := c.Reserve(clock.Add(ms/10), key(n), 1)
				if ok && c.Holds() {
					if now := flying[n].Add(1); now > 2 {
						t.Errorf("%d in flight", now)
					}
					mine, whose = append(mine, h), append(whose, n)
				} else if ok && r.IntN(4) == 0 {
					c.Undo(h)
				}
				if len(mine) > r.IntN(8) {
					last := len(mine) - 1
					flying[whose[last]].Add(-1)
					c.Release(mine[last])
					mine, whose = mine[:last], whose[:last]
				}
				if r.IntN(1000) == 0 {
					c.Top(clock.Load(), 5)
				}
			}
			for i := range mine {
				flying[whose[i]].Add(-1)
				c.Release(mine[i])
			}
		})
		if c.Len() > 600 {
			t.Errorf("%s: %d values, want at most 600", name, c.Len())
		}
		if wrong := c.Inconsistency(); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
		for _, s := range c.Top(clock.Load(), 1000) {
			if s.InFlight != 0 {
				t.Errorf("%s: %v has %d in flight", name, s.Value, s.InFlight)
			}
		}
	}
}

// At a refill exactly the threshold passes, however many come at once; undone calls take nothing from it.
func TestBucketRace(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]bool{"plain": false, "undoing": true} {
		c := hotspot.New(qps(10))
		for round := range int64(300) {
			var passed atomic.Int64
			var start sync.WaitGroup
			start.Add(8)
			now := round * 1001 * ms
			parallel(8, func(int) {
				start.Done()
				start.Wait()
				for range 5 {
					h, _, ok := c.Reserve(now, key("a"), 1)
					if ok && undo {
						c.Undo(h)
						_, _, ok = c.Reserve(now, key("a"), 1)
					}
					if ok {
						passed.Add(1)
					}
				}
			})
			if !undo && passed.Load() != 10 {
				t.Fatalf("%s: round %d: %d passed, want 10", name, round, passed.Load())
			}
			if got := passed.Load() + int64(passes(c, now, "a", 20)); got != 10 {
				t.Fatalf("%s: round %d: %d passed in all, want 10", name, round, got)
			}
		}
	}
}

// A table at its capacity allocates nothing for values it has not seen, whatever their length.
func TestNewValuesAlloc(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, rule := range map[string]hotspot.Rule{"bucket": qps(3), "queue": throttled(1, 1), "concurrency": concurrency(1)} {
		rule.ParamsMaxCapacity = 100
		c := hotspot.New(rule)
		var texts []string
		for i := range 3_000 {
			texts = append(texts, long[:i%100]+strconv.Itoa(i))
		}
		next := 0
		call := func() {
			h, _, ok := c.Reserve(int64(next), hotspot.TextKey(texts[next]), 1)
			if !ok {
				t.Fatalf("%s: a new value was refused", name)
			}
			c.Release(h)
			next++
		}
		for range 1_500 {
			call()
		}
		if n := testing.AllocsPerRun(1_400, call); n != 0 {
			t.Errorf("%s: %v allocations per new value, want 0", name, n)
		}
		for i := range 100 { // the latest are what they were
			if at := next - 1 - i; c.Len() == 100 && i < 10 && !c.Known(hotspot.TextKey(texts[at])) {
				t.Errorf("%s: %q is not in the table", name, texts[at])
			}
		}
	}
}

// Records pass from value to value while callers hold them: no value is admitted more often than its threshold while it
// stays in the table, and no call in flight is left behind.
func TestRecordsChangeHandsUnderLoad(t *testing.T) {
	t.Parallel()
	rule := concurrency(1)
	rule.ParamsMaxCapacity = 2
	c := hotspot.New(rule)
	var flying [8]atomic.Int64
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 3))
			for range 20_000 {
				n := random.IntN(len(flying))
				h, _, ok := c.Reserve(0, key(n), 1)
				if !ok {
					continue
				}
				if flying[n].Add(1) > 1 {
					t.Errorf("two calls of value %d in flight at threshold 1", n)
				}
				if random.IntN(8) == 0 {
					runtime.Gosched()
				}
				flying[n].Add(-1)
				if random.IntN(2) == 0 {
					c.Undo(h)
				} else {
					c.Release(h)
				}
			}
		})
	}
	wg.Wait()
	for n := range flying {
		h, _, ok := c.Reserve(0, key(n), 1)
		if !ok {
			t.Errorf("value %d is held for ever", n)
		}
		c.Release(h)
	}
}

// Goroutines bring the same new values to a full table at once: each value comes in once and pushes one other out, and
// nobody is admitted above the threshold.
func TestManyBringOneNewValue(t *testing.T) {
	t.Parallel()
	rule := qps(3)
	rule.ParamsMaxCapacity = 3000 // two shards
	c := hotspot.New(rule)
	for i := range 3000 {
		c.Reserve(sec, key(-i), 1)
	}
	var passed [500]atomic.Int64
	parallel(8, func(int) {
		for i := range passed {
			if _, _, ok := c.Reserve(sec, key(i+1), 1); ok {
				passed[i].Add(1)
			}
		}
	})
	for i := range passed {
		if n := passed[i].Load(); n > 3 {
			t.Errorf("value %d passed %d times, at most 3", i+1, n)
		}
	}
	if c.Len() > 3000 {
		t.Errorf("%d values, want at most 3000", c.Len())
	}
	if wrong := c.Inconsistency(); wrong != "" {
		t.Error(wrong)
	}
}
