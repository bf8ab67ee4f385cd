package cluster

import (
	"time"

	"github.com/tidegate-go/tidegate/cluster/token"
)

// The interfaces behind which tests put their own ends of connections.
type (
	TokenClient = tokenClient
	TokenServer = tokenServer
	Host        = host
)

// How long things take.
const (
	SwitchPause   = switchPause
	ConnectGrace  = connectGrace
	LeastRetry    = leastRetry
	MostRetry     = mostRetry
	ShutdownGrace = shutdownGrace
)

// WithBackend makes a member use other ends of connections.
func WithBackend(client func(namespace string, timeout time.Duration) TokenClient, server func(*token.Service) TokenServer) Option {
	return func(c *config) { c.backend = backend{client, server} }
}

// NewMember is New for anything that is like an engine.
func NewMember(engine Host, opts ...Option) *Member { return newMember(engine, opts) }
