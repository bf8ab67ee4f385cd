package wire

import (
	"bytes"
	"encoding/binary"
)

// AppendRequest appends the frame of a request, its length included. It fails with ErrType, ErrTag or ErrTooLong.
func AppendRequest(dst []byte, r *Request) ([]byte, error) {
	start := len(dst)
	dst = appendHeader(dst, r.XID, r.Type)
	switch r.Type {
	case TypePing:
		if len(bytes.TrimSpace(r.Namespace)) > 0 {
			dst = appendText(dst, r.Namespace)
		}
	case TypeFlow:
		dst = appendUnits(dst, r.FlowID, r.Count)
		if !r.Short {
			dst = append(dst, boolByte(r.Prioritized))
		}
	case TypeParam:
		var err error
		dst = appendUnits(dst, r.FlowID, r.Count)
		if dst, err = appendValues(dst, r.Values); err != nil {
			return dst[:start], err
		}
	case TypeChallenge, TypeProve:
		dst = append(dst, r.Auth...)
	case TypeAcquire:
		dst = appendUnits(dst, r.FlowID, r.Count)
	case TypeRelease:
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.TokenID))
	case TypeRenew:
	default:
		return dst[:start], ErrType
	}
	return finish(dst, start)
}

// appendHeader leaves room for the length.
func appendHeader(dst []byte, xid int32, t Type) []byte {
	return append(dst, 0, 0, byte(xid>>24), byte(xid>>16), byte(xid>>8), byte(xid), byte(t))
}

func appendUnits(dst []byte, flowID int64, count int32) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(flowID))
	return binary.BigEndian.AppendUint32(dst, uint32(count))
}

func appendValues(dst []byte, values []Value) ([]byte, error) {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(values)))
	for i := range values {
		var err error
		if dst, err = appendValue(dst, &values[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Decode reads a request from the payload of one frame, which it may be given as [Splitter.Next] returned it. All
// members are set; Values is reused, and texts are parts of the payload. Bytes after the message are ignored. A type
// that is not known is no error: only XID and Type say anything then. Errors are *FormatError; if its Header is true,
// XID and Type are right.
func (r *Request) Decode(payload []byte) error {
	*r = Request{Values: r.Values[:0]}
	if len(payload) < headerSize {
		return errHeader
	}
	r.XID = int32(binary.BigEndian.Uint32(payload))
	r.Type = Type(payload[4])
	data := payload[headerSize:]
	switch r.Type {
	case TypePing:
		return r.decodePing(data)
	case TypeFlow:
		return r.decodeFlow(data)
	case TypeParam:
		return r.decodeParam(data)
	case TypeChallenge, TypeProve:
		r.Auth = data
	case TypeAcquire:
		return r.decodeUnits(data, errExtension)
	case TypeRelease:
		if len(data) < 8 {
			return errExtension
		}
		r.TokenID = int64(binary.BigEndian.Uint64(data))
	case TypeRenew:
	}
	return nil
}

func (r *Request) decodePing(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	text, _, ok := cutText(data)
	if !ok {
		return errNamespace
	}
	r.Namespace = text
	return nil
}

const unitsSize = 12 // flow id and count

func (r *Request) decodeUnits(data []byte, short *FormatError) error {
	if len(data) < unitsSize {
		return short
	}
	r.FlowID = int64(binary.BigEndian.Uint64(data))
	r.Count = int32(binary.BigEndian.Uint32(data[8:]))
	return nil
}

func (r *Request) decodeFlow(data []byte) error {
	if len(data) < unitsSize {
		return errUnits
	}
	r.FlowID = int64(binary.BigEndian.Uint64(data))
	r.Count = int32(binary.BigEndian.Uint32(data[8:]))
	r.Short = len(data) == unitsSize
	r.Prioritized = !r.Short && data[unitsSize] != 0
	return nil
}

func (r *Request) decodeParam(data []byte) error {
	if err := r.decodeUnits(data, errUnits); err != nil {
		return err
	}
	if len(data) < unitsSize+4 {
		return errAmount
	}
	amount := int32(binary.BigEndian.Uint32(data[unitsSize:]))
	if amount < 0 {
		return errAmount
	}
	data = data[unitsSize+4:]
	for range amount {
		v, rest, err := cutValue(data)
		if err != nil {
			r.Values = r.Values[:0]
			return err
		}
		r.Values, data = append(r.Values, v), rest
	}
	return nil
}
