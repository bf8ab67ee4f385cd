package wire

import (
	"encoding/binary"
	"math"
	"reflect"

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
		p.add(&values[i])
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

func (p *params) add(a *chain.Arg) {
	switch a.Kind() {
	case chain.ArgString:
		p.text(a.Str())
	case chain.ArgInt:
		p.put(integer(a.Bits(), a.Width()))
	case chain.ArgFloat:
		p.put(float(math.Float64frombits(a.Bits()), a.Width()))
	case chain.ArgBool:
		p.put(Value{Tag: TagBool, Bits: a.Bits()})
	case chain.ArgUint:
		p.dropped++
	case chain.ArgAny:
		p.object(a.Value())
	case chain.ArgNil:
	default: // what the engine adds for rules of its own
	}
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

// keyer is an object that names the value that stands for it.
type keyer interface{ ParamKey() any }

// object adds a value that is no scalar: its key, its elements, or what it points to.
func (p *params) object(value any) {
	if k, ok := value.(keyer); ok && !isNil(reflect.ValueOf(value)) {
		if value, ok = askKey(k); !ok {
			p.dropped++
			return
		}
	}
	v := reflect.ValueOf(value)
	if !isCollection(v) {
		p.single(v)
		return
	}
	for i := range v.Len() {
		p.element(v.Index(i))
	}
}

// element adds a value of a collection, whose key is asked too.
func (p *params) element(v reflect.Value) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.IsValid() && v.Type().NumMethod() > 0 && !isNil(v) {
		if k, ok := reflect.TypeAssert[keyer](v); ok {
			value, ok := askKey(k)
			if !ok {
				p.dropped++
				return
			}
			v = reflect.ValueOf(value)
		}
	}
	p.single(v)
}

// single adds a value that is not taken apart.
func (p *params) single(v reflect.Value) {
	if !v.IsValid() || isNil(v) {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		p.text(v.String())
	case reflect.Bool:
		p.put(BoolValue(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		p.put(integer(uint64(v.Int()), widthOf(v.Kind())))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		p.unsigned(v.Uint(), v.Kind())
	case reflect.Float32, reflect.Float64:
		p.put(float(v.Float(), widthOf(v.Kind())))
	default:
		p.dropped++
	}
}

func (p *params) unsigned(n uint64, kind reflect.Kind) {
	if n > math.MaxInt64 {
		p.dropped++
		return
	}
	p.put(integer(n, widthOf(kind)))
}

// widthOf is the width that chain.Any gives a value of the kind.
func widthOf(kind reflect.Kind) chain.ArgWidth {
	switch kind {
	case reflect.Int8:
		return chain.Width8
	case reflect.Int16:
		return chain.Width16
	case reflect.Int32, reflect.Uint8, reflect.Uint16, reflect.Float32:
		return chain.Width32
	case reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64:
		return chain.Width64
	default:
		return chain.WidthNone
	}
}

// isCollection says whether a value stands for its elements. An array of bytes is an identifier.
func isCollection(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice:
		return true
	case reflect.Array:
		return v.Type().Elem().Kind() != reflect.Uint8
	default:
		return false
	}
}

func isNil(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		return v.IsNil()
	default:
		return false
	}
}

// askKey calls ParamKey, which is the user's code: ok is false if it panics.
func askKey(k keyer) (value any, ok bool) {
	defer func() {
		if recover() != nil {
			value, ok = nil, false
		}
	}()
	return k.ParamKey(), true
}
