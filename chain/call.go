package chain

// ResourceType classes a resource for metrics. The first call of a resource gives it; later ones do not change it.
type ResourceType uint8

// The classes of resources, with Sentinel's numbers.
const (
	TypeCommon ResourceType = iota
	TypeWeb
	TypeRPC
	TypeGateway
	TypeSQL
	TypeCache
	TypeMQ
)

// Call describes one guarded call. The zero value is an outbound call of one unit without arguments.
// It is passed by value and its Args are copied, so the caller may reuse them.
type Call struct {
	// Inbound says that the call comes in from outside; only inbound calls feed the inbound total and are
	// subject to system rules.
	Inbound bool
	// Count is how many units the call acquires; 0 means 1. A negative count is an error.
	Count int
	// Prioritized lets the call wait for room in a window that a QPS rule finds full.
	Prioritized bool
	// Free makes the call acquire nothing: it passes where a call of 0 units passes, and counts 0. It is in flight
	// like any other and takes a place under concurrency rules.
	Free bool
	// Type classes the resource.
	Type ResourceType
	// Origin is the caller's name; it wins over the context's. "" means unknown.
	Origin string
	// Entrance names the invocation context; it wins over the context's. "" means the default one.
	Entrance string
	// Group says that the resource is an API group, not a route, for gateway rules.
	Group bool
	// Args are the arguments that rules about hot parameters look at and, made by RequestArg, the request that gateway
	// rules look at. Up to four cost no allocation: nothing of a Call outlives Enter but what its arguments point to.
	Args []Arg
}
