package wire

import "errors"

// Errors of the encoder. What was to be appended to is returned as it was.
var (
	// ErrTooLong says that a message does not fit into a frame.
	ErrTooLong = errors.New("message does not fit into a frame of 1024 bytes: shorten the namespace or send fewer values")
	// ErrType says that a message of this type has no encoding.
	ErrType = errors.New("message type has no encoding: only ping, flow, param and the extension's types can be sent")
	// ErrTag says that a value's tag is not one of the table.
	ErrTag = errors.New("value tag has no encoding: only the tags 0 to 7 can be sent")
	// ErrNoValues says that none of the arguments can be sent. There is no use in asking a server then.
	ErrNoValues = errors.New("no argument can be sent to a token server: give a number, a string, a boolean, or a ParamKey")
)

// A FormatError says why a payload cannot be decoded.
type FormatError struct {
	Header bool // id and type could be read, so the message can be answered
	Reason string
}

func (e *FormatError) Error() string { return "malformed message: " + e.Reason }

// Decoding allocates nothing, so neither do its errors.
var (
	errHeader    = &FormatError{Reason: "shorter than its header"}
	errStatus    = &FormatError{Reason: "response shorter than its header"}
	errUnits     = &FormatError{Header: true, Reason: "request shorter than flow id and count"}
	errNamespace = &FormatError{Header: true, Reason: "namespace longer than the frame"}
	errAmount    = &FormatError{Header: true, Reason: "number of values is missing or negative"}
	errTag       = &FormatError{Header: true, Reason: "unknown tag of a value"}
	errValue     = &FormatError{Header: true, Reason: "value longer than the frame"}
	errExtension = &FormatError{Header: true, Reason: "extension message shorter than its layout"}
)
