package interop_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// The frames are written here by hand: what is tested must not be tested with itself.

const (
	typePing  = 0
	typeFlow  = 1
	typeParam = 2

	statusFail = -1
)

// answer is what a token server answers to a flow or parameter request.
type answer struct {
	Status    int `json:"status"`
	Remaining int `json:"remaining"`
	WaitMs    int `json:"waitMs"`
}

// conn is a connection that speaks raw frames.
type conn struct {
	net.Conn
	xid uint32
}

// dial connects to a token server.
func dial(addr string) (*conn, error) {
	c, err := net.DialTimeout("tcp", addr, answerDeadline)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

func message(xid uint32, kind byte, data ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(5+len(data)))
	b = binary.BigEndian.AppendUint32(b, xid)
	return append(append(b, kind), data...)
}

func pingMessage(xid uint32, namespace string) []byte {
	data := binary.BigEndian.AppendUint32(nil, uint32(len(namespace)))
	return message(xid, typePing, append(data, namespace...)...)
}

func (s step) message(xid uint32, base int64) []byte {
	if len(s.Values) == 0 {
		data := appendRequest(nil, s.Flow, base, s.Count)
		if s.Prioritized {
			return message(xid, typeFlow, append(data, 1)...)
		}
		return message(xid, typeFlow, append(data, 0)...)
	}
	data := appendRequest(nil, s.Param, base, s.Count)
	data = binary.BigEndian.AppendUint32(data, uint32(len(s.Values)))
	for _, v := range s.Values {
		data = appendValue(data, v)
	}
	return message(xid, typeParam, data...)
}

func appendRequest(data []byte, id, base int64, count int) []byte {
	data = binary.BigEndian.AppendUint64(data, uint64(flowID(id, base)))
	return binary.BigEndian.AppendUint32(data, uint32(int32(count)))
}

// appendValue encodes a value written as TYPE:VALUE.
func appendValue(data []byte, s string) []byte {
	kind, value, _ := strings.Cut(s, ":")
	be := binary.BigEndian
	switch kind {
	case "int":
		return be.AppendUint32(append(data, 0), uint32(number(value)))
	case "long":
		return be.AppendUint64(append(data, 1), uint64(number(value)))
	case "byte":
		return append(data, 2, byte(number(value)))
	case "double":
		return be.AppendUint64(append(data, 3), math.Float64bits(must(strconv.ParseFloat(value, 64))))
	case "float":
		return be.AppendUint32(append(data, 4), math.Float32bits(float32(must(strconv.ParseFloat(value, 32)))))
	case "short":
		return be.AppendUint16(append(data, 5), uint16(number(value)))
	case "bool":
		if value == "true" {
			return append(data, 6, 1)
		}
		return append(data, 6, 0)
	case "string":
		return append(be.AppendUint32(append(data, 7), uint32(len(value))), value...)
	}
	panic("unknown type of value: " + s)
}

func number(s string) int64 { return must(strconv.ParseInt(s, 10, 64)) }

// receive returns the next frame, with its length.
func (c *conn) receive() ([]byte, error) {
	if err := c.SetReadDeadline(time.Now().Add(answerDeadline)); err != nil {
		return nil, err
	}
	return readFrame(c)
}

func readFrame(r io.Reader) ([]byte, error) {
	frame := make([]byte, 2)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	frame = append(frame, make([]byte, binary.BigEndian.Uint16(frame))...)
	_, err := io.ReadFull(r, frame[2:])
	return frame, err
}

// exchange sends a frame and returns the next one received.
func (c *conn) exchange(frame []byte) ([]byte, error) {
	if _, err := c.Write(frame); err != nil {
		return nil, err
	}
	return c.receive()
}

// join pings and returns how many connections the namespace has.
func (c *conn) join(namespace string) (int, error) {
	got, err := c.exchange(pingMessage(0, namespace))
	if err != nil {
		return 0, err
	}
	if len(got) != 12 || got[7] != 0 {
		return 0, fmt.Errorf("the answer to a ping is %x", got)
	}
	return int(binary.BigEndian.Uint32(got[8:])), nil
}

func (c *conn) ask(s step, base int64) (answer, error) {
	c.xid++
	got, err := c.exchange(s.message(c.xid, base))
	if err != nil {
		return answer{}, err
	}
	if len(got) != 16 || binary.BigEndian.Uint32(got[2:]) != c.xid {
		return answer{}, fmt.Errorf("the answer to request %d is %x", c.xid, got)
	}
	return answer{
		Status:    int(int8(got[7])),
		Remaining: int(int32(binary.BigEndian.Uint32(got[8:]))),
		WaitMs:    int(int32(binary.BigEndian.Uint32(got[12:]))),
	}, nil
}

// unhex reads bytes in hexadecimal, with blanks anywhere.
func unhex(s string) []byte { return must(hex.DecodeString(strings.Join(strings.Fields(s), ""))) }

// must is for what only a mistake in the tests can break.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
