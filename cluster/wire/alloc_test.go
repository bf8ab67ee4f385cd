//go:build !race

package wire_test

import (
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

func TestMessageAllocs(t *testing.T) { // not parallel: it counts allocations
	buf := make([]byte, 0, wire.MaxFrame)
	req := wire.Request{Values: make([]wire.Value, 0, 8)}
	var resp wire.Response
	for name, c := range requests {
		p, want := frame(t, c.bytes)[2:], c.want
		if n := alloctest.Count(func() {
			_ = req.Decode(p)
			_ = req.Decode(p[:4])
			_, _ = wire.AppendRequest(buf, &want)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	for name, c := range responses {
		p, want := frame(t, c.bytes)[2:], c.want
		if n := alloctest.Count(func() {
			_ = resp.Decode(p)
			_ = resp.Decode(p[:4])
			_, _ = wire.AppendResponse(buf, &want)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestParamAllocs(t *testing.T) { // not parallel: it counts allocations
	buf := make([]byte, 0, wire.MaxFrame)
	args := []chain.Arg{
		chain.String("", "user-1"), chain.Int("", 7), chain.Float64("", 1.5), chain.Bool("", true),
		chain.Any("", []string{"a", "b"}), chain.Any("", []int64{1000, 2000}), chain.Any("", []any{"a", 3000}),
		chain.Any("", struct{}{}),
	}
	if n := alloctest.Count(func() { _, _, _, _ = wire.AppendParam(buf, 1, 202, 1, args, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := alloctest.Count(func() { _, _, _, _ = wire.AppendParam(buf, 1, 202, 1, args[7:], 0) }); n != 0 {
		t.Errorf("nothing to send: %v allocations", n)
	}
}
