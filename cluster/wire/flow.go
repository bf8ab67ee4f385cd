package wire

import (
	"encoding/binary"

	"github.com/tidegate-go/tidegate/chain"
)

// FlowFrame is the length of a frame with a flow request in its usual layout, in bytes.
const FlowFrame = lengthSize + headerSize + unitsSize + 1

// CutFlow reads the frame at the beginning of buf if it is a flow request in its usual layout, which most messages
// are: FlowFrame bytes. For anything else, or less, ok is false.
func CutFlow(buf []byte) (xid int32, flowID int64, count int32, prioritized, ok bool) {
	if len(buf) < FlowFrame {
		return 0, 0, 0, false, false
	}
	buf = buf[:FlowFrame]
	head := binary.BigEndian.Uint64(buf) // length, xid, type, and the first byte of the flow id
	if head>>48 != FlowFrame-lengthSize || Type(head>>8) != TypeFlow {
		return 0, 0, 0, false, false
	}
	return int32(head >> 16), int64(binary.BigEndian.Uint64(buf[7:])), int32(binary.BigEndian.Uint32(buf[15:])), buf[19] != 0, true
}

// TokenFrame is the length of a frame with an answer to a flow or param request, in bytes.
const TokenFrame = lengthSize + statusSize + 8

// AppendToken is [AppendResponse] for an answer to a flow or param request, the one message that counts.
func AppendToken(dst []byte, xid int32, t Type, status chain.TokenStatus, remaining, waitMs int32) []byte {
	const length = uint64(statusSize+8) << 48
	dst = binary.BigEndian.AppendUint64(dst, length|uint64(uint32(xid))<<16|uint64(t)<<8|uint64(uint8(status)))
	return binary.BigEndian.AppendUint64(dst, uint64(uint32(remaining))<<32|uint64(uint32(waitMs)))
}
