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
	if old.rls != nil && c.RLSListen == old.config.RLSListen && next.security.sum == old.security.sum {
		next.rls = old.rls
		if slices.Equal(c.RLSRules, old.config.RLSRules) && c.dir == old.config.dir {
			return nil
		}
		if err := old.rls.service.Load(ctx, c.rlsFiles()...); err != nil {
			return &ConfigError{fmt.Errorf("rls-rules: %w", err)}
		}
		return nil
	}
	address, same := c.RLSListen, c.RLSListen == old.config.RLSListen
	closed := old.rls != nil && (same || samePort(address, old.rls.addr)) // the port has to be free first
	r, err := s.newRLS(ctx, next)
	if err != nil {
		return err
	}
	if closed {
		if same {
			address = old.rls.addr.String()
		}
		old.rls.close()
	}
	if err := r.listen(ctx, address); err != nil {
		if closed {
			s.reopenRLS(ctx, old)
		}
		return err
	}
	next.rls = r
	return nil
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
	if err := r.service.Load(context.WithoutCancel(ctx), p.config.rlsFiles()...); err != nil {
		return nil, &ConfigError{errors.Join(fmt.Errorf("rls-rules: %w", err), r.service.Close())}
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
	if r.addr, err = r.server.Listen(context.WithoutCancel(ctx), address); err != nil {
		return errors.Join(fmt.Errorf("rls-listen: %w", err), r.service.Close())
	}
	return nil
}

func (s *Server) reopenRLS(ctx context.Context, old parts) {
	again, err := s.newRLS(ctx, &old)
	if err == nil {
		err = again.listen(ctx, old.rls.addr.String())
	}
	if err != nil {
		s.logger.Error("the rate limit service of the configuration before could not be opened again",
			"address", old.rls.addr.String(), "error", err)
		again = nil
	}
	s.parts.rls = again
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
