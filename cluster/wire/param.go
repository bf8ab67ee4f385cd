package wire

import (
	"encoding/binary"
	"math"

	"github.com/tidegate-go/tidegate/chain"
)

// AppendParam appends the frame of a parameter request for the arguments of a call; the package comment says which
// value an argument becomes. At most room bytes of values are sent, MaxParams if room is 0 or above it: as in Java's
// client the first value that does not fit ends the list, whatever follows it. Values that cannot be sent are passed
// over. Both are counted in dropped, except nil, which is no value. If nothing is sent, dst is returned as it was, with
// ErrNoValues: the call is a bad request then. It allocates nothing, unless a ParamKey does.
func AppendParam(dst []byte, xid int32, flowID int64, count int32, values []chain.Arg, room int) (frame []byte, sent, dropped int, err error) {
	if room <= 0 || room > MaxParams {
		room = MaxParams
	}
	start := len(dst)
	dst = appendUnits(appendHeader(dst, xid, TypeParam), flowID, count)
	at := len(dst)
	p := params{dst: append(dst, 0, 0, 0, 0), room: room}
	for i := range values {
		p.dropped += values[i].Each(p.add)
	}
	if p.sent == 0 {
		return p.dst[:start], 0, p.dropped, ErrNoValues
	}
	binary.BigEndian.PutUint32(p.dst[at:], uint32(p.sent))
	frame, err = finish(p.dst, start)
	return frame, p.sent, p.dropped, err
}

// params appends values while there is room.
type params struct {
	dst           []byte
	room          int
	full          bool
	sent, dropped int
}

// add appends one value, and is ready for the next one.
func (p *params) add(a chain.Arg) bool {
	switch a.Kind() {
	case chain.ArgString:
		p.text(a.Str())
	case chain.ArgInt:
		p.put(integer(a.Bits(), a.Width()))
	case chain.ArgFloat:
		p.put(float(math.Float64frombits(a.Bits()), a.Width()))
	case chain.ArgBool:
		p.put(Value{Tag: TagBool, Bits: a.Bits()})
	default: // an object, or a number above all that can be sent
		p.dropped++
	}
	return true
}

// take says whether n more bytes fit.
func (p *params) take(n int) bool {
	if p.full || n > p.room {
		p.full = true
		p.dropped++
		return false
	}
	p.room -= n
	p.sent++
	return true
}

func (p *params) put(v Value) {
	if p.take(v.Size()) {
		p.dst, _ = appendValue(p.dst, &v) // the tag is one of ours
	}
}

func (p *params) text(s string) {
	if p.take(1 + 4 + len(s)) {
		p.dst = appendText(append(p.dst, byte(TagString)), s)
	}
}

func integer(bits uint64, width chain.ArgWidth) Value {
	v := Value{Tag: TagLong, Bits: bits}
	switch width {
	case chain.Width8:
		v.Tag = TagByte
	case chain.Width16:
		v.Tag = TagShort
	case chain.Width32:
		v.Tag = TagInt
	case chain.WidthNone:
		if n := int64(bits); n == int64(int32(n)) {
			v.Tag = TagInt
		}
	case chain.Width64:
	}
	return v
}

func float(f float64, width chain.ArgWidth) Value {
	if width == chain.Width32 {
		return FloatValue(float32(f))
	}
	return DoubleValue(f)
}
