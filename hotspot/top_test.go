package hotspot_test

import (
	"testing"

	"github.com/tidegate-go/tidegate/hotspot"
)

func TestTop(t *testing.T) {
	t.Parallel()
	rule := qps(1000)
	rule.Items = []hotspot.Item{{Object: "c", Count: 50}}
	c := hotspot.New(rule)
	if got := c.Top(0, 10); got != nil {
		t.Errorf("top of no values is %v", got)
	}
	for value, calls := range map[string]int{"a": 10, "b": 30, "c": 20, "d": 5} {
		passes(c, 5*sec, value, calls)
	}
	h, _, _ := c.Reserve(5*sec, key("a"), 7)
	c.Undo(h)
	c.Reserve(5*sec, key("c"), 1000) // refused: not counted
	top := c.Top(5*sec, 3)
	want := []hotspot.ValueStats{
		{Value: "b", Text: "b", QPS: 30, Threshold: 1000}, {Value: "c", Text: "c", QPS: 20, Threshold: 50}, {Value: "a", Text: "a", QPS: 10, Threshold: 1000},
	}
	if len(top) != 3 || top[0] != want[0] || top[1] != want[1] || top[2] != want[2] {
		t.Errorf("top is %+v, want %+v", top, want)
	}
	if got := c.Top(6*sec+sec/4, 1); len(got) != 1 || got[0].QPS != 22.5 {
		t.Errorf("a quarter second into the next one: %+v, want 22.5 QPS", got)
	}
	if got := c.Top(7*sec, 10); len(got) != 0 {
		t.Errorf("two seconds later: %+v, want none", got)
	}
	if got := c.Top(5*sec, 0); got != nil {
		t.Errorf("top 0 is %v", got)
	}
}

func TestTopIsSorted(t *testing.T) {
	t.Parallel()
	c := hotspot.New(concurrency(1e6))
	for i := range 2000 {
		for range i*7919%50 + 1 {
			c.Reserve(sec, key(i), 1)
		}
	}
	top := c.Top(sec, 100)
	if len(top) != 100 || top[0].InFlight != 50 || top[0].QPS != 50 {
		t.Fatalf("%d values, first %+v", len(top), top[0])
	}
	for i := 1; i < len(top); i++ {
		if top[i].QPS > top[i-1].QPS {
			t.Errorf("place %d has %v QPS after %v", i, top[i].QPS, top[i-1].QPS)
		}
	}
}

func TestManyPassesInOneSecond(t *testing.T) {
	t.Parallel()
	for seconds, most := range map[int64]float64{1: 9_000_001, 2: 1<<22 - 1} { // tokens spent, or a word with a bound
		rule := qps(1e12)
		rule.DurationInSec = seconds
		c := hotspot.New(rule)
		for range 3 {
			c.Reserve(sec, key("a"), 3_000_000)
		}
		h, _, _ := c.Reserve(sec, key("a"), 1)
		if top := c.Top(sec, 1); top[0].QPS != most {
			t.Errorf("%d s: %v QPS, want %v", seconds, top[0].QPS, most)
		}
		c.Undo(h)
		if top := c.Top(2*sec, 1); top[0].QPS != most-1 {
			t.Errorf("%d s: %v QPS a second later, want %v", seconds, top[0].QPS, most-1)
		}
	}
}

// What a value has passed is known from the tokens it has spent, through refills and calls undone before and after them.
func TestPassesAreTokensSpent(t *testing.T) {
	t.Parallel()
	for name, burst := range map[string]int64{"plain": 0, "with a burst": 5} {
		rule := qps(10)
		rule.BurstCount = burst
		rule.Items = []hotspot.Item{{Object: "mine", Count: 20}}
		for _, value := range []string{"any", "mine"} {
			c := hotspot.New(rule)
			expect := func(now int64, want float64) {
				t.Helper()
				got := 0.0
				if top := c.Top(now, 1); len(top) == 1 {
					got = top[0].QPS
				}
				if got != want {
					t.Errorf("%s, %s: %v QPS at %d ms, want %v", name, value, got, now/ms, want)
				}
			}
			take := func(now, n int64) hotspot.Hold {
				h, _, _ := c.Reserve(now, key(value), n)
				return h
			}
			early := take(100*sec, 3)
			take(100*sec, 4)
			late := take(100*sec+500*ms, 2)
			expect(100*sec+500*ms, 9)
			c.Undo(late)
			expect(101*sec, 7)
			refill := take(101*sec+500*ms, 1) // of the window before, half is within a second
			expect(101*sec+500*ms, 1+3.5)
			c.Undo(early)
			expect(101*sec+500*ms, 1+2)
			take(101*sec+700*ms, 2)
			c.Undo(refill)
			expect(101*sec+750*ms, 2+1)
			expect(103*sec, 1) // half of two
			expect(103*sec+500*ms, 0)
			again := take(110*sec, 5)
			expect(110*sec, 5)
			c.Undo(again)
			expect(110*sec, 0)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	c := hotspot.New(qps(2))
	passes(c, 0, "a", 3)
	if measured, most, retry := c.Explain(400*ms, key("a")); measured != 2 || most != 2 || int64(retry) != 601*ms {
		t.Errorf("bucket: %v of %v, retry after %v", measured, most, retry)
	}
	if measured, most, retry := c.Explain(0, key("b")); measured != 0 || most != 2 || retry != 0 {
		t.Errorf("unknown value: %v of %v, retry after %v", measured, most, retry)
	}
	c = hotspot.New(throttled(10, 100))
	passes(c, 0, "a", 2)
	measured, most, retry := c.Explain(0, key("a"))
	if measured != 0.1 || most != 0.1 || retry != 1 {
		t.Errorf("queue: %v of %v, retry after %v", measured, most, retry)
	}
	if _, _, ok := c.Reserve(int64(retry), key("a"), 1); !ok {
		t.Error("refused after the time to retry")
	}
	c = hotspot.New(concurrency(1))
	c.Reserve(0, key("a"), 1)
	if measured, most, retry := c.Explain(0, key("a")); measured != 1 || most != 1 || retry != 0 {
		t.Errorf("concurrency: %v of %v, retry after %v", measured, most, retry)
	}
}
