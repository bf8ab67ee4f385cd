package replay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
)

// The tests of this file and of the other model_*_test.go files compare the engine with plain models: each a few lines
// that keep the calls and compute each decision anew from the published formulas, for one caller and without
// any of the engine's code. Random rules and calls, virtual clock, fixed seeds.

const (
	modelRuns  = 100
	modelCalls = 150
	ms         = int64(time.Millisecond)
)

// hand is a clock that a test moves; waits move it too, unless it is still.
type hand struct {
	ns    int64
	still bool
}

// Now returns the time.
func (h *hand) Now() time.Time { return time.Unix(0, h.ns) }

// Wait returns at once.
func (h *hand) Wait(_ context.Context, d time.Duration) error {
	if !h.still {
		h.ns += int64(d)
	}
	return nil
}

// trial is one run with its own engine.
type trial struct {
	*testing.T
	*rand.Rand
	*hand
	engine *tidegate.Engine
	log    []string
}

// eachTrial runs f with many engines.
func eachTrial(t *testing.T, f func(tr *trial)) {
	t.Helper()
	t.Parallel()
	for seed := range uint64(modelRuns) {
		tr := &trial{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), hand: &hand{ns: 1_700_000_000_000 * ms}} //nolint:gosec // a test's randomness
		tr.ns += tr.Int64N(1000) * ms
		engine, err := tidegate.New(tidegate.WithClock(tr.hand))
		if err != nil {
			t.Fatal(err)
		}
		tr.engine = engine
		f(tr)
		_ = engine.Close()
		if t.Failed() {
			t.Logf("seed %d", seed)
			for _, line := range tr.log[max(0, len(tr.log)-40):] {
				t.Log(line)
			}
			return
		}
	}
}

// step moves the clock by a random time: often nothing, often onto or beside the edge of a bucket.
func (tr *trial) step() {
	const bucket = 500 * ms
	switch tr.IntN(10) {
	case 0, 1, 2:
	case 3:
		tr.ns += bucket - tr.ns%bucket
	case 4:
		tr.ns += bucket - tr.ns%bucket - 1
	case 5:
		tr.ns += tr.Int64N(3000) * ms
	default:
		tr.ns += tr.Int64N(200) * ms
	}
	if tr.IntN(60) == 0 {
		tr.ns += tr.Int64N(40_000) * ms
	}
}

// verdict is a decision as models and engine give it.
type verdict struct {
	pass bool
	wait int64
}

// enter asks the engine.
func (tr *trial) enter(call tidegate.Call) (tidegate.Entry, verdict) {
	entry, err := tr.engine.Enter(context.Background(), "r", call)
	if err != nil && !errors.Is(err, tidegate.ErrBlocked) {
		tr.Fatal(err)
	}
	return entry, verdict{err == nil, int64(entry.Waited())}
}

// compare notes a decision and says whether it is as expected.
func (tr *trial) compare(at int64, what string, got, want verdict) bool {
	tr.log = append(tr.log, fmt.Sprintf("%d.%06d ms: %s: pass %v, wait %v", at/ms-1_700_000_000_000, at%ms, what, got.pass, time.Duration(got.wait)))
	if got != want {
		tr.Errorf("%s: the engine says %+v, the model %+v", what, got, want)
	}
	return got == want
}

// pick returns one of the values.
func pick[T any](tr *trial, values ...T) T { return values[tr.IntN(len(values))] }

// load loads rules that must all be valid.
func load[R any](tr *trial, set *tidegate.RuleSet[R], rules ...R) {
	if _, err := set.Load(rules...); err != nil {
		tr.Fatal(err)
	}
	tr.log = append(tr.log, fmt.Sprintf("%+v", rules))
}

// passes are the passes of the last few seconds.
type passes []struct{ at, n int64 }

// add notes a pass and forgets what nobody asks about any more.
func (p *passes) add(at, n int64) {
	*p = slices.DeleteFunc(*p, func(c struct{ at, n int64 }) bool { return c.at < at-3000*ms })
	*p = append(*p, struct{ at, n int64 }{at, n})
}

// within returns what passed from a time on, up to before another.
func (p passes) within(from, to int64) (sum int64) {
	for _, c := range p {
		if c.at >= from && c.at < to {
			sum += c.n
		}
	}
	return sum
}

// rate is the pass rate of the default window: two buckets of 500 ms, aligned to the epoch.
func (p passes) rate(now int64) float64 {
	const bucket = 500 * ms
	return float64(p.within(now-now%bucket-bucket, now+1))
}

// previous is what passed in the last whole second.
func (p passes) previous(now int64) int64 {
	second := now - now%(1000*ms)
	return p.within(second-1000*ms, second)
}
