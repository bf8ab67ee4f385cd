package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

// rls is the Envoy rate limit service at work.
type rls struct {
	service *envoyrls.Service
	server  *envoyrls.Server
	addr    net.Addr
}

// sameRLS says whether the service can go on, perhaps with other rules.
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

// newRLS makes the service of a configuration, which does not listen yet.
func (s *Server) newRLS(ctx context.Context, p *parts) (*rls, error) {
	r := &rls{service: envoyrls.New(envoyrls.WithLogger(s.logger))}
	if err := r.service.Load(ctx, p.config.rlsFiles()...); err != nil {
		return nil, errors.Join(fmt.Errorf("rls-rules: %w", err), r.service.Close())
	}
	options := []envoyrls.ServerOption{}
	if p.security.tls != nil {
		options = append(options, envoyrls.WithTLS(p.security.tls))
	}
	r.server = envoyrls.NewServer(r.service, options...)
	return r, nil
}

// listen opens the service's port; if that fails the service is closed.
func (r *rls) listen(ctx context.Context, address string) (err error) {
	if r.addr, err = r.server.Listen(ctx, address); err != nil {
		return errors.Join(err, r.service.Close())
	}
	return nil
}

func (p *parts) rlsAddr() net.Addr {
	if p.rls == nil {
		return nil
	}
	return p.rls.addr
}

// closeUnless ends the service unless it is the other one.
func (r *rls) closeUnless(other *rls) {
	if r != nil && r != other {
		r.close()
	}
}

func (r *rls) close() {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	_ = r.server.Shutdown(ctx) // what did not end in time was cut off
	_ = r.service.Close()      // it watches files; there is nothing to lose
}
