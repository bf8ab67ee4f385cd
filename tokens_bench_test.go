package tidegate_test

import (
	"context"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// steadyTokens always gives the same answer, at no cost.
type steadyTokens struct{ result tidegate.TokenResult }

func (s *steadyTokens) RequestToken(context.Context, int64, int64, bool) tidegate.TokenResult {
	return s.result
}

func (s *steadyTokens) RequestParamToken(context.Context, int64, int64, []chain.Arg) tidegate.TokenResult {
	return s.result
}

func (s *steadyTokens) AcquireConcurrent(context.Context, int64, int64) tidegate.TokenResult {
	return s.result
}
func (s *steadyTokens) ReleaseConcurrent(int64) {}
func (s *steadyTokens) Connected() int          { return 1 }

// BenchmarkClusterRule measures what a rule in cluster mode costs beside its request.
func BenchmarkClusterRule(b *testing.B) {
	first := 0
	config := &chain.ClusterConfig{FlowID: 1, ThresholdType: chain.ThresholdGlobal}
	qps := flow.Rule{Resource: "r", Count: 1e12, ClusterMode: true, ClusterConfig: config}
	held := qps
	held.Grade = flow.GradeConcurrency
	for _, c := range []struct {
		name   string
		status chain.TokenStatus
		flow   []flow.Rule
		param  []hotspot.Rule
	}{
		{name: "local", flow: []flow.Rule{{Resource: "r", Count: 1e12}}},
		{name: "ok", flow: []flow.Rule{qps}},
		{name: "blocked", status: chain.TokenBlocked, flow: []flow.Rule{qps}},
		{name: "fallback", status: chain.TokenFail, flow: []flow.Rule{qps}},
		{name: "calls", flow: []flow.Rule{held}},
		{name: "param", param: []hotspot.Rule{{Resource: "r", ParamIdx: &first, Count: 1, ClusterMode: true, ClusterConfig: config}}},
		{name: "param-fallback", status: chain.TokenFail, param: []hotspot.Rule{{Resource: "r", ParamIdx: &first, Count: 1e12, ClusterMode: true, ClusterConfig: config}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			e, err := tidegate.New(tidegate.WithTokenService(&steadyTokens{result: tidegate.TokenResult{Status: c.status, TokenID: 1}}))
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			if _, err := e.FlowRules().Load(c.flow...); err != nil {
				b.Fatal(err)
			}
			if _, err := e.ParamRules().Load(c.param...); err != nil {
				b.Fatal(err)
			}
			ctx, call := context.Background(), tidegate.Call{Args: []tidegate.Arg{tidegate.String("user", "a")}}
			b.ReportAllocs()
			for b.Loop() {
				entry, _ := e.Enter(ctx, "r", call)
				entry.Exit(nil)
			}
		})
	}
}
