package token_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

const ms = int64(time.Millisecond)

// start is a whole minute, so that it begins a bucket of every usual window.
const start = 1_700_000_040_000 * ms

// A bench is a service with a clock that the test moves.
type bench struct {
	*token.Service
	now atomic.Int64
}

func newBench(opts ...token.Option) *bench {
	b := &bench{}
	b.now.Store(start)
	b.Service = token.New(append([]token.Option{token.WithClock(b.now.Load)}, opts...)...)
	return b
}

// at sets the clock to so many ms after the start.
func (b *bench) at(after int64) *bench {
	b.now.Store(start + after*ms)
	return b
}

func (b *bench) flow(id int64, n int32) chain.TokenResult {
	return b.Flow(b.Now(), "appA", id, n, false)
}

func (b *bench) prior(id int64, n int32) chain.TokenResult {
	return b.Flow(b.Now(), "appA", id, n, true)
}

func (b *bench) param(id int64, n int32, values ...wire.Value) chain.TokenResult {
	return b.Param(b.Now(), "appA", id, n, values)
}

// admitted asks times times for one unit and returns how often it was granted.
func (b *bench) admitted(id int64, times int) (n int) {
	for range times {
		if b.flow(id, 1).Status == chain.TokenOK {
			n++
		}
	}
	return n
}

// global is a flow rule with a global threshold.
func global(id int64, count float64) flow.Rule {
	return flow.Rule{
		Resource: "r", Count: count, ClusterMode: true,
		ClusterConfig: &flow.ClusterConfig{FlowID: id, ThresholdType: chain.ThresholdGlobal},
	}
}

func average(id int64, count float64) flow.Rule {
	r := global(id, count)
	r.ClusterConfig.ThresholdType = chain.ThresholdPerClient
	return r
}

// windowed is a rule with a window of its own.
func windowed(r flow.Rule, intervalMs, samples int) flow.Rule {
	r = r.Clone()
	r.ClusterConfig.WindowIntervalMs, r.ClusterConfig.SampleCount = intervalMs, samples
	return r
}

func hot(id int64, count float64, items ...hotspot.Item) hotspot.Rule {
	idx := 0
	return hotspot.Rule{
		Resource: "r", ParamIdx: &idx, Count: count, Items: items, ClusterMode: true,
		ClusterConfig: &hotspot.ClusterConfig{FlowID: id, ThresholdType: chain.ThresholdGlobal},
	}
}

func text(s string) wire.Value { return wire.TextValue([]byte(s)) }

func (b *bench) load(t *testing.T, rules ...flow.Rule) {
	t.Helper()
	if err := b.LoadFlow("appA", rules).Err(); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) loadParam(t *testing.T, rules ...hotspot.Rule) {
	t.Helper()
	if err := b.LoadParam("appA", rules).Err(); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, got chain.TokenResult, status chain.TokenStatus, remaining int32) {
	t.Helper()
	if got.Status != status || got.Remaining != remaining {
		t.Fatalf("got %v with %d remaining, want %v with %d", got.Status, got.Remaining, status, remaining)
	}
}
