package token_test

import (
	"context"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

func TestAllocNothing(t *testing.T) { // counts allocations, so alone
	if racing {
		t.Skip("the race detector allocates")
	}
	for _, opts := range [][]token.Option{nil, {token.WithCompatible()}} {
		b := newBench(opts...).unlimited(t)
		gate := limitOfTokens(4, 10, 0, 0)
		b.load(t, global(1, 1e12), global(2, 0), average(3, 1e9), gate, global(5, 10))
		b.loadParam(t, hot(1, 1e12), hot(2, 0), hot(3, 1e9, hotspot.Item{Object: "x", Count: 1e15}))
		b.Join("c", "appA")
		local := b.Local("appA")
		one, some := []wire.Value{text("user-1")}, []wire.Value{wire.IntValue(1), text("x"), wire.DoubleValue(2)}
		args := []chain.Arg{chain.String("", "user-1"), chain.Int("", 5)}
		ctx := context.Background()
		together := [4]token.FlowRequest{{ID: 1, Count: 1}, {ID: 1, Count: 1}, {ID: 2, Count: 1}, {ID: 99, Count: 1}}
		var at int64
		for name, f := range map[string]func(){
			"flow":            func() { b.flow(1, 1) },
			"flow, several":   func() { b.flow(1, 3) },
			"flows":           func() { b.Flows(b.Now(), "appA", together[:]) },
			"flow, refused":   func() { b.flow(2, 1) },
			"flow of clients": func() { b.flow(3, 1) },
			"flow, no rule":   func() { b.flow(99, 1) },
			"flow, bad":       func() { b.flow(0, 1) },
			"flow, grade 0":   func() { b.flow(4, 1) },
			"prioritized":     func() { at += 3; b.at(at).prior(5, 1) },
			"param":           func() { b.Param(b.Now(), "appA", 1, 1, one) },
			"param, several":  func() { b.Param(b.Now(), "appA", 1, 1, some) },
			"param, refused":  func() { b.Param(b.Now(), "appA", 2, 1, some) },
			"param, items":    func() { b.Param(b.Now(), "appA", 3, 1, some) },
			"acquire":         func() { b.Release("c", b.acquire("c", 4, 1).TokenID) },
			"local flow":      func() { local.RequestToken(ctx, 1, 1, false) },
			"local param":     func() { local.RequestParamToken(ctx, 1, 1, args) },
			"local acquire":   func() { local.ReleaseConcurrent(local.AcquireConcurrent(ctx, 4, 1).TokenID) },
		} {
			for range 200 {
				f()
			}
			if n := alloctest.Count(f); n != 0 {
				t.Errorf("compatible %v: %s allocates %v times", b.Compatible(), name, n)
			}
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, b *bench) {
		b.load(t, global(1, 2), func() flow.Rule { r := global(3, 1); r.Grade = flow.GradeConcurrency; return r }())
		b.loadParam(t, hot(2, 2, hotspot.Item{Object: "5", Count: 3, ClassType: "int"}))
		b.Join("c", "appA")
		local, ctx := b.Local("appA"), t.Context()
		if local.Connected() != 1 {
			t.Error("connected")
		}
		want(t, local.RequestToken(ctx, 1, 2, false), chain.TokenOK, 0)
		want(t, local.RequestToken(ctx, 1, 1, false), chain.TokenBlocked, 0)
		want(t, local.RequestToken(ctx, 1, 1<<40, false), chain.TokenBlocked, 0)
		want(t, local.RequestToken(ctx, 1, -1<<40, false), chain.TokenBadRequest, 0)
		want(t, local.RequestParamToken(ctx, 2, 1, []chain.Arg{chain.Int("", 5)}), chain.TokenOK, 2)
		want(t, local.RequestParamToken(ctx, 2, 1, []chain.Arg{chain.String("", "x"), chain.Int("", 5)}), chain.TokenOK, -1)
		if r := local.RequestParamToken(ctx, 2, 1, nil); r.Status != chain.TokenBadRequest || r.Err == nil {
			t.Errorf("%+v", r)
		}
		r := local.AcquireConcurrent(ctx, 3, 1)
		want(t, r, chain.TokenOK, 0)
		want(t, local.AcquireConcurrent(ctx, 3, 1), chain.TokenBlocked, 0)
		local.ReleaseConcurrent(r.TokenID)
		want(t, local.AcquireConcurrent(ctx, 3, 1), chain.TokenOK, 0)
	})
}
