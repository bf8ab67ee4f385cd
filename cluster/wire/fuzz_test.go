package wire_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// What decodes, encodes; what was encoded, decodes to the same.
func FuzzRequest(f *testing.F) {
	for _, c := range requests {
		f.Add(frame(f, c.bytes)[2:])
	}
	f.Add(frame(f, "00000001 42 0000000000000065 00000001"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second wire.Request
		if first.Decode(data) != nil || len(data) > wire.MaxPayload {
			return
		}
		out, err := wire.AppendRequest(nil, &first)
		if err != nil {
			if first.Type <= wire.TypeParam {
				t.Fatalf("%+v: %v", first, err)
			}
			return
		}
		if err := second.Decode(payload(t, out)); err != nil {
			t.Fatal(err)
		}
		if again, err := wire.AppendRequest(nil, &second); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("% x (%v), want % x", again, err, out)
		}
	})
}

func FuzzResponse(f *testing.F) {
	for _, c := range responses {
		f.Add(frame(f, c.bytes)[2:])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second wire.Response
		if first.Decode(data) != nil || len(data) > wire.MaxPayload {
			return
		}
		out, err := wire.AppendResponse(nil, &first)
		if err != nil {
			t.Fatal(err)
		}
		if err := second.Decode(payload(t, out)); err != nil {
			t.Fatal(err)
		}
		if first.Connected >= 0 && !reflect.DeepEqual(first, second) {
			t.Fatalf("%+v, want %+v", second, first)
		}
	})
}
