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
	c := hotspot.New(qps(1e12))
	for range 3 {
		c.Reserve(sec, key("a"), 3_000_000)
	}
	h, _, _ := c.Reserve(sec, key("a"), 1)
	if top := c.Top(sec, 1); top[0].QPS != 1<<22-1 {
		t.Errorf("%v QPS, want the most that is counted", top[0].QPS)
	}
	c.Undo(h)
	if top := c.Top(2*sec, 1); top[0].QPS != 1<<22-2 {
		t.Errorf("%v QPS a second later", top[0].QPS)
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
