package token_test

import (
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
)

func Example() {
	s := token.New(token.WithClock(func() int64 { return 0 }))
	report := s.LoadFlow("shop", []flow.Rule{{
		Resource: "createOrder", Count: 0.5, ClusterMode: true,
		ClusterConfig: &flow.ClusterConfig{FlowID: 101, ThresholdType: chain.ThresholdGlobal, WindowIntervalMs: 4000},
	}})
	fmt.Println(report.Rules[0])
	for range 3 {
		r := s.Flow(s.Now(), "shop", 101, 1, false)
		fmt.Println(r.Status, r.Remaining)
	}
	// Output:
	// flow[0] createOrder: loaded
	// ok 1
	// ok 0
	// blocked 0
}
