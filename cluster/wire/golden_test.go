package wire_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// frame reads the notation of the examples: hexadecimal digits, with bars and spaces between fields.
func frame(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.NewReplacer(" ", "", "|", "").Replace(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// requests are frames as Java's writers made them.
var requests = map[string]struct {
	bytes string
	want  wire.Request
}{
	"R1 ping":            {"000d | 00000000 | 00 | 00000004 | 61707041", wire.Request{Namespace: []byte("appA")}},
	"R2 blank namespace": {"0005 | 00000000 | 00", wire.Request{}},
	"R3 UTF-8":           {"000f | 00000000 | 00 | 00000006 | e8aea2e58d95", wire.Request{Namespace: []byte("订单")}},
	"R4 flow":            {"0012 | 00000001 | 01 | 0000000000000065 | 00000001 | 00", wire.Request{XID: 1, Type: wire.TypeFlow, FlowID: 101, Count: 1}},
	"R5 prioritized": {
		"0012 | 00000002 | 01 | 0000001cbe991a14 | 00000005 | 01",
		wire.Request{XID: 2, Type: wire.TypeFlow, FlowID: 123456789012, Count: 5, Prioritized: true},
	},
	"R6 highest": {
		"0012 | 3b9ac9ff | 01 | 00000000fffffffe | 7fffffff | 00",
		wire.Request{XID: wire.MaxXID, Type: wire.TypeFlow, FlowID: 4294967294, Count: math.MaxInt32},
	},
	"R7 short": {"0011 | 00000009 | 01 | 0000000000000066 | 00000001", wire.Request{XID: 9, Type: wire.TypeFlow, FlowID: 102, Count: 1, Short: true}},
	"R8 int":   {"001a | 00000003 | 02 | 00000000000000ca | 00000001 | 00000001 | 00 00000007", param(3, wire.IntValue(7))},
	"R9 string": {
		"0020 | 00000004 | 02 | 00000000000000ca | 00000001 | 00000001 | 07 00000006 757365722d31",
		param(4, wire.TextValue([]byte("user-1"))),
	},
	"R10 three": {
		"0023 | 00000005 | 02 | 00000000000000ca | 00000001 | 00000003 | 00 ffffffff | 06 01 | 07 00000002 6162",
		param(5, wire.IntValue(-1), wire.BoolValue(true), wire.TextValue([]byte("ab"))),
	},
	"R11 every tag": {
		"003f | 00000006 | 02 | 00000000000000ca | 00000001 | 00000008 | 00 00000001 | 01 0000000000000002 | 02 03 |" +
			"03 4012000000000000 | 04 3fc00000 | 05 0006 | 06 00 | 07 00000002 c3a9",
		param(6, wire.IntValue(1), wire.LongValue(2), wire.ByteValue(3), wire.DoubleValue(4.5), wire.FloatValue(1.5),
			wire.ShortValue(6), wire.BoolValue(false), wire.TextValue([]byte("é"))),
	},
	"R12 no values": {"0015 | 00000007 | 02 | 00000000000000ca | 00000001 | 00000000", param(7)},
	"R13 one left":  {"001a | 00000008 | 02 | 00000000000000ca | 00000001 | 00000001 | 00 00000009", param(8, wire.IntValue(9))},
}

func param(xid int32, values ...wire.Value) wire.Request {
	return wire.Request{XID: xid, Type: wire.TypeParam, FlowID: 202, Count: 1, Values: values}
}

// responses are frames as Java's server sent them.
var responses = map[string]struct {
	bytes string
	want  wire.Response
}{
	"S1 ping":             {"000a | 00000000 | 00 | 00 | 00000003", wire.Response{Connected: 3}},
	"S2 ping refused":     {"0006 | 00000000 | 00 | ff", wire.Response{Status: chain.TokenFail}},
	"S3 ping before 1.7":  {"0007 | 00000000 | 00 | 00 | 03", wire.Response{Connected: 3, Short: true}},
	"S4 ok":               {"000e | 00000001 | 01 | 00 | 00000009 | 00000000", wire.Response{XID: 1, Type: wire.TypeFlow, Remaining: 9}},
	"S5 blocked":          {"000e | 00000003 | 01 | 01 | 00000000 | 00000000", wire.Response{XID: 3, Type: wire.TypeFlow, Status: chain.TokenBlocked}},
	"S6 should wait":      {"000e | 00000002 | 01 | 02 | 00000000 | 00000064", wire.Response{XID: 2, Type: wire.TypeFlow, Status: chain.TokenShouldWait, WaitMs: 100}},
	"S7 no rule":          {"000e | 00000006 | 01 | 03 | 00000000 | 00000000", wire.Response{XID: 6, Type: wire.TypeFlow, Status: chain.TokenNoRule}},
	"S8 fail":             {"000e | 00000002 | 01 | ff | 00000000 | 00000000", wire.Response{XID: 2, Type: wire.TypeFlow, Status: chain.TokenFail}},
	"S9 too many":         {"000e | 00000043 | 01 | fe | 00000000 | 00000000", wire.Response{XID: 0x43, Type: wire.TypeFlow, Status: chain.TokenTooManyRequest}},
	"S10 bad request":     {"000e | 00000007 | 01 | fc | 00000000 | 00000000", wire.Response{XID: 7, Type: wire.TypeFlow, Status: chain.TokenBadRequest}},
	"S11 param ok":        {"000e | 0000000a | 02 | 00 | 00000001 | 00000000", wire.Response{XID: 10, Type: wire.TypeParam, Remaining: 1}},
	"S12 several values":  {"000e | 0000000c | 02 | 00 | ffffffff | 00000000", wire.Response{XID: 12, Type: wire.TypeParam, Remaining: -1}},
	"S13 param blocked":   {"000e | 0000000b | 02 | 01 | 00000000 | 00000000", wire.Response{XID: 11, Type: wire.TypeParam, Status: chain.TokenBlocked}},
	"S14 type of no kind": {"0006 | 0000000c | 03 | ff", wire.Response{XID: 12, Type: 3, Status: chain.TokenFail}},
}

func TestRequestExamples(t *testing.T) {
	t.Parallel()
	for name, c := range requests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := frame(t, c.bytes)
			var got wire.Request
			if err := got.Decode(payload(t, b)); err != nil {
				t.Fatal(err)
			}
			if got.Values == nil {
				got.Values = c.want.Values[:0]
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("decoded %+v, want %+v", got, c.want)
			}
			if out, err := wire.AppendRequest([]byte("head"), &c.want); err != nil || !bytes.Equal(out, append([]byte("head"), b...)) {
				t.Errorf("encoded % x (%v), want % x", out, err, b)
			}
		})
	}
}

func TestResponseExamples(t *testing.T) {
	t.Parallel()
	for name, c := range responses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := frame(t, c.bytes)
			var got wire.Response
			if err := got.Decode(payload(t, b)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("decoded %+v, want %+v", got, c.want)
			}
			if out, err := wire.AppendResponse([]byte("head"), &c.want); err != nil || !bytes.Equal(out, append([]byte("head"), b...)) {
				t.Errorf("encoded % x (%v), want % x", out, err, b)
			}
		})
	}
}

func payload(t testing.TB, frame []byte) []byte {
	t.Helper()
	var s wire.Splitter
	p, rest, kind := s.Next(frame)
	if kind != wire.FrameWhole || len(rest) != 0 {
		t.Fatalf("kind %d, %d bytes left", kind, len(rest))
	}
	return p
}

// The arguments of a Java call and the same of a Go call are the same bytes.
func TestParamExamples(t *testing.T) {
	t.Parallel()
	type decimal struct{ n int }
	for name, c := range map[string][]chain.Arg{
		"R8 int":       {chain.Int("n", 7)},
		"R9 string":    {chain.String("", "user-1")},
		"R10 three":    {chain.Int("", -1), chain.Bool("", true), chain.String("", "ab")},
		"R13 one left": {chain.Any("", decimal{1}), chain.Int("", 9), chain.Any("", map[string]int{})},
		"R11 every tag": {
			chain.Any("", int32(1)), chain.Int64("", 2), chain.Any("", int8(3)), chain.Float64("", 4.5),
			chain.Any("", float32(1.5)), chain.Any("", int16(6)), chain.Bool("", false), chain.String("", "é"),
		},
	} {
		want := requests[name]
		out, sent, dropped, err := wire.AppendParam(nil, want.want.XID, 202, 1, c, 0)
		if err != nil || !bytes.Equal(out, frame(t, want.bytes)) || sent != len(want.want.Values) || sent+dropped != len(c) {
			t.Errorf("%s: % x, %d sent, %d dropped (%v)", name, out, sent, dropped, err)
		}
	}
}

// The short way reads what the long way reads, and nothing else.
func TestCutFlow(t *testing.T) {
	t.Parallel()
	for name, c := range requests {
		b := frame(t, c.bytes)
		xid, id, count, prioritized, ok := wire.CutFlow(append(b, 1, 2, 3))
		if usual := c.want.Type == wire.TypeFlow && !c.want.Short; ok != usual {
			t.Errorf("%s: %v", name, ok)
		}
		got := wire.Request{XID: xid, Type: wire.TypeFlow, FlowID: id, Count: count, Prioritized: prioritized}
		if ok && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
		if _, _, _, _, ok := wire.CutFlow(b[:len(b)-1]); ok {
			t.Errorf("%s: taken without its last byte", name)
		}
	}
}
