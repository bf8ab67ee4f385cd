package token_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/hotspot"
)

func compatBench() *bench { return newBench(token.WithCompatible()) }

func TestCompatibleWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		count    float64
		interval int
		expect   int
	}{{10, 2000, 19}, {0.5, 60_000, 0}, {10, 1000, 10}, {10.5, 1000, 10}, {10, 500, 5}, {2, 3000, 4}} {
		b := compatBench()
		b.load(t, windowed(global(1, c.count), c.interval, 10))
		if got := b.admitted(1, 50); got != c.expect {
			t.Errorf("%v over %d ms: %d, want %d", c.count, c.interval, got, c.expect)
		}
	}
}

func TestCompatibleRemaining(t *testing.T) {
	t.Parallel()
	b := compatBench()
	b.load(t, windowed(global(1, 10), 2000, 10))
	want(t, b.flow(1, 3), chain.TokenOK, 7)
	want(t, b.flow(1, 1), chain.TokenOK, 7) // 10 - 1.5 - 1, cut off
}

func TestCompatibleOccupy(t *testing.T) {
	t.Parallel()
	b := compatBench()
	b.load(t, global(1, 10))
	b.admitted(1, 10)
	want(t, b.at(700).prior(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(799).prior(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(899).prior(1, 1), chain.TokenBlocked, 0)
	wait(t, b.at(900).prior(1, 4), 100*time.Millisecond)
	wait(t, b.at(999).prior(1, 6), 100*time.Millisecond)
	want(t, b.at(999).prior(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(1000).flow(1, 1), chain.TokenBlocked, 0) // the reset bucket has the ten
}

// What is borrowed moves at the next reset of a bucket, not when a bucket is used for the first time.
func TestCompatibleLateTransfer(t *testing.T) {
	t.Parallel()
	b := compatBench()
	b.load(t, windowed(global(1, 10), 1000, 2))
	want(t, b.flow(1, 10), chain.TokenOK, 0)
	wait(t, b.at(500).prior(1, 10), 500*time.Millisecond)
	want(t, b.at(1000).flow(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(1999).flow(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(2000).flow(1, 1), chain.TokenOK, 9)
}

// A bucket that is used for the first time gets nothing of what was borrowed.
func TestCompatibleTransferSkipsNewBuckets(t *testing.T) {
	t.Parallel()
	b := compatBench()
	b.load(t, global(1, 10))
	b.admitted(1, 10)
	wait(t, b.at(900).prior(1, 4), 100*time.Millisecond)
	want(t, b.at(1150).flow(1, 1), chain.TokenOK, 9)
	want(t, b.at(1900).flow(1, 1), chain.TokenOK, 4)
}

func TestCompatibleManySamples(t *testing.T) {
	t.Parallel()
	b := compatBench()
	b.load(t, windowed(global(1, 10), 2000, 2000))
	b.admitted(1, 30)
	want(t, b.at(1999).prior(1, 1), chain.TokenBlocked, 0) // 1000/2000 is no wait
	want(t, b.at(2000).flow(1, 1), chain.TokenOK, 8)       // but was borrowed
}

func TestCompatibleOccupyRatio(t *testing.T) {
	t.Parallel()
	b := compatBench()
	c := token.DefaultConfig()
	c.MaxOccupyRatio = 0.3
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	b.load(t, global(1, 10))
	b.admitted(1, 10)
	b.at(950)
	for range 4 {
		wait(t, b.prior(1, 1), 100*time.Millisecond)
	}
	want(t, b.prior(1, 1), chain.TokenBlocked, 0)
}

func TestCompatibleItemsByType(t *testing.T) {
	t.Parallel()
	b := compatBench()
	items := []hotspot.Item{
		{Object: "8", Count: 5, ClassType: "int"},
		{Object: "9", Count: 6, ClassType: "java.lang.Long"},
		{Object: "1.5", Count: 7, ClassType: "float"},
		{Object: "true", Count: 8, ClassType: "boolean"},
		{Object: "x", Count: 9},
		{Object: "c", Count: 10, ClassType: "char"},
		{Object: "nine", Count: 11, ClassType: "int"},
		{Object: "y", Count: -1},
	}
	b.loadParam(t, hot(1, 2, items...))
	for _, c := range []struct {
		value wire.Value
		left  int32
	}{
		{wire.IntValue(8), 4},
		{wire.LongValue(8), 1},
		{wire.ShortValue(8), 1},
		{wire.LongValue(9), 5},
		{wire.IntValue(9), 1},
		{wire.DoubleValue(0), 1},
		{wire.DoubleValue(math.Copysign(0, -1)), 1},
		{wire.FloatValue(1.5), 6},
		{wire.DoubleValue(1.5), 1},
		{wire.BoolValue(true), 7},
		{wire.BoolValue(false), 1},
		{text("x"), 8},
		{text("c"), 1},
		{text("8"), 1},
		{text("y"), 1},
	} {
		if got := b.param(1, 1, c.value); got.Remaining != c.left {
			t.Errorf("%+v: %d remaining, want %d", c.value, got.Remaining, c.left)
		}
	}
}

func TestCompatibleSeveralValues(t *testing.T) {
	t.Parallel()
	b := compatBench()
	b.loadParam(t, hot(1, 2))
	want(t, b.param(1, 1, text("x"), text("x"), text("x")), chain.TokenOK, -1) // each against the old count
	want(t, b.param(1, 1, text("x")), chain.TokenBlocked, 0)
	want(t, b.param(1, 1, text("y"), text("x")), chain.TokenBlocked, 0)
	want(t, b.param(1, 1, text("y")), chain.TokenOK, 1) // nothing was charged
	want(t, b.param(1, 2, wire.IntValue(1), wire.LongValue(1)), chain.TokenOK, -1)
}

// Each bucket keeps 4000 values and forgets the one not used for longest.
func TestCompatibleForgets(t *testing.T) {
	t.Parallel()
	b := compatBench()
	c := token.DefaultConfig()
	c.MaxAllowedQPS = 1e6
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	b.loadParam(t, hot(1, 1))
	for i := range 4000 {
		b.param(1, 1, text(strconv.Itoa(i)))
	}
	want(t, b.param(1, 1, text("0")), chain.TokenBlocked, 0) // and is used now
	want(t, b.param(1, 1, text("new")), chain.TokenOK, 0)
	want(t, b.param(1, 1, text("0")), chain.TokenBlocked, 0)
	want(t, b.param(1, 1, text("1")), chain.TokenOK, 0) // was forgotten
}

// A change of the config's window empties all windows and gives them that shape.
func TestCompatibleConfigWindow(t *testing.T) {
	t.Parallel()
	b := compatBench()
	b.load(t, windowed(global(1, 10), 1000, 10))
	b.admitted(1, 10)
	c := token.DefaultConfig()
	c.MaxAllowedQPS = 1000
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	want(t, b.flow(1, 1), chain.TokenBlocked, 0) // the window is as before
	c.IntervalMs, c.SampleCount = 2000, 2
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	if got := b.admitted(1, 50); got != 19 {
		t.Errorf("after the change: %d", got)
	}
	b.load(t, windowed(global(1, 10), 1000, 10)) // loaded as it was: no change
	if st := b.Status().Flows[0]; st.IntervalMs != 2000 || st.SampleCount != 2 {
		t.Errorf("%+v", st)
	}
	b.load(t, windowed(global(1, 10), 1000, 5))
	if st := b.Status().Flows[0]; st.IntervalMs != 1000 || st.SampleCount != 5 {
		t.Errorf("%+v", st)
	}
}
