package outlier_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/internal/alloctest"
	"github.com/tidegate-go/tidegate/outlier"
)

var errDown = errors.New("down")

// oneError is a rule that opens at the first failure, for five seconds.
func oneError() circuitbreaker.Rule {
	return circuitbreaker.Rule{Resource: "shop", Grade: circuitbreaker.ErrorCount, MinRequestAmount: 1, TimeWindow: 5}
}

func newGroup(t *testing.T, config outlier.Config, addresses ...string) *outlier.Group {
	t.Helper()
	if config.Rule.Resource == "" {
		config.Rule = oneError()
	}
	g, err := outlier.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	g.Set(addresses)
	return g
}

// fail makes one failing call to each address.
func fail(t *testing.T, g *outlier.Group, addresses ...string) {
	t.Helper()
	for _, address := range addresses {
		c, err := g.Start(address)
		if err != nil {
			t.Fatalf("Start(%s): %v", address, err)
		}
		c.Done(errDown)
	}
}

func want(t *testing.T, what string, got []string, addresses string) {
	t.Helper()
	if !slices.Equal(got, strings.Fields(addresses)) {
		t.Errorf("%s = %v, want [%s]", what, got, addresses)
	}
}

func TestEjectionAndProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, outlier.Config{}, "a", "b", "c", "d")
		fail(t, g, "b")
		want(t, "Available", g.Available(), "a c d")
		want(t, "Ejected", g.Ejected(), "b")
		want(t, "HalfOpen", g.HalfOpen(), "")
		if _, err := g.Start("b"); !errors.Is(err, outlier.ErrEjected) || !strings.Contains(err.Error(), "shop: b") {
			t.Errorf("Start(b) = %v, want ErrEjected", err)
		}

		time.Sleep(5*time.Second - time.Nanosecond)
		want(t, "HalfOpen before the recovery time", g.HalfOpen(), "")
		time.Sleep(time.Nanosecond)
		want(t, "HalfOpen", g.HalfOpen(), "b")
		probe, err := g.Pick()
		if err != nil || probe.Address() != "b" || !probe.Probe() {
			t.Fatalf("Pick = %s, probe %v, %v; want the probe of b", probe.Address(), probe.Probe(), err)
		}
		want(t, "HalfOpen while the probe is at work", g.HalfOpen(), "")
		if _, err := g.Start("b"); !errors.Is(err, outlier.ErrEjected) {
			t.Errorf("a second probe: %v, want ErrEjected", err)
		}
		probe.Done(nil)
		want(t, "Available", g.Available(), "a b c d")
		want(t, "Ejected", g.Ejected(), "")
	})
}

func TestFailedProbeEjectsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, outlier.Config{}, "a", "b")
		fail(t, g, "a")
		time.Sleep(5 * time.Second)
		fail(t, g, "a")
		want(t, "Available", g.Available(), "b")
		time.Sleep(5*time.Second - 1)
		want(t, "HalfOpen", g.HalfOpen(), "")
	})
}

func TestCancelledProbeMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, outlier.Config{}, "a", "b")
		fail(t, g, "a")
		time.Sleep(5 * time.Second)
		for _, cancel := range []func(*outlier.Call){
			(*outlier.Call).Cancel,
			func(c *outlier.Call) { c.Done(fmt.Errorf("reading: %w", context.Canceled)) },
		} {
			c, err := g.Start("a")
			if err != nil || !c.Probe() {
				t.Fatalf("Start = %+v, %v; want a probe", c, err)
			}
			cancel(&c)
			cancel(&c) // no effect
			want(t, "HalfOpen", g.HalfOpen(), "a")
		}
	})
}

// The number of ejected addresses is floor(number x percent); the first to fail stay ejected, and the next
// in line follows when one comes back.
func TestMaxEjectionPercent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, outlier.Config{}, "a", "b", "c", "d", "e")
		fail(t, g, "d", "a", "c", "b")
		want(t, "Ejected", g.Ejected(), "d a")
		want(t, "Available", g.Available(), "b c e")
		for _, address := range []string{"b", "c", "e"} {
			c, err := g.Start(address)
			if err != nil {
				t.Errorf("Start(%s): %v, want a call, since enough are ejected", address, err)
			}
			c.Cancel()
		}
		time.Sleep(5 * time.Second)
		c, err := g.Start("d")
		if err != nil {
			t.Fatal(err)
		}
		c.Done(nil)
		want(t, "Ejected", g.Ejected(), "a c")

		g.Set([]string{"a", "b", "c"}) // of three only one
		want(t, "Ejected", g.Ejected(), "a")
	})
}

func TestMaxEjectedIsFloor(t *testing.T) {
	t.Parallel()
	cases := []struct {
		n, ejected int
		percent    float64
	}{{1, 0, 0.5}, {1, 1, 1}, {2, 1, 0}, {3, 1, 0.5}, {3, 1, 0.66}, {3, 2, 0.67}, {10, 3, 0.3}, {10, 7, 0.7}, {100, 29, 0.29}, {100, 0, 0.0099}, {4, 4, 1}}
	for _, c := range cases {
		names := make([]string, c.n)
		for i := range names {
			names[i] = fmt.Sprint("host", i)
		}
		g := newGroup(t, outlier.Config{MaxEjectionPercent: c.percent}, names...)
		fail(t, g, names...)
		if got := len(g.Ejected()); got != c.ejected || len(g.Available()) != c.n-c.ejected {
			t.Errorf("%d of %d with %v ejected, want %d", got, c.n, c.percent, c.ejected)
		}
	}
}

func TestPick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, outlier.Config{MaxEjectionPercent: 1}, "a", "b", "", "a", "c")
		pick := func(except ...string) string {
			c, err := g.Pick(except...)
			if err != nil {
				return err.Error()
			}
			defer c.Done(nil)
			return c.Address()
		}
		want(t, "turns", []string{pick(), pick(), pick(), pick()}, "a b c a")
		want(t, "except", []string{pick("b"), pick("a", "b"), pick("c", "a")}, "c c b")
		if got := pick("a", "b", "c"); got != outlier.ErrNoAddress.Error() {
			t.Errorf("Pick with all excepted = %s", got)
		}
		fail(t, g, "a", "c")
		want(t, "turns without ejected ones", []string{pick(), pick()}, "b b")
		if _, err := g.Pick("b"); !errors.Is(err, outlier.ErrEjected) {
			t.Errorf("Pick with only ejected ones left: %v, want ErrEjected", err)
		}
		time.Sleep(5 * time.Second)
		want(t, "probes first", []string{pick("a"), pick()}, "c a")
	})
}

func TestSlowAddressIsEjected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ratio := 0.5
		rule := circuitbreaker.Rule{Resource: "shop", Count: 100, SlowRatioThreshold: &ratio, MinRequestAmount: 2, TimeWindow: 1, StatIntervalMs: 10_000}
		g := newGroup(t, outlier.Config{Rule: rule}, "a", "b")
		for range 2 {
			c, err := g.Start("a")
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(101 * time.Millisecond)
			c.Done(nil)
			c.Done(nil) // no effect
			other, err := g.Start("b")
			if err != nil {
				t.Fatal(err)
			}
			other.Complete(100*time.Millisecond, true)
		}
		want(t, "Ejected", g.Ejected(), "a")
	})
}

func TestObserveAndOff(t *testing.T) {
	t.Parallel()
	for mode, state := range map[chain.Mode]circuitbreaker.State{chain.ModeObserve: circuitbreaker.Open, chain.ModeOff: circuitbreaker.Closed} {
		rule := oneError()
		rule.Mode = mode
		g := newGroup(t, outlier.Config{Rule: rule, MaxEjectionPercent: 1}, "a", "b")
		fail(t, g, "a", "a", "a")
		want(t, "Available", g.Available(), "a b")
		if got := g.Status()[0].Breaker.State; got != state {
			t.Errorf("%v: breaker %v, want %v", mode, got, state)
		}
	}
}

// An address keeps its state while it is of the group, and for RecycleAfter if it left while failing.
func TestSetKeepsState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, outlier.Config{}, "a", "b", "c", "d")
		fail(t, g, "a", "b")
		g.Set([]string{"x", "a", "y", "z"})
		want(t, "Ejected", g.Ejected(), "a")
		time.Sleep(time.Minute)
		g.Set([]string{"a", "b", "c", "d"})
		want(t, "Ejected", g.Ejected(), "a b")
		g.Set([]string{"a", "c", "d"})
		time.Sleep(outlier.DefaultRecycleAfter)
		g.Set([]string{"a", "b", "c", "d"})
		want(t, "Ejected", g.Ejected(), "")
	})
}

func TestIdleFailureIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var events []string
		note := func(address string, e circuitbreaker.Event) {
			events = append(events, fmt.Sprintf("%s %v-%v %s", address, e.From, e.To, e.Cause))
		}
		g := newGroup(t, outlier.Config{RecycleAfter: time.Minute, Notify: note}, "a", "b")
		fail(t, g, "a")
		time.Sleep(time.Minute - 1)
		g.Maintain()
		want(t, "Ejected", g.Ejected(), "a")
		time.Sleep(6 * time.Second) // the group looks by itself, if less often
		want(t, "Available", g.Available(), "a b")
		if want := []string{"a CLOSED-OPEN ", "a OPEN-CLOSED " + outlier.CauseForgotten}; !slices.Equal(events, want) {
			t.Errorf("events %q, want %q", events, want)
		}
	})
}

// A group whose addresses come and go while failing remembers a bounded number of them.
func TestRememberedIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		forgotten := 0
		g := newGroup(t, outlier.Config{Notify: func(_ string, e circuitbreaker.Event) {
			if e.Cause == outlier.CauseForgotten {
				forgotten++
			}
		}})
		for i := range 1500 {
			name := fmt.Sprint("host", i)
			g.Set([]string{name})
			fail(t, g, name)
		}
		g.Set(nil)
		if forgotten != 500 {
			t.Errorf("%d addresses forgotten, want 500", forgotten)
		}
	})
}

func TestUnknownAddress(t *testing.T) {
	t.Parallel()
	g := newGroup(t, outlier.Config{}, "a")
	fail(t, g, "stranger", "stranger", "")
	if got := g.Status(); len(got) != 1 {
		t.Errorf("Status = %+v, want a alone", got)
	}
	c, err := g.Start("a")
	if err != nil {
		t.Fatal(err)
	}
	g.Set(nil)
	c.Done(errDown) // of an address that has left
	if _, err := g.Pick(); !errors.Is(err, outlier.ErrNoAddress) {
		t.Errorf("Pick of none: %v, want ErrNoAddress", err)
	}
}

func TestZeroValues(t *testing.T) {
	t.Parallel()
	var c outlier.Call
	c.Done(errDown)
	c.Complete(time.Second, true)
	c.Cancel()
	if c.Address() != "" || c.Probe() {
		t.Error("the zero call is of no address")
	}
	var g outlier.Group
	if _, err := g.Pick(); !errors.Is(err, outlier.ErrNoAddress) {
		t.Errorf("Pick: %v, want ErrNoAddress", err)
	}
	g.Set([]string{"a", "b"})
	fail(t, &g, "a", "a", "a", "a", "a", "a")
	want(t, "Available", g.Available(), "a b")
	g.Maintain()
	if len(g.Status()) != 2 || len(g.Ejected()) != 0 || len(g.HalfOpen()) != 0 || g.Close() != nil {
		t.Error("the zero group must do nothing")
	}
}

func TestConfigIsValidated(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*outlier.Config){
		"timeWindow":          func(c *outlier.Config) { c.Rule.TimeWindow = 0 },
		"resource":            func(c *outlier.Config) { c.Rule.Resource = "" },
		"regex":               func(c *outlier.Config) { c.Rule.Regex = true },
		"MaxEjectionPercent":  func(c *outlier.Config) { c.MaxEjectionPercent = 1.1 },
		"not NaN":             func(c *outlier.Config) { c.MaxEjectionPercent = math.NaN() },
		"not -0.1":            func(c *outlier.Config) { c.MaxEjectionPercent = -0.1 },
		"RecoveryInterval":    func(c *outlier.Config) { c.RecoveryInterval = -1 },
		"RecycleAfter":        func(c *outlier.Config) { c.RecycleAfter = -1 },
		"CheckTimeout":        func(c *outlier.Config) { c.CheckTimeout = -1 },
		"MaxRecoveryAttempts": func(c *outlier.Config) { c.MaxRecoveryAttempts = -1 },
		"MaxChecks":           func(c *outlier.Config) { c.MaxChecks = -1 },
	}
	for text, change := range cases {
		config := outlier.Config{Rule: oneError()}
		change(&config)
		if g, err := outlier.New(config); err == nil || g != nil || !strings.Contains(err.Error(), text) {
			t.Errorf("New = %v, %v; want an error with %q", g, err, text)
		}
	}
}

// steppedClock is moved by hand.
type steppedClock struct{ at time.Time }

func (c *steppedClock) Now() time.Time                            { return c.at }
func (c *steppedClock) Wait(context.Context, time.Duration) error { return nil }

func TestInjectedClock(t *testing.T) {
	t.Parallel()
	clock := &steppedClock{at: time.Unix(1_700_000_000, 0)}
	g := newGroup(t, outlier.Config{Clock: clock}, "a", "b")
	fail(t, g, "a")
	clock.at = clock.at.Add(4 * time.Second)
	want(t, "HalfOpen", g.HalfOpen(), "")
	clock.at = clock.at.Add(-time.Hour) // a long step back is bridged
	want(t, "HalfOpen", g.HalfOpen(), "")
	clock.at = clock.at.Add(1500 * time.Millisecond)
	want(t, "HalfOpen", g.HalfOpen(), "a")
	clock.at = clock.at.Add(-900 * time.Millisecond) // a short one is waited out
	want(t, "HalfOpen", g.HalfOpen(), "a")
	clock.at = clock.at.Add(outlier.DefaultRecycleAfter)
	g.Maintain()
	want(t, "Ejected", g.Ejected(), "")
}

func TestPickAllocs(t *testing.T) { // not parallel: it counts allocations
	g := newGroup(t, outlier.Config{}, "a", "b", "c", "d")
	fail(t, g, "b")
	calls := map[string]func(){
		"Pick":          func() { c, _ := g.Pick(); c.Done(nil) },
		"Start":         func() { c, _ := g.Start("a"); c.Complete(time.Millisecond, false) },
		"Start refused": func() { _, _ = g.Start("b") },
	}
	for name, call := range calls {
		if n := alloctest.Count(call); n != 0 {
			t.Errorf("%s: %v allocations per call, want 0", name, n)
		}
	}
}
