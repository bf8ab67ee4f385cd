package server_test

import (
	"io"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// One connection with 64 requests in flight, over loopback; the client's part is in the figure.
func BenchmarkFlow(b *testing.B) { benchmark(b, unlimited(1)) }

func BenchmarkParam(b *testing.B) {
	benchmark(b, wire.Request{XID: 1, Type: wire.TypeParam, FlowID: 203, Count: 1, Values: []wire.Value{wire.TextValue([]byte("user-1"))}})
}

func benchmark(b *testing.B, r wire.Request) {
	const inFlight = 64
	_, addr := start(b, newService(b))
	p := dial(b, addr)
	var batch []byte
	for range inFlight {
		batch, _ = wire.AppendRequest(batch, &r)
	}
	answers := make([]byte, inFlight*16)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%inFlight != 0 {
			continue
		}
		p.send(batch)
		if _, err := io.ReadFull(p.Conn, answers); err != nil {
			b.Fatal(err)
		}
	}
}
