package tidegate_test

import (
	"context"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/isolation"
)

func benchEngine(b *testing.B) *tidegate.Engine {
	e, err := tidegate.New()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close() })
	_, _ = e.FlowRules().Load(
		flow.Rule{Resource: "flow", Count: 1e12}, flow.Rule{Resource: "blocked", Count: 0}, flow.Rule{Resource: "all", Count: 1e12},
		flow.Rule{Resource: "thread", Count: 1e12, Grade: flow.GradeConcurrency})
	_, _ = e.DegradeRules().Load(
		circuitbreaker.Rule{Resource: "breaker", Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 10},
		circuitbreaker.Rule{Resource: "all", Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 10})
	_, _ = e.IsolationRules().Load(isolation.Rule{Resource: "all", Count: 1e12}, isolation.Rule{Resource: "iso", Count: 1e12})
	return e
}

func BenchmarkEnter(b *testing.B) {
	e := benchEngine(b)
	start := time.Now()
	b.Run("unit", func(b *testing.B) {
		var sink time.Duration
		for b.Loop() {
			sink += time.Since(start)
		}
		_ = sink
	})
	ctx := context.Background()
	for _, r := range []string{"none", "flow", "blocked", "thread", "iso", "breaker", "all"} {
		b.Run(r, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				en, _ := e.Enter(ctx, r, tidegate.Call{Inbound: r == "all"})
				en.Exit(nil)
			}
		})
		b.Run(r+"-parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					en, _ := e.Enter(ctx, r, tidegate.Call{Inbound: r == "all"})
					en.Exit(nil)
				}
			})
		})
	}
}
