package interop_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"strings"
	"testing"
)

// oddFrame is a frame that no client should send, and what the servers do about it.
type oddFrame struct {
	name   string
	frame  []byte
	java   string // Java's answer in hexadecimal; "" for none
	inSync bool   // Java understands the next frame
	ours   string // our answer; ours always understands the next frame
}

func oddFrames() []oddFrame {
	longest := step{Param: 999, Count: 1, Values: []string{"string:" + strings.Repeat("x", 996)}}.message(1, 0)
	long := step{Param: 999, Count: 1, Values: []string{"string:" + strings.Repeat("x", 997)}}.message(1, 0)
	noRule := "000e 00000001 02 03 00000000 00000000"
	return []oddFrame{
		{"a frame of 1024 bytes", longest, noRule, true, noRule},
		{"a frame of 1025 bytes", long, "", true, "000e 00000001 02 fc 00000000 00000000"},
		{
			"a frame of 60002 bytes", append(unhex("ea60 00000001 01"), make([]byte, 59995)...), "", true,
			"000e 00000001 01 fc 00000000 00000000",
		},
		{"an empty frame", unhex("0000"), "", true, ""},
		{
			"no values", unhex("0015 00000001 02 00000000000003e7 00000001 00000000"), "", true,
			"000e 00000001 02 fc 00000000 00000000",
		},
		{
			"a type that only an extension has", unhex("0011 00000001 42 00000000000003e7 00000001"), "", false,
			"0006 00000001 42 ff",
		},
		{
			"a type reserved for concurrency tokens", unhex("0011 00000001 03 00000000000003e7 00000001"), "", false,
			"0006 00000001 03 ff",
		},
		{
			"two bytes too many", unhex("0014 00000001 01 00000000000003e7 00000001 00 0000"),
			"000e 00000001 01 03 00000000 00000000", false, "000e 00000001 01 03 00000000 00000000",
		},
		{"a ping that is longer than its frame", unhex("000b 00000001 00 000000ff 6170"), "", false, "0006 00000001 00 fc"},
	}
}

// exchangeOdd sends the frame and a ping, and returns what is answered to the frame and whether the ping is answered.
func (o oddFrame) exchange(t *testing.T, addr string) (got []byte, inSync bool) {
	t.Helper()
	c, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(append(bytes.Clone(o.frame), pingMessage(7, "odd")...)); err != nil {
		t.Fatal(err)
	}
	// What desynchronises Java leaves it waiting for bytes that never come: the connection's end makes it known.
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	for {
		frame, err := c.receive()
		if err != nil {
			return got, false
		}
		if len(frame) == 12 && binary.BigEndian.Uint32(frame[2:]) == 7 {
			return got, true
		}
		got = append(got, frame...)
	}
}
