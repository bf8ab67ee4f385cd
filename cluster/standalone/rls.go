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

// openRLS opens the service, or takes over the one that runs by the same settings. Where only its rules differ, they
// are loaded into the one that runs.
func (s *Server) openRLS(ctx context.Context, old parts, next *parts) error {
	c := &next.config
	if c.RLSListen == "" {
		return nil
	}
	files := make([]string, len(c.RLSRules))
	for i, file := range c.RLSRules {
		files[i] = c.path(file)
	}
	if old.rls != nil && c.RLSListen == old.config.RLSListen && next.security.sum == old.security.sum {
		next.rls = old.rls
		if slices.Equal(c.RLSRules, old.config.RLSRules) && c.dir == old.config.dir {
			return nil
		}
		if err := old.rls.service.Load(ctx, files...); err != nil {
			return &ConfigError{fmt.Errorf("rls-rules: %w", err)}
		}
		return nil
	}
	r := &rls{service: envoyrls.New(envoyrls.WithLogger(s.logger))}
	if err := r.service.Load(context.WithoutCancel(ctx), files...); err != nil {
		return &ConfigError{errors.Join(fmt.Errorf("rls-rules: %w", err), r.service.Close())}
	}
	options := []envoyrls.ServerOption{}
	if next.security.tls != nil {
		options = append(options, envoyrls.WithTLS(next.security.tls))
	}
	r.server = envoyrls.NewServer(r.service, options...)
	address := c.RLSListen
	if old.rls != nil && address == old.config.RLSListen { // the port has to be free first
		address = old.rls.addr.String()
		old.rls.close()
	}
	var err error
	if r.addr, err = r.server.Listen(context.WithoutCancel(ctx), address); err != nil {
		return errors.Join(fmt.Errorf("rls-listen: %w", err), r.service.Close())
	}
	next.rls = r
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
