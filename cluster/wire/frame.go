package wire

import "encoding/binary"

const (
	lengthSize = 2 // of a frame
	headerSize = 5 // xid and type
	statusSize = 6 // xid, type and status
)

// A FrameKind says what [Splitter.Next] found.
type FrameKind uint8

// The kinds of frames.
const (
	FramePartial   FrameKind = iota // no whole frame is there: read on
	FrameWhole                      // a whole frame
	FrameOversized                  // a frame above MaxFrame: only its header is shown, the rest is skipped
)

// A Splitter cuts a stream of bytes into frames. It keeps no bytes, only how many of an oversized frame are still to
// be skipped, so it needs no more room than one frame. The zero value is at the beginning of a stream. It is not safe
// for concurrent use.
type Splitter struct{ skip int }

// Next returns the payload of the first frame in buf and what follows it. Frames of length zero are passed over.
// With FramePartial the payload is nil and rest, shorter than MaxFrame, must be shown again with more behind it.
// With FrameOversized the payload is the header of a message, 5 bytes, to answer it. Payload and rest are parts of buf.
func (s *Splitter) Next(buf []byte) (payload, rest []byte, kind FrameKind) {
	if s.skip > 0 {
		n := min(s.skip, len(buf))
		s.skip -= n
		buf = buf[n:]
	}
	for len(buf) >= lengthSize {
		n := int(binary.BigEndian.Uint16(buf))
		switch {
		case n == 0:
			buf = buf[lengthSize:]
			continue
		case n > MaxPayload:
			return s.oversized(buf, n)
		case len(buf) < lengthSize+n:
			return nil, buf, FramePartial
		}
		return buf[lengthSize : lengthSize+n], buf[lengthSize+n:], FrameWhole
	}
	return nil, buf, FramePartial
}

func (s *Splitter) oversized(buf []byte, n int) (payload, rest []byte, kind FrameKind) {
	if len(buf) < lengthSize+headerSize {
		return nil, buf, FramePartial
	}
	there := min(lengthSize+n, len(buf))
	s.skip = lengthSize + n - there
	return buf[lengthSize : lengthSize+headerSize], buf[there:], FrameOversized
}

// Skipping says whether the bytes to come belong to an oversized frame.
func (s *Splitter) Skipping() bool { return s.skip > 0 }

// finish writes the length of the frame that begins at start.
func finish(frame []byte, start int) ([]byte, error) {
	n := len(frame) - start
	if n > MaxFrame {
		return frame[:start], ErrTooLong
	}
	binary.BigEndian.PutUint16(frame[start:], uint16(n-lengthSize))
	return frame, nil
}
