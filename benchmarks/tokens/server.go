package tokens

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

const (
	namespace = "bench"
	rules     = 10_000 // flow ids 1 to rules; 1 is the parameter rule's id, too
	unlimited = 1e12   // units a second, and requests
)

// listenOurs starts a token server that grants everything, with decisions that count.
func listenOurs() (net.Addr, error) {
	s := token.New()
	config := token.DefaultConfig()
	config.MaxAllowedQPS = unlimited
	if err := s.Configure(config); err != nil {
		return nil, err
	}
	of := func(id int64) *chain.ClusterConfig {
		return &chain.ClusterConfig{FlowID: id, ThresholdType: chain.ThresholdGlobal}
	}
	flows := make([]flow.Rule, rules)
	for i := range flows {
		flows[i] = flow.Rule{
			Resource: fmt.Sprintf("resource-%d", i), Count: unlimited, ClusterMode: true, ClusterConfig: of(int64(i + 1)),
		}
	}
	if err := s.LoadFlow(namespace, flows).Err(); err != nil {
		return nil, err
	}
	position := 0
	param := hotspot.Rule{
		Resource: "resource", ParamIdx: &position, Count: unlimited, ClusterMode: true, ClusterConfig: of(1),
	}
	if err := s.LoadParam(namespace, []hotspot.Rule{param}).Err(); err != nil {
		return nil, err
	}
	return server.New(s).Listen(context.Background(), "127.0.0.1:0")
}

// listenFloor starts a server that answers each frame in the layout of a token server.
func listenFloor() (net.Addr, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go answer(c)
		}
	}()
	return ln.Addr(), nil
}

const bufferSize = 64 << 10

// answer answers the whole frames of each read in one write.
func answer(c net.Conn) {
	defer c.Close()
	in, out, filled := make([]byte, bufferSize), make([]byte, 0, bufferSize), 0
	for {
		n, err := c.Read(in[filled:])
		if err != nil {
			return
		}
		b := in[:filled+n]
		out = out[:0]
		for frame := cut(b); frame != nil; frame = cut(b) {
			b = b[lengthSize+len(frame):]
			out = appendGrant(out, frame)
		}
		filled = copy(in, b)
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

const (
	lengthSize = 2
	headerSize = 5 // id and type
)

// cut returns the first frame without its length, nil if it is not there in whole.
func cut(b []byte) []byte {
	if len(b) < lengthSize+headerSize {
		return nil
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < lengthSize+n || n < headerSize {
		return nil
	}
	return b[lengthSize : lengthSize+n]
}

// appendGrant appends the answer "granted", or "one is connected" to a ping.
func appendGrant(out, frame []byte) []byte {
	if wire.Type(frame[4]) == wire.TypePing {
		out = append(append(out, 0, 10), frame[:headerSize]...)
		return append(out, 0, 0, 0, 0, 1)
	}
	out = append(append(out, 0, 14), frame[:headerSize]...)
	return append(out, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}
