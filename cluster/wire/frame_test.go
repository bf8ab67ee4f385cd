package wire_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// sized returns a frame with n bytes of payload.
func sized(n int) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(n))
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

// collect shows a stream to a splitter in steps of a size, as a reader with a small buffer does.
func collect(t *testing.T, stream []byte, step int) (whole []int, oversized int) {
	t.Helper()
	var s wire.Splitter
	var buf []byte
	for len(stream) > 0 {
		n := min(step, len(stream))
		buf, stream = append(buf, stream[:n]...), stream[n:]
		for {
			payload, rest, kind := s.Next(buf)
			buf = rest
			if kind == wire.FramePartial {
				break
			}
			if kind == wire.FrameOversized {
				if len(payload) != 5 {
					t.Errorf("header of %d bytes", len(payload))
				}
				oversized++
				continue
			}
			if !bytes.Equal(payload, sized(len(payload))[2:]) {
				t.Errorf("payload % x", payload)
			}
			whole = append(whole, len(payload))
		}
		if len(buf) >= wire.MaxFrame {
			t.Fatalf("%d bytes kept", len(buf))
		}
	}
	if len(buf) != 0 || s.Skipping() {
		t.Errorf("%d bytes left, skipping %v", len(buf), s.Skipping())
	}
	return whole, oversized
}

func TestSplitter(t *testing.T) {
	t.Parallel()
	var stream []byte
	for _, n := range []int{5, 0, 0, wire.MaxPayload, wire.MaxPayload + 1, 1, 65535, 18, 0, 2000, 7} {
		stream = append(stream, sized(n)...)
	}
	for step := 1; step <= 3000; step += 1 + step/10 {
		whole, oversized := collect(t, stream, step)
		if oversized != 3 || len(whole) != 5 || whole[1] != wire.MaxPayload || whole[4] != 7 {
			t.Fatalf("step %d: %v, %d oversized", step, whole, oversized)
		}
	}
}

func FuzzSplitter(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 9, 4, 0}, uint16(3))
	f.Add(append(sized(1500), sized(3)...), uint16(100))
	f.Fuzz(func(t *testing.T, stream []byte, step uint16) {
		var all, parts wire.Splitter
		want := frames(t, &all, stream, len(stream)+1)
		if got := frames(t, &parts, stream, int(step)+1); !bytes.Equal(got, want) {
			t.Errorf("step %d: % x, want % x", step+1, got, want)
		}
	})
}

func frames(t *testing.T, s *wire.Splitter, stream []byte, step int) (seen []byte) {
	t.Helper()
	var buf []byte
	for len(stream) > 0 {
		n := min(step, len(stream))
		buf, stream = append(buf, stream[:n]...), stream[n:]
		for {
			payload, rest, kind := s.Next(buf)
			buf = rest
			if kind == wire.FramePartial {
				break
			}
			seen = append(append(seen, byte(kind), byte(len(payload)>>8), byte(len(payload))), payload...)
		}
	}
	return seen
}
