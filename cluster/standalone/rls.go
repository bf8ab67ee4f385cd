package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

// rls is the port of the Envoy rate limit service. The service itself, with its counters, goes on when the port changes.
type rls struct {
	server *envoyrls.Server
	addr   net.Addr
}

// sameRLS says whether the port can go on serving as it is.
func (p *parts) sameRLS(old *parts) bool {
	return old.rls != nil && p.config.RLSListen == old.config.RLSListen && p.security.sum == old.security.sum
}

func (c *Config) sameRLSRules(other *Config) bool {
	return slices.Equal(c.rlsFiles(), other.rlsFiles())
}

func (c *Config) rlsFiles() []string {
	files := make([]string, len(c.RLSRules))
	for i, file := range c.RLSRules {
		files[i] = c.path(file)
	}
	return files
}

// loadRLS makes the service of a configuration.
func (s *Server) loadRLS(ctx context.Context, c *Config) (*envoyrls.Service, error) {
	service := envoyrls.New(envoyrls.WithLogger(s.logger))
	if err := service.Load(ctx, c.rlsFiles()...); err != nil {
		return nil, errors.Join(fmt.Errorf("rls-rules: %w", err), service.Close())
	}
	return service, nil
}

// newRLS makes the port of the service, which is not open yet.
func (p *parts) newRLS() *rls {
	options := []envoyrls.ServerOption{}
	if p.security.tls != nil {
		options = append(options, envoyrls.WithTLS(p.security.tls))
	}
	return &rls{server: envoyrls.NewServer(p.limits, options...)}
}

func (r *rls) listen(ctx context.Context, address string) (err error) {
	r.addr, err = r.server.Listen(ctx, address)
	return err
}

func (p *parts) rlsAddr() net.Addr {
	if p.rls == nil {
		return nil
	}
	return p.rls.addr
}

// closeUnless closes the port unless it is the other one.
func (r *rls) closeUnless(ctx context.Context, other *rls) {
	if r != nil && r != other {
		_ = r.server.Shutdown(ctx) // what did not end in time was cut off
	}
}
