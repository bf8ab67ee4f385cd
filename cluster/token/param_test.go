package token_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/hotspot"
)

// unlimited takes the limit of requests away.
func (b *bench) unlimited(t *testing.T) *bench {
	t.Helper()
	c := token.DefaultConfig()
	c.MaxAllowedQPS = 1e12
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	return b
}

// Values, and the items that make exceptions for them, compare by the type they were sent with and by value.
func TestValuesByType(t *testing.T) {
	t.Parallel()
	b := newBench()
	items := []hotspot.Item{{Object: "8", Count: 5, ClassType: "int"}, {Object: "1.5", Count: 7, ClassType: "double"}, {Object: "c", Count: 9, ClassType: "char"}}
	b.loadParam(t, hot(1, 2, items...))
	for _, c := range []struct {
		value wire.Value
		left  int32
	}{
		{wire.IntValue(8), 4},
		{wire.LongValue(8), 1},
		{wire.ShortValue(8), 1},
		{wire.ByteValue(8), 1},
		{wire.IntValue(8), 3},
		{wire.LongValue(8), 0},
		{wire.DoubleValue(8), 1},
		{wire.FloatValue(8), 1},
		{text("8"), 1},
		{wire.DoubleValue(1.5), 6},
		{wire.FloatValue(1.5), 1},
		{wire.BoolValue(true), 1},
		{wire.IntValue(-1), 1},
		{wire.LongValue(-1), 1},
		{wire.DoubleValue(0), 1},
		{wire.DoubleValue(math.Copysign(0, -1)), 1},
		{wire.DoubleValue(math.NaN()), 1},
		{wire.DoubleValue(math.Float64frombits(0x7FF0000000000001)), 0},
		{wire.FloatValue(float32(math.NaN())), 1},
		{text("c"), 1},
		{text(""), 1},
	} {
		want(t, b.param(1, 1, c.value), chain.TokenOK, c.left)
	}
}

func TestSeveralValues(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.loadParam(t, hot(1, 2))
	want(t, b.param(1, 1, text("x"), text("x"), text("x")), chain.TokenBlocked, 0) // charged three times
	want(t, b.param(1, 1, text("x"), text("x")), chain.TokenOK, -1)
	want(t, b.param(1, 1, text("x")), chain.TokenBlocked, 0)
	want(t, b.param(1, 2, text("y"), text("z"), text("x")), chain.TokenBlocked, 0)
	want(t, b.param(1, 1, text("y")), chain.TokenOK, 1) // nothing was charged
	want(t, b.param(1, 1, wire.LongValue(1), wire.LongValue(1), wire.LongValue(1)), chain.TokenBlocked, 0)
	var many []wire.Value
	for i := range 500 {
		many = append(many, wire.IntValue(int32(i+100)))
	}
	want(t, b.param(1, 2, many...), chain.TokenOK, -1)
	want(t, b.param(1, 1, many...), chain.TokenBlocked, 0)
}

func TestParamWindows(t *testing.T) {
	t.Parallel()
	b := newBench()
	r := hot(1, 0.5, hotspot.Item{Object: "vip", Count: 2})
	r.ClusterConfig.WindowIntervalMs = 10_000
	b.loadParam(t, r)
	for value, expect := range map[string]int{"x": 5, "vip": 20} {
		n := 0
		for range 50 {
			if b.param(1, 1, text(value)).Status == chain.TokenOK {
				n++
			}
		}
		if n != expect {
			t.Errorf("%s: %d, want %d", value, n, expect)
		}
	}
	want(t, b.at(9999).param(1, 1, text("x")), chain.TokenBlocked, 0)
	want(t, b.at(10_000).param(1, 1, text("x")), chain.TokenOK, 4)
}

func TestParamOfClients(t *testing.T) {
	t.Parallel()
	b := newBench()
	r := hot(1, 2, hotspot.Item{Object: "vip", Count: 3})
	r.ClusterConfig.ThresholdType = chain.ThresholdPerClient
	b.loadParam(t, r)
	want(t, b.param(1, 1, text("x")), chain.TokenBlocked, 0)
	b.Join("a", "appA")
	b.Join("b", "appA")
	want(t, b.param(1, 1, text("x")), chain.TokenOK, 3)
	want(t, b.param(1, 1, text("vip")), chain.TokenOK, 5)
}

// Before the table is full no count is forgotten; then values that are gone or seldom make room, and hot ones stay.
func TestValueBounds(t *testing.T) {
	t.Parallel()
	const capacity = 3000
	b := newBench(token.WithMaxValues(capacity)).unlimited(t)
	b.loadParam(t, hot(1, 1))
	for round := range 2 {
		expect := chain.TokenOK
		if round == 1 {
			expect = chain.TokenBlocked
		}
		for i := range capacity {
			if got := b.param(1, 1, text(strconv.Itoa(i))).Status; got != expect {
				t.Fatalf("round %d, value %d: %v", round, i, got)
			}
		}
	}
	for i := range 20 * capacity { // "7" is asked for once more before the first other value, so that it is the hottest
		if i > 0 {
			b.param(1, 1, wire.IntValue(int32(i)))
		}
		if i%500 == 0 && b.param(1, 1, text("7")).Status != chain.TokenBlocked {
			t.Fatal("a hot value was forgotten")
		}
	}
	st := b.Status().Params[0]
	if st.Values != capacity || st.Capacity != capacity || st.Forgotten != 20*capacity-1 {
		t.Errorf("%+v", st)
	}
	b.at(999).Sweep(b.Now())
	if got := b.Status().Params[0].Values; got != capacity {
		t.Errorf("%d values after a sweep within the window", got)
	}
	b.at(1000).Sweep(b.Now())
	if got := b.Status().Params[0].Values; got != 0 {
		t.Errorf("%d values after an idle window", got)
	}
	want(t, b.param(1, 1, text("7")), chain.TokenOK, 0)
}

// Values whose window is over give their places.
func TestIdleValuesGoFirst(t *testing.T) {
	t.Parallel()
	b := newBench(token.WithMaxValues(100)).unlimited(t)
	b.loadParam(t, hot(1, 1))
	for i := range 50 {
		b.param(1, 1, text("old"+strconv.Itoa(i)))
	}
	b.at(1500)
	for i := range 50 {
		b.param(1, 1, text("new"+strconv.Itoa(i)))
	}
	for i := range 50 {
		b.param(1, 1, text("more"+strconv.Itoa(i)))
	}
	for i := range 50 {
		want(t, b.param(1, 1, text("new"+strconv.Itoa(i))), chain.TokenBlocked, 0)
	}
}

func TestTinyTable(t *testing.T) {
	t.Parallel()
	r := hot(1, 3)
	r.ParamsMaxCapacity = 1
	b := newBench()
	b.loadParam(t, r)
	want(t, b.param(1, 1, text("a"), text("b"), text("a")), chain.TokenOK, -1)
	want(t, b.param(1, 2, text("a"), text("b"), text("a")), chain.TokenOK, -1)
	want(t, b.param(1, 2, text("c"), text("c")), chain.TokenBlocked, 0)
	want(t, b.param(1, 3, text("c")), chain.TokenOK, 0)
	if got := b.Status().Params[0].Values; got != 1 {
		t.Errorf("%d values", got)
	}
}

func TestLongTexts(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.loadParam(t, hot(1, 1))
	long := strings.Repeat("x", 900)
	want(t, b.param(1, 1, text(long+"a")), chain.TokenOK, 0)
	want(t, b.param(1, 1, text(long+"b")), chain.TokenOK, 0)
	want(t, b.param(1, 1, text(long+"a")), chain.TokenBlocked, 0)
}

// A caller that read the clock long ago and was held up refills nothing.
func TestLateCallerOfValue(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.loadParam(t, hot(1, 2))
		want(t, b.at(5000).param(1, 2, text("x")), chain.TokenOK, 0)
		if got := b.Param(start, "appA", 1, 1, []wire.Value{text("x")}).Status; got != chain.TokenBlocked {
			t.Errorf("late: %v", got)
		}
		want(t, b.at(5999).param(1, 1, text("x")), chain.TokenBlocked, 0)
		want(t, b.at(6000).param(1, 1, text("x")), chain.TokenOK, 1)
		want(t, b.at(1000*3600*24*400).param(1, 1, text("x")), chain.TokenOK, 1)
	})
}

// A change of the capacity keeps the counts.
func TestCapacityChange(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.loadParam(t, hot(1, 2))
	b.param(1, 1, text("x"), wire.IntValue(5))
	b.at(150).param(1, 1, text("x"))
	r := hot(1, 2)
	r.ParamsMaxCapacity = 5000
	b.loadParam(t, r)
	want(t, b.param(1, 1, text("x")), chain.TokenBlocked, 0)
	want(t, b.param(1, 1, wire.IntValue(5)), chain.TokenOK, 0)
	want(t, b.at(1000).param(1, 1, text("x")), chain.TokenOK, 0)
	want(t, b.at(1050).param(1, 1, wire.IntValue(5)), chain.TokenOK, 0)
}
