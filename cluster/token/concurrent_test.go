package token_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
)

func limitOfTokens(id int64, count float64, hold, offline int64) flow.Rule {
	r := global(id, count)
	r.Grade = flow.GradeConcurrency
	r.ClusterConfig.ResourceTimeout, r.ClusterConfig.ClientOfflineTime = hold, offline
	return r
}

func (b *bench) acquire(who string, id int64, n int32) chain.TokenResult {
	return b.Acquire(b.Now(), who, "appA", id, n)
}

func (b *bench) taken() int64 { return b.Status().Flows[0].Taken }

func TestConcurrentTokens(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, limitOfTokens(1, 3, 0, 0))
		a := b.acquire("a", 1, 1)
		want(t, a, chain.TokenOK, 2)
		two := b.acquire("b", 1, 2)
		want(t, two, chain.TokenOK, 0)
		want(t, b.acquire("b", 1, 1), chain.TokenBlocked, 0)
		for _, status := range []chain.TokenStatus{chain.TokenReleased, chain.TokenAlreadyReleased} {
			if got := b.Release("b", two.TokenID); got != status {
				t.Errorf("%v, want %v", got, status)
			}
		}
		want(t, b.acquire("b", 1, 3), chain.TokenBlocked, 0)
		want(t, b.acquire("b", 1, 2), chain.TokenOK, 0)
		for _, bad := range []chain.TokenResult{b.acquire("", 1, 1), b.acquire("a", 0, 1), b.acquire("a", 1, 0), b.acquire("a", 1, -1)} {
			want(t, bad, chain.TokenBadRequest, 0)
		}
		want(t, b.acquire("a", 2, 1), chain.TokenNoRule, 0)
		if b.Release("a", 0) != chain.TokenBadRequest || b.Release("a", 12345) != chain.TokenAlreadyReleased {
			t.Error("release of what never was")
		}
	})
}

func TestTokensOfClients(t *testing.T) {
	t.Parallel()
	b := newBench()
	r := limitOfTokens(1, 1.5, 0, 0)
	r.ClusterConfig.ThresholdType = chain.ThresholdPerClient
	b.load(t, r)
	want(t, b.acquire("a", 1, 1), chain.TokenBlocked, 0)
	b.Join("a", "appA")
	b.Join("b", "appA")
	b.Join("c", "appA")
	want(t, b.acquire("a", 1, 4), chain.TokenOK, 0)
}

// A token is taken back when it is older than resourceTimeout, once, not twice that.
func TestTokenTimeout(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, limitOfTokens(1, 3, 500, 100_000))
	b.Join("a", "appA")
	first := b.acquire("a", 1, 1)
	b.at(200).acquire("a", 1, 2)
	for _, c := range []struct{ at, taken int64 }{{500, 3}, {501, 2}, {700, 2}, {701, 0}, {900, 0}} {
		b.at(c.at).Sweep(b.Now())
		if got := b.taken(); got != c.taken {
			t.Fatalf("at %d: %d taken, want %d", c.at, got, c.taken)
		}
	}
	if got := b.Release("a", first.TokenID); got != chain.TokenAlreadyReleased {
		t.Error(got)
	}
	if st := b.Status(); st.TokensOut != 0 || st.Expired != 2 {
		t.Errorf("out %d, expired %d", st.TokensOut, st.Expired)
	}
}

// The tokens of a member who is gone are taken back clientOfflineTime after its last sign of life.
func TestOfflineMember(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, limitOfTokens(1, 10, 100_000, 300))
	b.Join("stays", "appA")
	b.acquire("stays", 1, 1)
	b.Join("leaves", "appA")
	b.acquire("leaves", 1, 2)
	b.acquire("never joined", 1, 4)
	b.Local("appA").AcquireConcurrent(t.Context(), 1, 3)
	b.at(1000).Renew(b.Now(), "never joined")
	b.Leave("leaves")
	for _, c := range []struct{ at, taken int64 }{{1300, 10}, {1301, 4}, {99_000, 4}} {
		b.at(c.at).Sweep(b.Now())
		if got := b.taken(); got != c.taken {
			t.Fatalf("at %d: %d taken, want %d", c.at, got, c.taken)
		}
	}
}

// Asking again is a sign of life.
func TestAcquireKeepsAlive(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, limitOfTokens(1, 10, 100_000, 300))
	b.acquire("a", 1, 1)
	b.at(250).acquire("a", 1, 1)
	for _, c := range []struct{ at, taken int64 }{{550, 2}, {551, 0}} {
		b.at(c.at).Sweep(b.Now())
		if got := b.taken(); got != c.taken {
			t.Fatalf("at %d: %d taken, want %d", c.at, got, c.taken)
		}
	}
}

// A rule that goes takes its tokens with it, and one of the same id begins at none and never falls below.
func TestRuleOfTokensGoes(t *testing.T) {
	t.Parallel()
	b := newBench()
	b.load(t, limitOfTokens(1, 2, 0, 0), limitOfTokens(2, 2, 500, 0))
	out := b.acquire("a", 1, 2)
	b.acquire("a", 2, 2)
	b.load(t, limitOfTokens(2, 2, 500, 0))
	if got := b.Release("a", out.TokenID); got != chain.TokenAlreadyReleased {
		t.Error(got)
	}
	b.load(t, limitOfTokens(1, 2, 0, 0), limitOfTokens(2, 2, 500, 0))
	b.Release("a", out.TokenID)
	want(t, b.acquire("a", 1, 2), chain.TokenOK, 0)
	want(t, b.acquire("a", 1, 1), chain.TokenBlocked, 0)
	b.at(501).Sweep(b.Now())
	want(t, b.acquire("a", 2, 1), chain.TokenOK, 1)
	b.Remove("appA")
	if st := b.Status(); st.TokensOut != 0 {
		t.Errorf("%d tokens out", st.TokensOut)
	}
	b.Sweep(b.Now())
}

func TestMostTokens(t *testing.T) {
	t.Parallel()
	b := newBench(token.WithMaxTokens(16 * 5))
	b.load(t, limitOfTokens(1, 1000, 0, 0))
	for range 5 {
		if got := b.acquire("a", 1, 1).Status; got != chain.TokenOK {
			t.Fatal(got)
		}
	}
	want(t, b.acquire("a", 1, 1), chain.TokenTooManyRequest, 0)
}

func TestObservedTokens(t *testing.T) {
	t.Parallel()
	b := newBench()
	r := limitOfTokens(1, 1, 0, 0)
	r.Mode = chain.ModeObserve
	b.load(t, r)
	for range 3 {
		want(t, b.acquire("a", 1, 1), chain.TokenOK, 0)
	}
	if st := b.Status().Flows[0]; st.Taken != 3 || st.Spared != 2 || st.Acquired != 1 {
		t.Errorf("%+v", st)
	}
}

// Many members take and give back, while sweeps, loads and departures go on: never more than the limit is out, and in
// the end nothing is.
func TestTokensAtOnce(t *testing.T) {
	t.Parallel()
	const most, callers, rounds = 5, 16, 300
	b := newBench()
	b.load(t, limitOfTokens(1, most, 100_000, 100_000))
	var held, peak atomic.Int64
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			who := string(rune('a' + c))
			b.Join(who, "appA")
			for range rounds {
				r := b.acquire(who, 1, 1)
				if r.Status != chain.TokenOK {
					continue
				}
				if now := held.Add(1); now > peak.Load() {
					peak.Store(now)
				}
				held.Add(-1)
				if got := b.Release(who, r.TokenID); got != chain.TokenReleased {
					t.Errorf("release: %v", got)
				}
			}
		})
	}
	group.Go(func() {
		for range rounds {
			b.Sweep(b.Now())
			b.load(t, limitOfTokens(1, most, 100_000, 100_000))
		}
	})
	group.Wait()
	if peak.Load() > most || b.taken() != 0 || b.Status().TokensOut != 0 {
		t.Errorf("peak %d, taken %d", peak.Load(), b.taken())
	}
}
