package server_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
)

func Example() {
	service := token.New()
	service.LoadFlow("shop", []flow.Rule{{
		Resource: "order", Count: 10, ClusterMode: true,
		ClusterConfig: &chain.ClusterConfig{FlowID: 101, ThresholdType: chain.ThresholdGlobal},
	}})
	s := server.New(service, server.WithMaxConnsPerIP(100))
	addr, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := s.Shutdown(context.Background()); err != nil {
			fmt.Println(err)
		}
	}()

	conn, err := net.Dial("tcp", addr.String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	ask, _ := wire.AppendRequest(nil, &wire.Request{XID: 1, Type: wire.TypeFlow, FlowID: 101, Count: 3})
	if _, err := conn.Write(ask); err != nil {
		fmt.Println(err)
		return
	}
	frame := make([]byte, 16)
	if _, err := io.ReadFull(conn, frame); err != nil {
		fmt.Println(err)
		return
	}
	var answer wire.Response
	if err := answer.Decode(frame[2:]); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Status, answer.Remaining)
	// Output: ok 7
}
