package client_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
)

func Example() {
	ctx := context.Background()
	service := token.New()
	service.LoadFlow("shop", []flow.Rule{{
		Resource: "pay", Count: 2, ClusterMode: true,
		ClusterConfig: &chain.ClusterConfig{FlowID: 7, ThresholdType: chain.ThresholdGlobal, WindowIntervalMs: 60_000, SampleCount: 1},
	}})
	srv := server.New(service)
	defer srv.Close()
	addr, err := srv.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}

	c := client.New(client.WithNamespace("shop"), client.WithServer(addr.String()), client.WithTimeout(time.Second))
	defer c.Close()
	fmt.Println(c.RequestToken(ctx, 8, 1, false).Err)
	c.Start()
	if err := c.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.RequestToken(ctx, 8, 1, false).Status)
	fmt.Println(c.RequestToken(ctx, 0, 1, false).Status)
	// Output:
	// token client: not connected
	// no_rule_exists
	// bad_request
}
