package wire_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

type (
	order    struct{ id int64 }
	orders   struct{ ids []string }
	faulty   struct{}
	named    string
	shortInt int16
)

func (o *order) ParamKey() any { return o.id }
func (o orders) ParamKey() any { return o.ids }
func (faulty) ParamKey() any   { panic("no key") }

func text(s string) wire.Value { return wire.TextValue([]byte(s)) }

func TestArgumentTypes(t *testing.T) {
	t.Parallel()
	seven := int16(7)
	for _, c := range []struct {
		arg     chain.Arg
		want    []wire.Value
		dropped int
	}{
		{chain.Int("", math.MaxInt32), []wire.Value{wire.IntValue(math.MaxInt32)}, 0},
		{chain.Int("", math.MaxInt32+1), []wire.Value{wire.LongValue(math.MaxInt32 + 1)}, 0},
		{chain.Int("", math.MinInt32-1), []wire.Value{wire.LongValue(math.MinInt32 - 1)}, 0},
		{chain.Int64("", 5), []wire.Value{wire.LongValue(5)}, 0},
		{chain.Any("", int8(-5)), []wire.Value{wire.ByteValue(-5)}, 0},
		{chain.Any("", int16(-5)), []wire.Value{wire.ShortValue(-5)}, 0},
		{chain.Any("", int32(-5)), []wire.Value{wire.IntValue(-5)}, 0},
		{chain.Any("", uint8(200)), []wire.Value{wire.IntValue(200)}, 0},
		{chain.Any("", uint16(60000)), []wire.Value{wire.IntValue(60000)}, 0},
		{chain.Any("", uint32(math.MaxUint32)), []wire.Value{wire.LongValue(math.MaxUint32)}, 0},
		{chain.Any("", uint(5)), []wire.Value{wire.IntValue(5)}, 0},
		{chain.Uint64("", 5), []wire.Value{wire.LongValue(5)}, 0},
		{chain.Uint64("", math.MaxUint64), nil, 1},
		{chain.Any("", float32(0.1)), []wire.Value{wire.FloatValue(0.1)}, 0},
		{chain.Float64("", 0.1), []wire.Value{wire.DoubleValue(0.1)}, 0},
		{chain.Arg{}, nil, 0},
		{chain.Any("", []string{"a", "b"}), []wire.Value{text("a"), text("b")}, 0},
		{chain.Any("", []any{"a", nil, int8(1), uint64(math.MaxUint64), []int{1}}), []wire.Value{text("a"), wire.ByteValue(1)}, 2},
		{chain.Any("", [2]int64{1, 2}), []wire.Value{wire.LongValue(1), wire.LongValue(2)}, 0},
		{chain.Any("", [2]byte{1, 2}), nil, 1},
		{chain.Any("", []uint64{1, math.MaxUint64}), []wire.Value{wire.LongValue(1)}, 1},
		{chain.Any("", []bool{true}), []wire.Value{wire.BoolValue(true)}, 0},
		{chain.Any("", named("n")), []wire.Value{text("n")}, 0},
		{chain.Any("", shortInt(3)), []wire.Value{wire.ShortValue(3)}, 0},
		{chain.Any("", &seven), []wire.Value{wire.ShortValue(7)}, 0},
		{chain.Any("", (*int)(nil)), nil, 0},
		{chain.Any("", struct{ n int }{1}), nil, 1},
		{chain.Any("", func() {}), nil, 1},
		{chain.Any("", &order{7}), []wire.Value{wire.LongValue(7)}, 0},
		{chain.Any("", (*order)(nil)), nil, 0},
		{chain.Any("", orders{[]string{"x", "y"}}), []wire.Value{text("x"), text("y")}, 0},
		{chain.Any("", []*order{{1}, nil, {2}}), []wire.Value{wire.LongValue(1), wire.LongValue(2)}, 0},
		{chain.Any("", faulty{}), nil, 1},
		{chain.Any("", []any{faulty{}, "a"}), []wire.Value{text("a")}, 1},
	} {
		out, sent, dropped, err := wire.AppendParam([]byte("x"), 1, 202, 1, []chain.Arg{c.arg}, 0)
		if sent != len(c.want) || dropped != c.dropped {
			t.Errorf("%v: %d sent, %d dropped, want %d, %d", c.arg.Value(), sent, dropped, len(c.want), c.dropped)
		}
		if len(c.want) == 0 {
			if !errors.Is(err, wire.ErrNoValues) || string(out) != "x" {
				t.Errorf("%v: %q (%v)", c.arg.Value(), out, err)
			}
			continue
		}
		var r wire.Request
		if err := errors.Join(err, r.Decode(payload(t, out[1:]))); err != nil || !reflect.DeepEqual(r, param(1, c.want...)) {
			t.Errorf("%v: %+v (%v), want %+v", c.arg.Value(), r, err, c.want)
		}
	}
}

// The widest list of values makes a frame of exactly 1024 bytes.
func TestParamRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		room, sent, dropped int
		args                []chain.Arg
	}{
		{0, 1, 0, []chain.Arg{chain.String("", strings.Repeat("a", 996))}},
		{0, 0, 1, []chain.Arg{chain.String("", strings.Repeat("a", 997))}},
		{5000, 0, 1, []chain.Arg{chain.String("", strings.Repeat("a", 997))}},
		{0, 1, 2, []chain.Arg{chain.Int("", 1), chain.String("", strings.Repeat("a", 997)), chain.Int("", 2)}},
		{0, 1, 1, []chain.Arg{chain.Any("", struct{}{}), chain.Int("", 2)}},
		{10, 2, 1, []chain.Arg{chain.Int("", 1), chain.Int("", 2), chain.Bool("", true)}},
		{10, 1, 3, []chain.Arg{chain.Int("", 1), chain.Any("", []int64{1, 2}), chain.Bool("", true)}},
		{0, 500, 100, []chain.Arg{chain.Any("", make([]bool, 600))}},
	} {
		out, sent, dropped, err := wire.AppendParam(nil, 1, 202, 1, c.args, c.room)
		if sent != c.sent || dropped != c.dropped || len(out) > wire.MaxFrame || (err != nil) != (sent == 0) {
			t.Errorf("%d sent, %d dropped, %d bytes (%v); want %d, %d", sent, dropped, len(out), err, c.sent, c.dropped)
		}
	}
	out, _, _, err := wire.AppendParam(nil, 1, 202, 1, []chain.Arg{chain.String("", strings.Repeat("a", 996))}, 0)
	if len(out) != wire.MaxFrame || err != nil {
		t.Errorf("%d bytes (%v)", len(out), err)
	}
}

func FuzzAppendParam(f *testing.F) {
	f.Add("user", int64(7), 1.5, uint8(3), uint16(0))
	f.Add(strings.Repeat("x", 600), int64(math.MinInt64), math.NaN(), uint8(200), uint16(1000))
	f.Fuzz(func(t *testing.T, s string, n int64, x float64, repeat uint8, room uint16) {
		var args []chain.Arg
		for range repeat {
			args = append(args, chain.String("", s), chain.Int("", int(n)), chain.Int64("", n), chain.Float64("", x), chain.Any("", []byte(s)))
		}
		out, sent, dropped, err := wire.AppendParam(nil, 1, 2, 3, args, int(room))
		if len(out) > wire.MaxFrame || sent+dropped != int(repeat)*(4+len(s)) || (err != nil) != (sent == 0) {
			t.Fatalf("%d bytes, %d sent, %d dropped: %v", len(out), sent, dropped, err)
		}
		if sent == 0 {
			return
		}
		var r wire.Request
		if err := r.Decode(payload(t, out)); err != nil || len(r.Values) != sent {
			t.Fatalf("%d values, %d sent: %v", len(r.Values), sent, err)
		}
		if again, err := wire.AppendRequest(nil, &r); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("% x (%v), want % x", again, err, out)
		}
	})
}
