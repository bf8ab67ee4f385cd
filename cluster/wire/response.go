package wire

import (
	"encoding/binary"

	"github.com/tidegate-go/tidegate/chain"
)

// AppendResponse appends the frame of a response, its length included. Types without data of their own, also unknown
// ones, are header and status only. It fails with ErrTooLong if Auth does not fit.
func AppendResponse(dst []byte, r *Response) ([]byte, error) {
	if r.Type == TypeFlow || r.Type == TypeParam {
		return AppendToken(dst, r.XID, r.Type, r.Status, r.Remaining, r.WaitMs), nil
	}
	start := len(dst)
	dst = append(appendHeader(dst, r.XID, r.Type), byte(r.Status))
	switch r.Type {
	case TypePing:
		dst = appendConnected(dst, r)
	case TypeChallenge:
		dst = append(dst, r.Auth...)
	case TypeAcquire:
		dst = binary.BigEndian.AppendUint64(dst, uint64(r.TokenID))
		dst = binary.BigEndian.AppendUint32(dst, uint32(r.Remaining))
	default:
	}
	return finish(dst, start)
}

func appendConnected(dst []byte, r *Response) []byte {
	if r.Status != chain.TokenOK {
		return dst
	}
	if r.Short {
		return append(dst, byte(r.Connected))
	}
	return binary.BigEndian.AppendUint32(dst, uint32(r.Connected))
}

// Decode reads a response from the payload of one frame. All members are set; Auth is a part of the payload. Bytes
// after the message are ignored. As in Java's client, an answer to flow or param whose data are not 8 bytes has nothing
// remaining and no wait. Errors are *FormatError; if its Header is true, XID and Type are right.
func (r *Response) Decode(payload []byte) error {
	*r = Response{}
	if len(payload) < statusSize {
		return errStatus
	}
	r.XID = int32(binary.BigEndian.Uint32(payload))
	r.Type = Type(payload[4])
	r.Status = chain.TokenStatus(payload[5])
	data := payload[statusSize:]
	switch r.Type {
	case TypePing:
		r.decodeConnected(data)
	case TypeFlow, TypeParam:
		if len(data) == 8 {
			r.Remaining = int32(binary.BigEndian.Uint32(data))
			r.WaitMs = int32(binary.BigEndian.Uint32(data[4:]))
		}
	case TypeChallenge:
		r.Auth = data
	case TypeAcquire:
		return r.decodeAcquired(data)
	default:
	}
	return nil
}

func (r *Response) decodeConnected(data []byte) {
	switch n := len(data); {
	case r.Status != chain.TokenOK:
	case n >= 4:
		r.Connected = int32(binary.BigEndian.Uint32(data))
	case n == 1:
		r.Connected, r.Short = int32(data[0]), true
	default:
		r.Connected = -1
	}
}

func (r *Response) decodeAcquired(data []byte) error {
	if len(data) == 0 { // a refusal of the type
		return nil
	}
	if len(data) < 12 {
		return errExtension
	}
	r.TokenID = int64(binary.BigEndian.Uint64(data))
	r.Remaining = int32(binary.BigEndian.Uint32(data[8:]))
	return nil
}
