package wire_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload string
		header  bool
	}{
		"empty":                  {"", false},
		"short header":           {"00000001", false},
		"flow without data":      {"00000001 01", true},
		"flow of 11 bytes":       {"00000001 01 0000000000000065 000000", true},
		"ping beyond the frame":  {"00000001 00 00000005 61707041", true},
		"ping of negative size":  {"00000001 00 ffffffff 61707041", true},
		"ping with half a size":  {"00000001 00 0000", true},
		"param without amount":   {"00000001 02 0000000000000065 00000001", true},
		"param, negative amount": {"00000001 02 0000000000000065 00000001 ffffffff", true},
		"param, amount too high": {"00000001 02 0000000000000065 00000001 00000002 06 01", true},
		"param, huge amount":     {"00000001 02 0000000000000065 00000001 7fffffff 06 01", true},
		"param, unknown tag":     {"00000001 02 0000000000000065 00000001 00000001 08 01", true},
		"param, half a long":     {"00000001 02 0000000000000065 00000001 00000001 01 00000000", true},
		"param, long text":       {"00000001 02 0000000000000065 00000001 00000001 07 00000003 6161", true},
		"param, negative text":   {"00000001 02 0000000000000065 00000001 00000001 07 80000000 6161", true},
		"acquire":                {"00000001 42 0000000000000065", true},
		"release":                {"00000001 43 00000000", true},
	} {
		r := wire.Request{Values: make([]wire.Value, 3)}
		err := r.Decode(frame(t, c.payload))
		var format *wire.FormatError
		if !errors.As(err, &format) || format.Header != c.header || !strings.Contains(err.Error(), "malformed") {
			t.Errorf("%s: %v", name, err)
		}
		if len(r.Values) != 0 {
			t.Errorf("%s: %d values of a message before", name, len(r.Values))
		}
		if c.header && r.XID != 1 {
			t.Errorf("%s: xid %d", name, r.XID)
		}
	}
}

func TestMalformedResponses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "0000000100", "00000001 42 00 00000000"} {
		var r wire.Response
		var format *wire.FormatError
		if err := r.Decode(frame(t, text)); !errors.As(err, &format) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOddResponses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.Response{
		"00000000 00 00 0003":                  {Connected: -1},
		"00000000 00 00":                       {Connected: -1},
		"00000000 00 00 00000003 ff":           {Connected: 3},
		"00000001 01 00 00000009":              {XID: 1, Type: 1}, // as Java's client reads it
		"00000001 01 01":                       {XID: 1, Type: 1, Status: 1},
		"00000001 01 00 00000009 000000 00 00": {XID: 1, Type: 1},
		"00000001 42 ff":                       {XID: 1, Type: wire.TypeAcquire, Status: -1},
	} {
		var got wire.Response
		if err := got.Decode(frame(t, text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v (%v), want %+v", text, got, err, want)
		}
	}
}

// Bytes after a message are no part of it, nor of the next.
func TestTrailingBytes(t *testing.T) {
	t.Parallel()
	for name, c := range requests {
		var got, want wire.Request
		p := frame(t, c.bytes)[2:]
		if c.want.Short || len(p) == 5 { // more bytes say something here
			continue
		}
		if err := want.Decode(p); err != nil {
			t.Fatal(name, err)
		}
		if err := got.Decode(append(slices.Clip(p), 0, 0, 0, 9, 1)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v (%v)", name, got, err)
		}
	}
}

func TestExtension(t *testing.T) {
	t.Parallel()
	nonce := bytes.Repeat([]byte{7}, 32)
	for _, want := range []wire.Request{
		{XID: 1, Type: wire.TypeChallenge, Auth: nonce},
		{XID: 2, Type: wire.TypeProve, Auth: nonce},
		{XID: 3, Type: wire.TypeAcquire, FlowID: math.MinInt64, Count: -1},
		{XID: 4, Type: wire.TypeRelease, TokenID: -5},
		{XID: 5, Type: wire.TypeRenew},
	} {
		var got wire.Request
		b, err := wire.AppendRequest(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Decode(payload(t, b)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v (%v), want %+v", got, err, want)
		}
	}
	for _, want := range []wire.Response{
		{XID: 1, Type: wire.TypeChallenge, Auth: append(nonce, nonce...)},
		{XID: 2, Type: wire.TypeProve, Status: chain.TokenFail},
		{XID: 3, Type: wire.TypeAcquire, TokenID: -9, Remaining: 4},
		{XID: 4, Type: wire.TypeRelease, Status: chain.TokenAlreadyReleased},
		{XID: 5, Type: wire.TypeRenew},
	} {
		var got wire.Response
		b, err := wire.AppendResponse(nil, &want)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Decode(payload(t, b)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v (%v), want %+v", got, err, want)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    wire.Request
		want error
	}{
		{wire.Request{Type: 3}, wire.ErrType},
		{wire.Request{Namespace: bytes.Repeat([]byte("n"), wire.MaxPayload-8)}, wire.ErrTooLong},
		{param(1, wire.TextValue(make([]byte, 997))), wire.ErrTooLong},
		{param(1, wire.Value{Tag: 8}), wire.ErrTag},
	} {
		if out, err := wire.AppendRequest([]byte("x"), &c.r); !errors.Is(err, c.want) || string(out) != "x" {
			t.Errorf("%v, %d bytes; want %v", err, len(out), c.want)
		}
	}
	r := wire.Response{Type: wire.TypeChallenge, Auth: make([]byte, 1020)}
	if out, err := wire.AppendResponse([]byte("x"), &r); !errors.Is(err, wire.ErrTooLong) || string(out) != "x" {
		t.Errorf("%v, %d bytes", err, len(out))
	}
	blank := wire.Request{Namespace: []byte(" \t")}
	if out, err := wire.AppendRequest(nil, &blank); err != nil || len(out) != 7 {
		t.Errorf("blank namespace: % x (%v)", out, err)
	}
}

func TestClamp(t *testing.T) {
	t.Parallel()
	for v, want := range map[int64]int32{0: 0, -1: -1, math.MaxInt64: math.MaxInt32, math.MinInt64: math.MinInt32, 1 << 31: math.MaxInt32} {
		if got := wire.Clamp(v); got != want {
			t.Errorf("%d: %d, want %d", v, got, want)
		}
	}
	for v, want := range map[float64]int32{
		1.9: 1, -1.9: -1, 1e300: math.MaxInt32, -1e300: math.MinInt32, math.Inf(1): math.MaxInt32, math.Inf(-1): math.MinInt32,
	} {
		if got := wire.ClampFloat(v); got != want {
			t.Errorf("%g: %d, want %d", v, got, want)
		}
	}
	if got := wire.ClampFloat(math.NaN()); got != 0 {
		t.Errorf("NaN: %d", got)
	}
}
