package client_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
)

// echo is the least that answers as a token server: everything is granted.
func echo(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			go grant(nc)
		}
	}()
	return ln.Addr().String()
}

func grant(nc net.Conn) {
	defer nc.Close()
	in, out, filled := make([]byte, 64<<10), make([]byte, 0, 64<<10), 0
	for {
		n, err := nc.Read(in[filled:])
		if err != nil {
			return
		}
		filled += n
		b := in[:filled]
		out = out[:0]
		for len(b) >= 2 && len(b) >= 2+int(binary.BigEndian.Uint16(b)) {
			out = append(append(append(out, 0, 14), b[2:7]...), 0, 0, 0, 0, 1, 0, 0, 0, 0)
			b = b[2+int(binary.BigEndian.Uint16(b)):]
		}
		filled = copy(in, b)
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

func BenchmarkOneCaller(b *testing.B)         { benchmark(b, 1) }
func BenchmarkCallers(b *testing.B)           { benchmark(b, 64) }
func BenchmarkCallersCoalescing(b *testing.B) { benchmark(b, 64, client.WithCoalescing(0)) }
func BenchmarkCallersManyAtOnce(b *testing.B) { benchmark(b, 1000) }

// benchmark has callers that wait for each answer, all on one connection.
func benchmark(b *testing.B, callers int, opts ...client.Option) {
	c := usable(b, connect(b, echo(b), opts...))
	b.ReportAllocs()
	b.ResetTimer()
	start := time.Now()
	var wg sync.WaitGroup
	for i := range callers {
		n := b.N / callers
		if i < b.N%callers {
			n++
		}
		wg.Go(func() {
			for range n {
				if r := c.RequestToken(context.Background(), 103, 1, false); r.Err != nil {
					b.Error(r.Err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "requests/s")
	b.ReportMetric(float64(c.Status().Counters.Requests)/float64(b.N), "sent/op")
}
