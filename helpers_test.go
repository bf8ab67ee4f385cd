package tidegate_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
)

const ms = int64(time.Millisecond)

// t0 is where a manual clock starts: a multiple of a minute, in ns.
const t0 = 1_700_000_040_000 * ms

var errCall = errors.New("the call failed")

// set moves the clock to n ms after its start, forwards or backwards.
func (m *manual) set(n int64) { m.ns.Store(t0 + n*ms) }

// still is a clock whose waits are reported and do not move it.
type still struct {
	*manual
	mu    sync.Mutex
	waits []time.Duration // guarded by mu
}

func (s *still) Wait(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, d)
	return ctx.Err()
}

// guard is an engine with its clock, for one test.
type guard struct {
	*tidegate.Engine
	clock *manual
	t     *testing.T
}

func newGuard(t *testing.T, options ...tidegate.Option) guard {
	t.Helper()
	e, m := newEngine(t, options...)
	return guard{Engine: e, clock: m, t: t}
}

// newStill is newGuard with waits that do not move the clock.
func newStill(t *testing.T, options ...tidegate.Option) guard {
	t.Helper()
	s := &still{manual: newManual()}
	return newGuardWith(t, s, s.manual, options...)
}

func newGuardWith(t *testing.T, clock tidegate.Clock, m *manual, options ...tidegate.Option) guard {
	t.Helper()
	e, err := tidegate.New(append([]tidegate.Option{tidegate.WithClock(clock)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return guard{Engine: e, clock: m, t: t}
}

func (g guard) at(n int64) guard {
	g.clock.set(n)
	return g
}

func (g guard) enter(resource string, calls ...tidegate.Call) (tidegate.Entry, error) {
	var call tidegate.Call
	if len(calls) > 0 {
		call = calls[0]
	}
	return g.Enter(context.Background(), resource, call)
}

// pass enters and expects to be let in.
func (g guard) pass(resource string, calls ...tidegate.Call) tidegate.Entry {
	g.t.Helper()
	entry, err := g.enter(resource, calls...)
	if err != nil {
		g.t.Errorf("+%d ms: %s: %v, want a pass", (g.clock.ns.Load()-t0)/ms, resource, err)
	}
	return entry
}

// blocked enters and expects the refusal.
func (g guard) blocked(resource string, want error, calls ...tidegate.Call) {
	g.t.Helper()
	_ = g.refusal(resource, want, calls...)
}

// refusal enters, expects the refusal and returns it.
func (g guard) refusal(resource string, want error, calls ...tidegate.Call) *tidegate.BlockError {
	g.t.Helper()
	entry, err := g.enter(resource, calls...)
	if err == nil {
		entry.Exit(nil)
	}
	var blocked *tidegate.BlockError
	if !errors.Is(err, want) || !errors.Is(err, tidegate.ErrBlocked) || !errors.As(err, &blocked) {
		g.t.Errorf("+%d ms: %s: %v, want %v", (g.clock.ns.Load()-t0)/ms, resource, err, want)
		return &tidegate.BlockError{}
	}
	return blocked
}

// call enters, expects to be let in and exits.
func (g guard) call(resource string, err error, calls ...tidegate.Call) {
	g.t.Helper()
	g.pass(resource, calls...).Exit(err)
}

// count makes n calls, exits those let in, and returns how many they were.
func (g guard) count(n int, resource string, calls ...tidegate.Call) (passed int) {
	for range n {
		if entry, err := g.enter(resource, calls...); err == nil {
			passed++
			entry.Exit(nil)
		}
	}
	return passed
}

// together makes n calls at once and returns the entries of those let in.
func (g guard) together(n int, resource string, calls ...tidegate.Call) []tidegate.Entry {
	var mu sync.Mutex
	var entries []tidegate.Entry
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			<-start
			if entry, err := g.enter(resource, calls...); err == nil {
				mu.Lock()
				defer mu.Unlock()
				entries = append(entries, entry)
			}
		})
	}
	close(start)
	wg.Wait()
	return entries
}

func (g guard) stats(resource string) tidegate.Snapshot {
	g.t.Helper()
	s, ok := g.ResourceStats(resource)
	if !ok {
		g.t.Errorf("nobody called %q", resource)
	}
	return s
}

// idle expects that nothing is in flight on any node.
func (g guard) idle() {
	g.t.Helper()
	for _, name := range g.Resources() {
		if s := g.stats(name); s.Active != 0 {
			g.t.Errorf("%s: %d in flight, want 0", name, s.Active)
		}
		for _, origin := range g.Origins(name) {
			if s, _ := g.OriginStats(name, origin); s.Active != 0 {
				g.t.Errorf("%s for %s: %d in flight, want 0", name, origin, s.Active)
			}
		}
	}
	var walk func(path string, nodes []tidegate.TreeNode)
	walk = func(path string, nodes []tidegate.TreeNode) {
		for _, n := range nodes {
			if n.Stats.Active != 0 {
				g.t.Errorf("%s/%s: %d in flight, want 0", path, n.Name, n.Stats.Active)
			}
			walk(path+"/"+n.Name, n.Children)
		}
	}
	walk("", g.Tree())
	if s := g.InboundStats(); s.Active != 0 {
		g.t.Errorf("%d inbound calls in flight, want 0", s.Active)
	}
}

// breakers returns the states of the resource's breakers.
func (g guard) breakers(resource string) string {
	var list []string
	for _, b := range g.Breakers(resource) {
		list = append(list, b.State.String())
	}
	return strings.Join(list, " ")
}

func (g guard) expectBreakers(resource, want string) {
	g.t.Helper()
	if got := g.breakers(resource); got != want {
		g.t.Errorf("+%d ms: breakers of %s: %q, want %q", (g.clock.ns.Load()-t0)/ms, resource, got, want)
	}
}

// parse reads rules from JSON, each text one rule.
func parse[R any](t *testing.T, texts ...string) []R {
	t.Helper()
	rules := make([]R, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &rules[i]); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return rules
}

// load reads rules from JSON and loads them; none may be refused.
func load[R any](t *testing.T, set *tidegate.RuleSet[R], texts ...string) tidegate.Report {
	t.Helper()
	report, err := set.Load(parse[R](t, texts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func msec(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
