package client_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// FuzzAnswers proves that whatever a server sends, every call ends within its timeout.
func FuzzAnswers(f *testing.F) {
	ok, _ := wire.AppendResponse(nil, &wire.Response{XID: 1, Type: wire.TypeFlow, Remaining: 9})
	f.Add(ok, false)
	f.Add(append(append([]byte{}, ok...), ok...), true)
	f.Add([]byte{0, 6, 0, 0, 0, 1, 1, 1}, true)
	f.Add([]byte{0, 6, 0, 0, 0, 1, 66, 0}, false)
	f.Add([]byte{0, 0, 0, 3, 1, 2, 3, 0xff, 0xff, 0, 0, 0, 1, 1}, false)
	f.Fuzz(func(t *testing.T, answer []byte, coalesce bool) {
		synctest.Test(t, func(t *testing.T) {
			dialer := func(context.Context, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go babble(theirs, answer)
				return ours, nil
			}
			opts := []client.Option{client.WithServer("a:1"), client.WithDialer(dialer)}
			if coalesce {
				opts = append(opts, client.WithCoalescing(0))
			}
			c := client.New(opts...)
			c.Start()
			_ = c.Ready(t.Context())
			start := time.Now()
			done := make(chan chain.TokenResult)
			for i := range int64(8) {
				go func() { done <- c.RequestToken(context.Background(), 1, 1+i%2, false) }()
			}
			for range 8 {
				<-done
			}
			if took := time.Since(start); took > 21*time.Millisecond {
				t.Errorf("took %v", took)
			}
			c.AcquireConcurrent(context.Background(), 1, 1)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	})
}

// babble answers the first ping, and everything after it with the same bytes.
func babble(nc net.Conn, answer []byte) {
	defer nc.Close()
	in := make([]byte, 4096)
	hello, _ := wire.AppendResponse(nil, &wire.Response{XID: wire.ReplyXID})
	for out := hello; ; out = answer {
		if _, err := nc.Read(in); err != nil {
			return
		}
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}
