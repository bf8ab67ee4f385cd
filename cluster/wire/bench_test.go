package wire_test

import (
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

func BenchmarkDecodeFlow(b *testing.B)  { benchmarkDecode(b, "R4 flow") }
func BenchmarkDecodeParam(b *testing.B) { benchmarkDecode(b, "R9 string") }

func benchmarkDecode(b *testing.B, name string) {
	b.ReportAllocs()
	stream := frame(b, requests[name].bytes)
	r := wire.Request{Values: make([]wire.Value, 0, 8)}
	var s wire.Splitter
	for b.Loop() {
		p, _, _ := s.Next(stream)
		if err := r.Decode(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeFlow(b *testing.B) {
	b.ReportAllocs()
	r, buf := requests["R4 flow"].want, make([]byte, 0, wire.MaxFrame)
	for b.Loop() {
		if _, err := wire.AppendRequest(buf, &r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeParam(b *testing.B) {
	b.ReportAllocs()
	args, buf := []chain.Arg{chain.String("", "user-1")}, make([]byte, 0, wire.MaxFrame)
	for b.Loop() {
		if _, _, _, err := wire.AppendParam(buf, 1, 202, 1, args, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeResponse(b *testing.B) {
	b.ReportAllocs()
	r, buf := responses["S4 ok"].want, make([]byte, 0, wire.MaxFrame)
	for b.Loop() {
		if _, err := wire.AppendResponse(buf, &r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeResponse(b *testing.B) {
	b.ReportAllocs()
	p := frame(b, responses["S4 ok"].bytes)[2:]
	var r wire.Response
	for b.Loop() {
		if err := r.Decode(p); err != nil {
			b.Fatal(err)
		}
	}
}
