package server_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// What Java's server answered to the same bytes.
func TestTranscript(t *testing.T) {
	t.Parallel()
	_, addr := start(t, newService(t))
	p := dial(t, addr)
	for _, c := range [][2]string{
		{"0012 00000001 01 0000000000000066 00000001 00", "000e 00000001 01 01 00000000 00000000"}, // nobody connected yet
		{"000d 00000000 00 00000004 61707041", "000a 00000000 00 00 00000001"},
		{"000d 00000000 00 00000004 61707041", "000a 00000000 00 00 00000001"},
		{"0012 00000001 01 0000000000000065 00000001 00", "000e 00000001 01 00 00000009 00000000"},
		{"0012 00000002 01 0000000000000065 00000009 00", "000e 00000002 01 00 00000000 00000000"},
		{"0012 00000003 01 0000000000000065 00000001 00", "000e 00000003 01 01 00000000 00000000"},
		{"0012 00000005 01 0000000000000066 00000001 00", "000e 00000005 01 00 00000004 00000000"},
		{"001a 0000000a 02 00000000000000ca 00000001 00000001 00 00000007", "000e 0000000a 02 00 00000001 00000000"},
		{"001a 0000000b 02 00000000000000ca 00000002 00000001 00 00000007", "000e 0000000b 02 01 00000000 00000000"},
		{"000d 00000009 00 00000004 61707041", "000a 00000009 00 00 00000001"},
	} {
		p.expect(c[0], c[1])
	}
}

// Each odd frame has an answer of its own, and the next request is understood.
func TestOddFrames(t *testing.T) {
	t.Parallel()
	_, addr := start(t, newService(t))
	p := dial(t, addr)
	for name, c := range map[string][2]string{
		"blank namespace":       {"0005 00000000 00", "0006 00000000 00 ff"},
		"namespace of spaces":   {"000b 00000000 00 00000002 2009", "0006 00000000 00 ff"},
		"no flow id":            {"0012 00000007 01 0000000000000000 00000001 00", "000e 00000007 01 fc 00000000 00000000"},
		"no units":              {"0012 00000007 01 0000000000000067 00000000 00", "000e 00000007 01 fc 00000000 00000000"},
		"no rule":               {"0012 00000006 01 0000000000000009 00000001 00", "000e 00000006 01 03 00000000 00000000"},
		"no values":             {"0015 00000007 02 00000000000000ca 00000001 00000000", "000e 00000007 02 fc 00000000 00000000"},
		"without priority":      {"0011 00000009 01 0000000000000009 00000001", "000e 00000009 01 03 00000000 00000000"},
		"two bytes behind":      {"0014 00000009 01 0000000000000009 00000001 00 0102", "000e 00000009 01 03 00000000 00000000"},
		"a request behind":      {"0024 00000009 01 0000000000000009 00000001 00 00000009 01 0000000000000009 00000001 00", "000e 00000009 01 03 00000000 00000000"},
		"short flow":            {"000d 00000009 01 0000000000000009", "000e 00000009 01 fc 00000000 00000000"},
		"unknown tag":           {"0017 00000009 02 00000000000000ca 00000001 00000001 0900", "000e 00000009 02 fc 00000000 00000000"},
		"namespace too long":    {"000d 00000009 00 000000ff 61707041", "0006 00000009 00 fc"},
		"reserved type":         {"0012 0000000c 03 0000000000000009 00000001 00", "0006 0000000c 03 ff"},
		"extension, unasked":    {"0011 0000000c 42 0000000000000009 00000001", "0006 0000000c 42 ff"},
		"header cut":            {"0004 0000000c", "0006 0000000c 00 ff"},
		"one byte":              {"0001 0c", "0006 00000000 00 ff"},
		"empty frames before":   {"0000 0000 0012 00000006 01 0000000000000009 00000001 00", "000e 00000006 01 03 00000000 00000000"},
		"extension, not a ping": {"0012 47530001 01 0000000000000009 00000001 00", "000e 47530001 01 03 00000000 00000000"},
	} {
		p.expect(c[0], c[1])
		if p.answers(); t.Failed() {
			t.Fatal(name)
		}
	}
}

// padded is a flow request in a frame of n bytes in all.
func padded(n int) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(n-2))
	b = append(b, 0, 0, 0, 8, 1, 0, 0, 0, 0, 0, 0, 0, 103, 0, 0, 0, 1, 0)
	return append(b, bytes.Repeat([]byte{1}, n-len(b))...)
}

func TestFrameSizes(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t))
	p := dial(t, addr)
	for n, want := range map[int]chain.TokenStatus{1024: chain.TokenOK, 1025: chain.TokenBadRequest, 65537: chain.TokenBadRequest} {
		var r wire.Response
		p.send(padded(n))
		if err := r.Decode(p.receive()[2:]); err != nil || r.XID != 8 || r.Type != wire.TypeFlow || r.Status != want {
			t.Errorf("%d bytes: %+v (%v)", n, r, err)
		}
		p.answers()
	}
	if st := s.Status(); st.Oversized != 2 || st.Malformed != 0 || st.Decisions["ok"] != 4 {
		t.Errorf("%+v", st)
	}
}

// Frames may come in any pieces.
func TestPieces(t *testing.T) {
	t.Parallel()
	_, addr := start(t, newService(t))
	p := dial(t, addr)
	for range 3 {
		for _, b := range padded(40) {
			p.send([]byte{b})
		}
		if got := p.receive(); got[7] != 0 {
			t.Errorf("% x", got)
		}
	}
	const many = 3000
	var all []byte
	for i := range many {
		r := unlimited(int32(i))
		all, _ = wire.AppendRequest(all, &r)
	}
	go p.send(all)
	for i := range many {
		var r wire.Response
		if err := r.Decode(p.receive()[2:]); err != nil || r.XID != int32(i) || r.Status != chain.TokenOK {
			t.Fatalf("answer %d: %+v (%v)", i, r, err)
		}
	}
}

func TestMalformedLimit(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t), server.WithMaxMalformed(3))
	p, other := dial(t, addr), dial(t, addr)
	for range 3 {
		p.expect("0004 0000000c", "0006 0000000c 00 ff")
	}
	p.answers()
	p.expect("0004 0000000c", "0006 0000000c 00 ff")
	p.ends()
	other.answers()
	eventually(t, "end counted", func() bool { return s.Status().Ended["malformed"] == 1 })
	if st := s.Status(); st.Malformed != 4 {
		t.Errorf("%+v", st)
	}
}

func TestConcurrencyTokens(t *testing.T) {
	t.Parallel()
	_, addr := start(t, newService(t))
	p := dial(t, addr)
	if r := p.ask(wire.Request{XID: wire.HelloXID, Namespace: []byte("appA")}); r.XID != wire.ReplyXID || r.Connected != 1 {
		t.Fatalf("%+v", r)
	}
	take := wire.Request{XID: 1, Type: wire.TypeAcquire, FlowID: 104, Count: 1}
	first, second, third := p.ask(take), p.ask(take), p.ask(take)
	if first.Status != chain.TokenOK || second.Status != chain.TokenOK || third.Status != chain.TokenBlocked || first.TokenID == second.TokenID {
		t.Fatalf("%+v %+v %+v", first, second, third)
	}
	if r := p.ask(wire.Request{XID: 2, Type: wire.TypeRenew}); r.Status != chain.TokenOK {
		t.Errorf("renew: %+v", r)
	}
	for _, want := range []chain.TokenStatus{chain.TokenReleased, chain.TokenAlreadyReleased} {
		if r := p.ask(wire.Request{XID: 3, Type: wire.TypeRelease, TokenID: first.TokenID}); r.Status != want {
			t.Errorf("release: %+v, want %v", r, want)
		}
	}
	if r := p.ask(take); r.Status != chain.TokenOK {
		t.Errorf("%+v", r)
	}
}

// Every frame that is not empty has one answer, in order, whatever is in it, and the connection stays in sync.
func FuzzServer(f *testing.F) {
	service := newService(f)
	_, addr := start(f, service, server.WithMaxMalformed(-1))
	f.Add([]byte("\x00\x00\x00\x01\x01 and more"), uint16(3))
	f.Add(padded(30)[2:], uint16(1200))
	f.Add(unhex(f, "4753000100000000046170704100000001 42 0000000000000068 00000001"), uint16(13))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		at := min(int(cut), len(data))
		p := dial(t, addr)
		defer p.Close()
		var out []byte
		var want int
		for _, part := range [][]byte{data[:at], data[at:]} {
			part = part[:min(len(part), 65535)]
			out = append(binary.BigEndian.AppendUint16(out, uint16(len(part))), part...)
			if len(part) > 0 {
				want++
			}
		}
		p.send(out)
		for range want {
			p.receive()
		}
		p.answers()
	})
}
