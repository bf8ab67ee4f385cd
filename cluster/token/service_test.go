package token_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// both runs a test in exact and in compatible mode.
func both(t *testing.T, f func(t *testing.T, b *bench)) {
	t.Helper()
	for name, opts := range map[string][]token.Option{"exact": nil, "compatible": {token.WithCompatible()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newBench(opts...))
		})
	}
}

// The decisions of a session recorded with Sentinel's server.
func TestTranscript(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, global(101, 10), average(102, 5))
		b.loadParam(t, hot(202, 2))
		want(t, b.flow(102, 1), chain.TokenBlocked, 0)
		for range 2 {
			if n := b.Join("c:1", "appA"); n != 1 {
				t.Fatalf("joined: %d", n)
			}
		}
		want(t, b.flow(101, 1), chain.TokenOK, 9)
		want(t, b.flow(101, 9), chain.TokenOK, 0)
		want(t, b.flow(101, 1), chain.TokenBlocked, 0)
		want(t, b.flow(102, 1), chain.TokenOK, 4)
		want(t, b.param(202, 1, wire.IntValue(7)), chain.TokenOK, 1)
		want(t, b.param(202, 2, wire.IntValue(7)), chain.TokenBlocked, 0)
		want(t, b.param(202, 1, wire.IntValue(8), text("x")), chain.TokenOK, -1)
		want(t, b.flow(106, 1), chain.TokenNoRule, 0)
		want(t, b.flow(0, 1), chain.TokenBadRequest, 0)
		want(t, b.flow(101, 0), chain.TokenBadRequest, 0)
		want(t, b.param(202, 1), chain.TokenBadRequest, 0)
		want(t, b.param(202, -1, text("x")), chain.TokenBadRequest, 0)
		want(t, b.param(-202, 1, text("x")), chain.TokenBadRequest, 0)
	})
}

func TestThresholdsOfConnections(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, average(1, 3), global(2, 3))
		for connected, expect := range []int{0, 3, 6, 9} {
			b.at(int64(connected) * 1000)
			if connected > 0 {
				b.Join(strings.Repeat("c", connected), "appA")
			}
			if got := b.admitted(1, 20); got != expect {
				t.Errorf("average with %d: %d", connected, got)
			}
			if got := b.admitted(2, 20); got != 3 {
				t.Errorf("global with %d: %d", connected, got)
			}
		}
		b.Leave("cc")
		if got := b.at(10_000).admitted(1, 20); got != 6 {
			t.Errorf("after one left: %d", got)
		}
	})
}

func TestExceedCount(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, global(1, 10))
		c := token.DefaultConfig()
		c.ExceedCount = 1.5
		if err := b.Configure(c); err != nil {
			t.Fatal(err)
		}
		if got := b.admitted(1, 50); got != 15 {
			t.Errorf("admitted %d, want 15", got)
		}
		b.loadParam(t, hot(2, 2))
		for i, status := range []chain.TokenStatus{0, 0, chain.TokenBlocked} {
			if got := b.param(2, 1, text("x")).Status; got != status {
				t.Errorf("value %d: %v", i, got)
			}
		}
	})
}

func TestB79RequestLimit(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, global(1, 1000))
		b.loadParam(t, hot(2, 1000))
		c := token.DefaultConfig()
		c.MaxAllowedQPS = 10
		if err := b.ConfigureNamespace("appA", &c); err != nil {
			t.Fatal(err)
		}
		b.LoadFlow("appB", []flow.Rule{global(3, 1000)})
		for i := range 15 {
			expect := chain.TokenOK
			if i >= 10 {
				expect = chain.TokenTooManyRequest
			}
			got := chain.TokenResult{}
			if i%2 == 1 {
				got = b.param(2, 5, text("x"))
			} else {
				got = b.flow(1, 5) // requests count, not units
			}
			if got.Status != expect {
				t.Fatalf("request %d: %v", i, got.Status)
			}
			if got := b.Flow(b.Now(), "appB", 3, 1, false).Status; got != chain.TokenOK {
				t.Fatalf("other namespace: %v", got)
			}
		}
		want(t, b.flow(99, 1), chain.TokenNoRule, 0)
		want(t, b.flow(1, -1), chain.TokenBadRequest, 0)
		want(t, b.at(1000).flow(1, 1), chain.TokenOK, 999)
		c.MaxAllowedQPS = 0
		if err := b.ConfigureNamespace("appA", &c); err != nil {
			t.Fatal(err)
		}
		want(t, b.flow(1, 1), chain.TokenTooManyRequest, 0)
		if err := b.ConfigureNamespace("appA", nil); err != nil {
			t.Fatal(err)
		}
		want(t, b.flow(1, 1), chain.TokenOK, 998)
	})
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, global(1, 1), global(2, 5))
	report := b.LoadFlow("appB", []flow.Rule{global(1, 3)})
	if w := report.Rules[0].Warnings; len(w) != 1 || !strings.Contains(w[0], `"appA"`) {
		t.Fatalf("warnings: %q", w)
	}
	for ns, count := range map[string]int{"appA": 1, "appB": 3} {
		n := 0
		for range 10 {
			if b.Flow(b.Now(), ns, 1, 1, false).Status == chain.TokenOK {
				n++
			}
		}
		if n != count {
			t.Errorf("%s: %d", ns, n)
		}
	}
	if got := b.Flow(b.Now(), "other", 1, 1, false).Status; got != chain.TokenNoRule {
		t.Errorf("ambiguous: %v", got)
	}
	if got := b.Flow(b.Now(), "other", 2, 1, false); got.Status != chain.TokenOK {
		t.Errorf("unique: %v", got.Status)
	}
	if st := b.Status(); st.Conflicts != 1 || st.NoRule != 1 {
		t.Errorf("conflicts %d, no rule %d", st.Conflicts, st.NoRule)
	}
	b.Remove("appB")
	if got := b.Flow(b.Now(), "other", 1, 1, false).Status; got != chain.TokenBlocked {
		t.Errorf("after removal: %v", got)
	}
}

func TestLastLoadedWins(t *testing.T) {
	t.Parallel()
	b := newBench(token.WithCompatible())
	b.LoadFlow("appB", []flow.Rule{global(1, 3)})
	b.load(t, global(1, 1))
	want(t, b.Flow(b.Now(), "appB", 1, 1, false), chain.TokenOK, 0)
	b.LoadFlow("appB", []flow.Rule{global(1, 3)})
	want(t, b.Flow(b.Now(), "appA", 1, 1, false), chain.TokenOK, 2)
}

func TestReports(t *testing.T) {
	t.Parallel()
	b := newBench()
	local := flow.Rule{Resource: "r", Count: 1}
	regex := global(5, 1)
	regex.Regex = true
	off, observed := global(6, 1), global(7, 1)
	off.Disabled, observed.Mode = true, chain.ModeObserve
	uneven := windowed(global(8, 1), 1000, 3)
	report := b.LoadFlow("appA", []flow.Rule{global(1, 1), local, global(0, 1), regex, off, observed, uneven, global(1, 2)})
	verdicts := []chain.Verdict{chain.Duplicate, chain.Disabled, chain.Refused, chain.Refused, chain.Disabled, chain.Observed, chain.Refused, chain.Loaded}
	for i, r := range report.Rules {
		if r.Verdict != verdicts[i] || r.Source != "appA" || r.Index != i || r.Kind != chain.KindFlow {
			t.Errorf("%v, want %v", r, verdicts[i])
		}
	}
	want(t, b.flow(1, 1), chain.TokenOK, 1)
	want(t, b.flow(7, 1), chain.TokenOK, 0)
	want(t, b.flow(7, 1), chain.TokenOK, 0)
	if st := b.Status(); st.Flows[0].Spared != 1 {
		t.Errorf("observed: %+v", st.Flows[0])
	}
	if b.LoadFlow("appA", []flow.Rule{global(0, 1)}).Err() == nil || len(b.Status().Flows) != 2 {
		t.Error("a list without a valid rule must change nothing")
	}
	pr := b.LoadParam("appA", []hotspot.Rule{hot(1, 1), hot(0, 1), {Resource: "x"}})
	if pr.Count(chain.Loaded) != 1 || pr.Count(chain.Refused) != 1 || pr.Count(chain.Disabled) != 1 {
		t.Errorf("%v", pr.Rules)
	}
}

func TestLifeCycle(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, global(1, 10))
		b.loadParam(t, hot(1, 2))
		b.admitted(1, 8)
		b.param(1, 2, text("x"))
		b.load(t, global(1, 9)) // the count changes, the counter stays
		b.loadParam(t, hot(1, 3))
		want(t, b.flow(1, 1), chain.TokenOK, 0)
		want(t, b.param(1, 1, text("x")), chain.TokenOK, 0)
		b.LoadFlow("appA", nil)
		b.LoadParam("appA", nil)
		want(t, b.flow(1, 1), chain.TokenNoRule, 0)
		want(t, b.param(1, 1, text("x")), chain.TokenNoRule, 0)
		if ns := b.Namespaces(); len(ns) != 0 {
			t.Errorf("namespaces: %v", ns)
		}
		b.load(t, global(1, 10))
		b.loadParam(t, hot(1, 2))
		want(t, b.flow(1, 1), chain.TokenOK, 9)
		want(t, b.param(1, 1, text("x")), chain.TokenOK, 1)
	})
}

func TestWindowChange(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		long := func(r hotspot.Rule) hotspot.Rule {
			r.ClusterConfig.WindowIntervalMs, r.ClusterConfig.SampleCount = 2000, 20
			return r
		}
		b.load(t, global(1, 10))
		b.loadParam(t, hot(1, 10))
		b.at(450).flow(1, 8)
		b.param(1, 8, text("x"), text("y"))
		b.load(t, windowed(global(1, 10), 2000, 20))
		b.loadParam(t, long(hot(1, 10)))
		// 8 of 20 are used until 2400 ms; the compatible mode compares 4 per second with 10.
		b.at(1500)
		left := int32(20 - 8 - 1)
		if b.Compatible() {
			left = 10 - 4 - 1
		}
		want(t, b.flow(1, 1), chain.TokenOK, left)
		want(t, b.param(1, 1, text("y")), chain.TokenOK, left)
		b.load(t, global(1, 10))
		b.loadParam(t, hot(1, 10))
		want(t, b.flow(1, 1), chain.TokenOK, 8) // only what is younger than a second
		want(t, b.param(1, 1, text("y")), chain.TokenOK, 8)
		if st := b.Status(); st.Flows[0].Granted != 3 || st.Params[0].Granted != 3 {
			t.Errorf("granted: %+v, %+v", st.Flows[0].Decisions, st.Params[0].Decisions)
		}
	})
}

func TestConfigJSON(t *testing.T) {
	t.Parallel()
	var c token.Config
	if err := json.Unmarshal([]byte(`{"maxAllowedQps":5,"namespace":"x"}`), &c); err != nil {
		t.Fatal(err)
	}
	expect := token.DefaultConfig()
	expect.MaxAllowedQPS = 5
	if c != expect {
		t.Errorf("%+v", c)
	}
	b := newBench()
	for _, bad := range []string{`{"sampleCount":0}`, `{"intervalMs":-1}`, `{"exceedCount":-1}`, `{"sampleCount":7}`, `{"maxAllowedQps":-1}`, `{"maxOccupyRatio":-1}`} {
		if err := json.Unmarshal([]byte(bad), &c); err != nil {
			t.Fatal(err)
		}
		if b.Configure(c) == nil || b.ConfigureNamespace("x", &c) == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
	if b.Config("x") != token.DefaultConfig() || len(b.Namespaces()) != 0 {
		t.Error("a bad config changed something")
	}
}

func TestNilAndZero(t *testing.T) {
	t.Parallel()
	for _, s := range []*token.Service{nil, {}} {
		s.LoadFlow("x", []flow.Rule{global(1, 1)})
		s.LoadParam("x", []hotspot.Rule{hot(1, 1)})
		s.Remove("x")
		s.Join("a", "b")
		s.Leave("a")
		s.Renew(1, "a")
		s.Sweep(1)
		s.Release("a", 1)
		_ = s.Configure(token.DefaultConfig())
		_ = s.ConfigureNamespace("x", nil)
		_ = s.Config("x")
		_, _, _ = s.Namespaces(), s.Connected("x"), s.Now()
		if s.Flow(1, "", 1, 1, false).Status != chain.TokenFail || s.Param(1, "", 1, 1, nil).Status != chain.TokenFail ||
			s.Acquire(1, "m", "", 1, 1).Status != chain.TokenFail {
			t.Error("a nil service must answer TokenFail")
		}
		if got := s.Local("x").RequestToken(t.Context(), 1, 1, false).Status; got != chain.TokenFail {
			t.Error(got)
		}
		if _, err := json.Marshal(s.Status()); err != nil {
			t.Error(err)
		}
	}
}
