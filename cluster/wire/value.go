package wire

import (
	"encoding/binary"
	"math"
)

// size returns the bytes of a tag's value, 0 for one that brings its own length.
func (t Tag) size() int {
	switch t {
	case TagByte, TagBool:
		return 1
	case TagShort:
		return 2
	case TagInt, TagFloat:
		return 4
	case TagLong, TagDouble:
		return 8
	case TagString:
	}
	return 0
}

// Size returns how many bytes the value takes in a message, its tag included.
func (v *Value) Size() int {
	if v.Tag == TagString {
		return 1 + 4 + len(v.Text)
	}
	return 1 + v.Tag.size()
}

// IntValue returns the value of an int as the JVM knows it.
func IntValue(v int32) Value { return Value{Tag: TagInt, Bits: uint64(int64(v))} }

// LongValue returns the value of a long.
func LongValue(v int64) Value { return Value{Tag: TagLong, Bits: uint64(v)} }

// ByteValue returns the value of a byte, which Java has with a sign.
func ByteValue(v int8) Value { return Value{Tag: TagByte, Bits: uint64(int64(v))} }

// ShortValue returns the value of a short.
func ShortValue(v int16) Value { return Value{Tag: TagShort, Bits: uint64(int64(v))} }

// DoubleValue returns the value of a double.
func DoubleValue(v float64) Value { return Value{Tag: TagDouble, Bits: math.Float64bits(v)} }

// FloatValue returns the value of a float.
func FloatValue(v float32) Value { return Value{Tag: TagFloat, Bits: uint64(math.Float32bits(v))} }

// BoolValue returns the value of a boolean.
func BoolValue(v bool) Value { return Value{Tag: TagBool, Bits: uint64(boolByte(v))} }

// TextValue returns the value of a string, which should be UTF-8.
func TextValue(v []byte) Value { return Value{Tag: TagString, Text: v} }

func appendValue(dst []byte, v *Value) ([]byte, error) {
	dst = append(dst, byte(v.Tag))
	switch v.Tag {
	case TagInt, TagFloat:
		return binary.BigEndian.AppendUint32(dst, uint32(v.Bits)), nil
	case TagLong, TagDouble:
		return binary.BigEndian.AppendUint64(dst, v.Bits), nil
	case TagByte, TagBool:
		return append(dst, byte(v.Bits)), nil
	case TagShort:
		return binary.BigEndian.AppendUint16(dst, uint16(v.Bits)), nil
	case TagString:
		return appendText(dst, v.Text), nil
	}
	return dst, ErrTag
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(text)))
	return append(dst, text...)
}

// cutValue reads the first value and returns what follows it.
func cutValue(data []byte) (v Value, rest []byte, err error) {
	if len(data) == 0 {
		return v, nil, errValue
	}
	v.Tag, data = Tag(data[0]), data[1:]
	if v.Tag == TagString {
		var ok bool
		if v.Text, rest, ok = cutText(data); !ok {
			return v, nil, errValue
		}
		return v, rest, nil
	}
	n := v.Tag.size()
	switch {
	case n == 0:
		return v, nil, errTag
	case len(data) < n:
		return v, nil, errValue
	}
	v.Bits = v.Tag.bits(data)
	return v, data[n:], nil
}

// bits reads a value of the tag's size.
func (t Tag) bits(data []byte) uint64 {
	switch t {
	case TagInt:
		return uint64(int64(int32(binary.BigEndian.Uint32(data))))
	case TagFloat:
		return uint64(binary.BigEndian.Uint32(data))
	case TagLong, TagDouble:
		return binary.BigEndian.Uint64(data)
	case TagByte:
		return uint64(int64(int8(data[0])))
	case TagShort:
		return uint64(int64(int16(binary.BigEndian.Uint16(data))))
	case TagBool:
		if data[0] != 0 {
			return 1
		}
	case TagString:
	}
	return 0
}

// cutText reads a length and so many bytes.
func cutText(data []byte) (text, rest []byte, ok bool) {
	if len(data) < 4 {
		return nil, nil, false
	}
	n := int64(int32(binary.BigEndian.Uint32(data)))
	if data = data[4:]; n < 0 || n > int64(len(data)) {
		return nil, nil, false
	}
	return data[:n], data[n:], true
}

// Clamp returns v as an int32, or the nearest one.
func Clamp(v int64) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, v))) }

// ClampFloat returns v without its fraction as an int32, or the nearest one; 0 for NaN.
func ClampFloat(v float64) int32 {
	switch {
	case v != v:
		return 0
	case v >= math.MaxInt32:
		return math.MaxInt32
	case v <= math.MinInt32:
		return math.MinInt32
	}
	return int32(v)
}
