// Package wire is the protocol between token clients and token servers, byte for byte that of Sentinel, so that
// either side may be a Java process.
//
// # Frames
//
// A connection is TCP, plain or TLS, and carries frames both ways. A frame is a length N (2 bytes, unsigned) and N
// bytes of payload; it is at most 1024 bytes long in all. A length of zero is ignored. A longer frame is skipped, and
// answered if its header can be read. Every frame is decoded on its own: bytes that a message leaves over belong to no
// other. Integers are big-endian two's complement. See [Splitter].
//
// # Messages
//
//	request   xid int32 | type uint8 | data
//	response  xid int32 | type uint8 | status int8 | data
//
// A response repeats xid and type of its request; responses may come in any order.
//
//	type                 data of the request                              data of the response
//	0 ping               length int32, namespace (none if blank)          connected int32, only with status OK
//	1 flow               flowId int64, count int32, prioritized uint8     remaining int32, waitMs int32
//	2 param              flowId int64, count int32, n int32, n values     remaining int32, waitMs int32
//	64 challenge         nonce                                            nonce, proof
//	65 prove             proof                                            -
//	66 acquire           flowId int64, count int32                        tokenId int64, remaining int32
//	67 release           tokenId int64                                    -
//	68 renew             -                                                -
//
// Two shorter forms of old peers are understood: a flow request without its last byte, and a ping's count in one byte.
// A type that is not known is answered with status FAIL and no data.
//
// Types from 64 on are an extension. Nobody sends them before both sides know of each other, which costs no byte: the
// first ping has the id [HelloXID], and only a server that knows the extension answers it with [ReplyXID].
//
// # Values
//
// A value is a tag and its bytes. Tags are Java's types, and to a Java server values of two types are two values:
//
//	0 int    int32      4 float    IEEE 754, 4 bytes
//	1 long   int64      5 short    int16
//	2 byte   int8       6 boolean  1 byte
//	3 double 8 bytes    7 string   length int32, UTF-8
//
// [AppendParam] sends an argument of a call as what a Java service would send for a variable of the same type:
//
//	tidegate.Int, int, uint                      int if it fits, else long
//	int8                                         byte
//	int16                                        short
//	int32, uint8, uint16                         int
//	tidegate.Int64, int64, uint32, uint64        long
//	float32                                      float
//	tidegate.Float64, float64                    double
//	bool                                         boolean
//	string                                       string
//
// A slice or array is sent as several values, a pointer to a scalar as the scalar, an object with a method
// ParamKey() any as its key. Anything else, and an integer above the range of a long, cannot be sent and is dropped.
//
// # Clamping
//
// What does not fit the 32 bits of a count saturates, as the JVM does it: [Clamp], [ClampFloat].
package wire
