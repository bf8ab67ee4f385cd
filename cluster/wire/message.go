package wire

import "github.com/tidegate-go/tidegate/chain"

// Limits of a frame, in bytes.
const (
	MaxFrame   = 1024         // with the two bytes of its length
	MaxPayload = MaxFrame - 2 // what the length may say
	MaxParams  = 1001         // of encoded values that fit into one frame
)

// Type says what a message is about.
type Type uint8

// The types of messages. Those from TypeChallenge on are an extension, and sent only to a peer that has said, by
// the id of its ping, that it knows them.
const (
	TypePing  Type = 0
	TypeFlow  Type = 1
	TypeParam Type = 2

	TypeChallenge Type = 64 // the client asks for a nonce, to prove that it knows the secret
	TypeProve     Type = 65 // the client's proof
	TypeAcquire   Type = 66 // concurrency token
	TypeRelease   Type = 67
	TypeRenew     Type = 68 // of all tokens of the connection
)

// Ids that negotiate the extension without adding a byte: a client that knows it pings with HelloXID, a server that
// knows it answers with ReplyXID; a server that does not answers with the id it was sent.
const (
	HelloXID int32 = 0x47530001
	ReplyXID int32 = 0x47530002
)

// MaxXID is the highest id of a request; the next is 1 again. 0 and the ids above belong to pings.
const MaxXID int32 = 999_999_999

// Tag says how a parameter's value is encoded.
type Tag uint8

// The tags of Java's types.
const (
	TagInt Tag = iota
	TagLong
	TagByte
	TagDouble
	TagFloat
	TagShort
	TagBool
	TagString
)

// Value is one value of a parameter request.
type Value struct {
	Tag  Tag
	Bits uint64 // an integer in two's complement (sign extended), the IEEE 754 bits of a float or double, 0 or 1
	Text []byte // of a string; after decoding it is part of the payload
}

// Request is a message to a token server. Which members count depends on the type.
type Request struct {
	XID         int32
	Type        Type
	Namespace   []byte // ping; blank: sent as no data at all
	FlowID      int64  // flow, param, acquire
	Count       int32  // flow, param, acquire
	Prioritized bool   // flow
	Short       bool   // flow: the layout without the byte of Prioritized, as some clients send it
	Values      []Value
	TokenID     int64  // release
	Auth        []byte // challenge: the client's nonce; prove: its proof
}

// Response is a message from a token server.
type Response struct {
	XID       int32
	Type      Type
	Status    chain.TokenStatus
	Connected int32  // ping, with status OK; -1 if the server told it in a form that is not known
	Short     bool   // ping: the count in one byte, as servers before 1.7.0 send it
	Remaining int32  // flow, param, acquire
	WaitMs    int32  // flow, param
	TokenID   int64  // acquire
	Auth      []byte // challenge: the server's nonce and proof
}
