package token_test

import (
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
)

func TestLongWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		count    float64
		interval int
		expect   int
	}{
		{"10 over 2 s", 10, 2000, 20},
		{"0.5 over 60 s", 0.5, 60_000, 30},
		{"one in 30 s", 1.0 / 30, 30_000, 1},
		{"one in 3 s", 1.0 / 3, 3000, 1},
		{"0.1 over 30 s", 0.1, 30_000, 3},
		{"0.7 over 10 s", 0.7, 10_000, 7},
		{"10 over half a second", 10, 500, 5},
		{"below one", 0.9, 1000, 0},
		{"none", 0, 1000, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench()
			b.load(t, windowed(global(1, c.count), c.interval, 10))
			for round := range 3 {
				b.at(int64(round * c.interval))
				if got := b.admitted(1, 50); got != c.expect {
					t.Fatalf("round %d: admitted %d, want %d", round, got, c.expect)
				}
				b.at(int64((round+1)*c.interval) - 1)
				if got := b.admitted(1, 50); got != 0 {
					t.Fatalf("round %d: %d more within the window", round, got)
				}
			}
		})
	}
}

func TestLongWindowOfClients(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, windowed(average(1, 0.1), 10_000, 10))
	c := token.DefaultConfig()
	c.ExceedCount = 2
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	b.Join("a", "appA")
	b.Join("b", "appA")
	b.Join("c", "appA")
	if got := b.admitted(1, 50); got != 6 {
		t.Errorf("admitted %d, want 0.1 x 10 s x 3 clients x 2", got)
	}
}

// Two clients ask for one token in 30 seconds: each window has one.
func TestB82OneInThirtySeconds(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, windowed(global(1, 1.0/30), 30_000, 10))
	for _, from := range []int64{0, 31_000} {
		n := 0
		for i := range int64(30) {
			b.at(from + i*100)
			if b.flow(1, 1).Status == chain.TokenOK {
				n++
			}
		}
		if n != 1 {
			t.Errorf("from %d ms: %d granted", from, n)
		}
	}
}

// An old time does not refill the window: a request that was delayed gets what is left now.
func TestB04OldTimeRefillsNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, global(1, 5))
		for i := range int64(5) {
			want(t, b.at(2000+i).flow(1, 1), chain.TokenOK, int32(4-i))
		}
		if got := b.Flow(start+1000*ms, "appA", 1, 1, false).Status; got != chain.TokenBlocked {
			t.Errorf("late: %v", got)
		}
		want(t, b.at(2020).flow(1, 1), chain.TokenBlocked, 0)
	})
}

func TestDefaultsOfTheConfig(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, global(1, 10), windowed(global(2, 10), 1000, 10))
	c := token.DefaultConfig()
	c.IntervalMs, c.SampleCount = 3000, 30
	if err := b.Configure(c); err != nil {
		t.Fatal(err)
	}
	for id, expect := range map[int64]int{1: 30, 2: 10} {
		if got := b.admitted(id, 100); got != expect {
			t.Errorf("rule %d: %d, want %d", id, got, expect)
		}
	}
}

func wait(t *testing.T, got chain.TokenResult, expect time.Duration) {
	t.Helper()
	if got.Status != chain.TokenShouldWait || got.Wait != expect {
		t.Fatalf("got %v after %v, want a wait of %v", got.Status, got.Wait, expect)
	}
}

func TestOccupy(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, global(1, 10))
	b.admitted(1, 10) // all in the bucket from 0 to 100 ms, which leaves at 1000
	want(t, b.at(499).prior(1, 1), chain.TokenBlocked, 0)
	wait(t, b.at(500).prior(1, 1), 500*time.Millisecond)
	wait(t, b.at(850).prior(1, 8), 150*time.Millisecond)
	want(t, b.prior(1, 2), chain.TokenBlocked, 0)
	wait(t, b.at(999).prior(1, 1), time.Millisecond)
	want(t, b.at(1000).flow(1, 1), chain.TokenBlocked, 0) // all ten are taken
	want(t, b.at(1999).flow(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(2000).flow(1, 1), chain.TokenOK, 9)
	if st := b.Status().Flows[0]; st.Granted != 11 || st.Waited != 3 || st.Units != 21 {
		t.Errorf("%+v", st)
	}
}

func TestOccupyRoundsUp(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, global(1, 1))
	b.flow(1, 1)
	b.now.Store(start + 899*ms + 1)
	wait(t, b.prior(1, 1), 101*time.Millisecond)
}

func TestOccupyLaterBuckets(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, global(1, 4))
	b.at(0).admitted(1, 2)
	b.at(150).admitted(1, 2)
	wait(t, b.at(800).prior(1, 2), 200*time.Millisecond)
	wait(t, b.at(800).prior(1, 2), 300*time.Millisecond)
	want(t, b.at(800).prior(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(1100).flow(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(1999).flow(1, 1), chain.TokenBlocked, 0)
	want(t, b.at(2000).flow(1, 2), chain.TokenOK, 0)
	want(t, b.at(2100).flow(1, 2), chain.TokenOK, 0)
}

func TestOccupySettings(t *testing.T) {
	t.Parallel()
	none := newBench(token.WithOccupyTimeout(0))
	none.load(t, global(1, 1))
	none.flow(1, 1)
	want(t, none.at(950).prior(1, 1), chain.TokenBlocked, 0)

	ratio := newBench()
	c := token.DefaultConfig()
	c.MaxOccupyRatio = 0.3
	if err := ratio.Configure(c); err != nil {
		t.Fatal(err)
	}
	ratio.load(t, global(1, 10))
	ratio.admitted(1, 10)
	ratio.at(950)
	for range 4 { // 3 borrowed are not above 0.3 x 10
		wait(t, ratio.prior(1, 1), 50*time.Millisecond)
	}
	want(t, ratio.prior(1, 1), chain.TokenBlocked, 0)

	short := newBench(token.WithOccupyTimeout(time.Minute))
	short.load(t, windowed(global(1, 5), 200, 2))
	want(t, short.flow(1, 1), chain.TokenOK, 0)
	wait(t, short.prior(1, 1), 200*time.Millisecond) // never more than the window
	want(t, short.prior(1, 1), chain.TokenBlocked, 0)
}

func TestObservedRule(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		r := global(1, 2)
		r.Mode = chain.ModeObserve
		p := hot(1, 2)
		p.Mode = chain.ModeObserve
		b.load(t, r)
		b.loadParam(t, p)
		for range 5 {
			if b.prior(1, 1).Status != chain.TokenOK || b.param(1, 1, text("x")).Status != chain.TokenOK {
				t.Fatal("an observing rule refused")
			}
		}
		st := b.Status()
		if f, p := st.Flows[0].Decisions, st.Params[0].Decisions; f.Granted != 2 || f.Spared != 3 || f.Blocked != 0 || p != f {
			t.Errorf("%+v, %+v", f, p)
		}
	})
}

func TestGradeOfConcurrency(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		r := global(1, 2)
		r.Grade = flow.GradeConcurrency
		b.load(t, r)
		expect := chain.TokenFail
		if b.Compatible() {
			expect = chain.TokenOK
		}
		if got := b.flow(1, 1).Status; got != expect {
			t.Errorf("%v, want %v", got, expect)
		}
		if got := b.Acquire(b.Now(), "m", "appA", 1, 1); got.Status != chain.TokenOK || got.TokenID <= 0 || got.Remaining != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestHugeThresholds(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, global(1, 1e300))
		b.loadParam(t, hot(1, 1e300))
		const most = 1<<31 - 1
		want(t, b.flow(1, most), chain.TokenOK, most)
		want(t, b.flow(1, most), chain.TokenOK, most)
		want(t, b.param(1, most, text("x")), chain.TokenOK, most)
		want(t, b.param(1, most, text("x")), chain.TokenOK, most)
	})
}
