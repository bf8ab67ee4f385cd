package outlier_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/outlier"
)

// checker is a recovery check that notes its times and answers as told.
type checker struct {
	start time.Time
	up    atomic.Bool

	mu    sync.Mutex
	times []time.Duration // guarded by mu
}

func (c *checker) check(context.Context, string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = append(c.times, time.Since(c.start))
	if !c.up.Load() {
		return errDown
	}
	return nil
}

func (c *checker) wantTimes(t *testing.T, seconds ...int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var got []int
	for _, at := range c.times {
		got = append(got, int(at.Seconds()))
	}
	if !slices.Equal(got, seconds) {
		t.Errorf("checks after %v seconds, want %v", got, seconds)
	}
}

// hour is a rule whose own recovery does not come in the way of active recovery.
func hour() circuitbreaker.Rule {
	rule := oneError()
	rule.TimeWindow = 3600
	return rule
}

func TestBackOffAndRecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &checker{start: time.Now()}
		var events []string
		g := newGroup(t, outlier.Config{
			Rule: hour(), ActiveRecovery: true, RecoveryInterval: time.Second, MaxRecoveryAttempts: 3, Check: c.check,
			Notify: func(_ string, e circuitbreaker.Event) {
				events = append(events, fmt.Sprintf("%v-%v %s", e.From, e.To, e.Cause))
			},
		}, "a", "b")
		fail(t, g, "a")
		time.Sleep(12*time.Second + 500*time.Millisecond)
		c.wantTimes(t, 1, 3, 6, 9, 12)
		s := g.Status()[0]
		if !s.Ejected || s.FailedChecks != 5 || !errors.Is(s.CheckError, errDown) || s.NextCheck != c.start.Add(15*time.Second) {
			t.Errorf("Status = %+v, want 5 failed checks and the next at 15 s", s)
		}
		c.up.Store(true)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		want(t, "Available", g.Available(), "a b")
		s = g.Status()[0]
		if s.Ejected || s.FailedChecks != 0 || !s.NextCheck.IsZero() || s.Breaker.State != circuitbreaker.Closed {
			t.Errorf("Status = %+v, want a well address", s)
		}
		if want := []string{"CLOSED-OPEN ", "OPEN-CLOSED " + outlier.CauseRecovered}; !slices.Equal(events, want) {
			t.Errorf("events %q, want %q", events, want)
		}
	})
}

// An address that a check brings back and that fails again at once does not start at the first interval again.
func TestBackOffGoesOnAfterRelapse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &checker{start: time.Now()}
		c.up.Store(true)
		g := newGroup(t, outlier.Config{Rule: hour(), ActiveRecovery: true, RecoveryInterval: time.Second, MaxRecoveryAttempts: 4, Check: c.check}, "a", "b")
		for range 3 {
			fail(t, g, "a")
			time.Sleep(5 * time.Second)
			want(t, "Available", g.Available(), "a b")
		}
		c.wantTimes(t, 1, 5+2, 10+3)
		time.Sleep(time.Minute)
		fail(t, g, "a")
		time.Sleep(1500 * time.Millisecond)
		want(t, "Available after a long good time", g.Available(), "a b")
	})
}

// A live probe that succeeds ends the checks; addresses beyond the share are checked too.
func TestLiveProbeEndsChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &checker{start: time.Now()}
		g := newGroup(t, outlier.Config{ActiveRecovery: true, RecoveryInterval: 2 * time.Second, MaxRecoveryAttempts: 2, Check: c.check}, "a")
		fail(t, g, "a")
		time.Sleep(5 * time.Second)
		call, err := g.Start("a")
		if err != nil || !call.Probe() {
			t.Fatalf("Start = %+v, %v; want a probe", call, err)
		}
		call.Done(nil)
		time.Sleep(time.Minute)
		c.wantTimes(t, 2)
	})
}

// The background goroutine ends by itself when all is well: synctest fails the test if one is left.
func TestNoGoroutineWhenWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &checker{start: time.Now()}
		c.up.Store(true)
		g, err := outlier.New(outlier.Config{Rule: hour(), ActiveRecovery: true, Check: c.check})
		if err != nil {
			t.Fatal(err)
		}
		g.Set([]string{"a", "b", "c"})
		fail(t, g, "a", "b")
		time.Sleep(2 * time.Second)
		want(t, "Available", g.Available(), "a b c")
		fail(t, g, "c")
		g.Set([]string{"a"}) // nothing left to check
		time.Sleep(2 * time.Hour)
	})
}

func TestAddressThatReturnsIsCheckedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &checker{start: time.Now()}
		g := newGroup(t, outlier.Config{Rule: hour(), ActiveRecovery: true, Check: c.check}, "a", "b")
		fail(t, g, "a")
		time.Sleep(500 * time.Millisecond)
		g.Set([]string{"b"})
		time.Sleep(time.Minute)
		c.wantTimes(t)
		g.Set([]string{"a", "b"})
		want(t, "Ejected", g.Ejected(), "a")
		c.up.Store(true)
		time.Sleep(time.Second + 1)
		want(t, "Available", g.Available(), "a b")
	})
}

func TestChecksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most, total atomic.Int32
		check := func(ctx context.Context, _ string) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			total.Add(1)
			<-ctx.Done() // the check hangs
			return ctx.Err()
		}
		names := []string{"a", "b", "c", "d", "e", "f"}
		g := newGroup(t, outlier.Config{Rule: hour(), ActiveRecovery: true, MaxChecks: 2, CheckTimeout: 4 * time.Second, Check: check}, names...)
		fail(t, g, names...)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := running.Load(); n != 2 {
			t.Errorf("%d checks at work, want 2", n)
		}
		time.Sleep(8 * time.Second)
		synctest.Wait()
		if total.Load() != 6 || most.Load() != 2 {
			t.Errorf("%d checks, at most %d at a time; want 6 and 2", total.Load(), most.Load())
		}
		if err := g.Close(); err != nil || running.Load() != 0 {
			t.Errorf("Close = %v with %d checks at work, want none", err, running.Load())
		}
		time.Sleep(time.Hour)
		if total.Load() > 8 {
			t.Errorf("%d checks, some after Close", total.Load())
		}
		fail(t, g, "a") // goes on working, without checks
		_ = g.Close()
	})
}

// A check that panics or ends its goroutine has failed, no more.
func TestBadChecks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls int
		check := func(context.Context, string) error {
			switch calls++; calls {
			case 1:
				panic("ouch")
			case 2:
				runtime.Goexit()
			}
			return nil
		}
		g := newGroup(t, outlier.Config{Rule: hour(), ActiveRecovery: true, MaxRecoveryAttempts: 1, Check: check}, "a", "b")
		fail(t, g, "a")
		for _, text := range []string{"the check panicked: ouch", "the check ended its goroutine"} {
			time.Sleep(time.Second)
			synctest.Wait()
			if err := g.Status()[0].CheckError; err == nil || err.Error() != text {
				t.Errorf("CheckError = %v, want %q", err, text)
			}
		}
		time.Sleep(time.Second + 1)
		want(t, "Available", g.Available(), "a b")
	})
}

// The result of a check of a state that has passed is ignored.
func TestLateCheckIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		check := func(context.Context, string) error {
			time.Sleep(4500 * time.Millisecond)
			return nil
		}
		g := newGroup(t, outlier.Config{ActiveRecovery: true, MaxRecoveryAttempts: 1, Check: check}, "a", "b")
		fail(t, g, "a")
		time.Sleep(5 * time.Second)
		c, err := g.Start("a")
		if err != nil {
			t.Fatal(err)
		}
		c.Done(nil)
		fail(t, g, "a") // fails anew, at 5 s; the check of before ends at 5.5 s
		time.Sleep(time.Second)
		want(t, "Ejected", g.Ejected(), "a")
	})
}

func TestDialTCP(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip("no sockets:", err)
	}
	address := listener.Addr().String()
	if err := outlier.DialTCP(t.Context(), address); err != nil {
		t.Errorf("open port: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if outlier.DialTCP(t.Context(), address) == nil {
		t.Error("closed port: no error")
	}
}
