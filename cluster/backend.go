package cluster

import (
	"context"
	"net"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// tokenClient is what a Member needs of a token client.
type tokenClient interface {
	chain.TokenService
	SetServer(addr string)
	Start()
	Close() error
	Status() client.Status
}

// tokenServer is what a Member needs of a token server.
type tokenServer interface {
	Listen(ctx context.Context, addr string) (net.Addr, error)
	StopListening(addr net.Addr) error
	SetIdle(d time.Duration)
	Shutdown(ctx context.Context) error
	Close() error
	Status() server.Status
}

// backend makes the two ends of connections.
type backend struct {
	client func(namespace string, timeout time.Duration) tokenClient
	server func(service *token.Service) tokenServer
}

// orReal fills in what is not there by what works over the network.
func (b backend) orReal(c *config) backend {
	if b.client == nil {
		b.client = func(namespace string, timeout time.Duration) tokenClient {
			return client.New(append([]client.Option{
				client.WithNamespace(namespace), client.WithTimeout(timeout), client.WithTLS(c.tls), client.WithSecret(c.secret),
				client.WithLogger(c.logger),
			}, c.client...)...)
		}
	}
	if b.server == nil {
		b.server = func(service *token.Service) tokenServer {
			return server.New(service, append([]server.Option{
				server.WithTLS(c.tls), server.WithSecret(c.secret), server.WithLogger(c.logger),
			}, c.server...)...)
		}
	}
	return b
}
