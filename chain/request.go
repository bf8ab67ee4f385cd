package chain

// Request is what gateway rules look at. A part that the request does not have is absent, not empty.
type Request interface {
	ClientIP() (string, bool)
	Host() (string, bool)
	Header(name string) (string, bool)
	URLParam(name string) (string, bool)
	Cookie(name string) (string, bool)
}

// RequestArg makes an argument of a request, for gateway rules. It has no position among a call's arguments.
func RequestArg(r Request) Arg { return Arg{kind: argRequest, any: r} }
