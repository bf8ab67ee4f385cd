package standalone

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/envoyrls"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// parts is what runs by one configuration. Parts that the next configuration leaves as they are go over to its parts.
type parts struct {
	config   Config
	security security
	service  *token.Service
	server   *server.Server
	addr     net.Addr
	files    map[fileKey]*ruleFile
	admin    *admin
	limits   *envoyrls.Service // nil: none
	rls      *rls
}

// fileKey tells rule files apart.
type fileKey struct {
	namespace string
	kind      chain.Kind
	path      string
}

// security is what was read of the files that protect the ports. It is compared by content, so that a reload takes a
// renewed certificate.
type security struct {
	tls    *tls.Config
	secret []byte
	sum    [32]byte // fingerprint of the files
}

// build makes the parts of a configuration out of those before. If it fails everything is as it was.
func (s *Server) build(ctx context.Context, old parts, c Config) (parts, error) {
	t := &transition{
		server: s, old: old, next: parts{config: c, service: old.service, files: map[fileKey]*ruleFile{}},
		fresh: old.service == nil || old.config.Compat != c.Compat,
	}
	if err := t.run(context.WithoutCancel(ctx)); err != nil { // what is opened outlives the call
		for _, undo := range slices.Backward(t.undo) {
			undo()
		}
		return parts{}, err
	}
	return t.next, nil
}

func (s *Server) newService(compat bool) *token.Service {
	opts := []token.Option{token.WithLogger(s.logger)}
	if compat {
		opts = append(opts, token.WithCompatible())
	}
	return token.New(opts...)
}

// configure gives the service its limits; namespaces of the configuration before that this one does not name go back
// to the server's.
func (c *Config) configure(s *token.Service, before map[string]Limits) error {
	limits, err := c.limits("")
	if err != nil {
		return err
	}
	if err := s.Configure(limits); err != nil {
		return err
	}
	for name := range before {
		if _, still := c.PerNamespace[name]; !still {
			if err := s.ConfigureNamespace(name, nil); err != nil {
				return err
			}
		}
	}
	for name := range c.PerNamespace {
		limits, err := c.limits(name)
		if err != nil {
			return err
		}
		if err := s.ConfigureNamespace(name, &limits); err != nil {
			return err
		}
	}
	return nil
}

// samePort says whether an address may be one that cannot be opened while the other one is open.
func samePort(address string, open net.Addr) bool {
	_, port, err := net.SplitHostPort(address)
	tcp, ok := open.(*net.TCPAddr)
	return err == nil && ok && port == strconv.Itoa(tcp.Port)
}

// sameServer says whether the port can go on serving as it is.
func (p *parts) sameServer(old *parts) bool {
	a, b := &p.config, &old.config
	return old.server != nil && p.service == old.service && a.listen() == b.listen() && a.idle() == b.idle() &&
		a.MaxConns == b.MaxConns && p.security.sum == old.security.sum
}

func (p *parts) newServer(s *Server) *server.Server {
	opts := []server.Option{
		server.WithLogger(s.logger), server.WithIdle(p.config.idle()), server.WithMaxConnsPerIP(p.config.MaxConns),
	}
	if p.security.tls != nil {
		opts = append(opts, server.WithTLS(p.security.tls))
	}
	if p.security.secret != nil {
		opts = append(opts, server.WithSecret(p.security.secret))
	}
	return server.New(p.service, opts...)
}

// draining is how long what a reload takes out of service may take to end: some time, and no longer than until Stop.
func (s *Server) draining() (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithTimeout(context.Background(), drainTime)
	go func() {
		select {
		case <-s.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// drain lets the requests of a server end.
func (s *Server) drain(old *server.Server) {
	ctx, cancel := s.draining()
	defer cancel()
	if err := old.Shutdown(ctx); err != nil {
		s.logger.Warn("connections were cut off", "error", err)
	}
}

// close ends everything, all ports at the same time.
func (p *parts) close(ctx context.Context) (err error) {
	for _, r := range p.files {
		r.close()
	}
	var ports sync.WaitGroup
	ports.Go(func() { p.rls.closeUnless(ctx, nil) })
	ports.Go(func() { p.admin.closeUnless(nil) })
	if p.server != nil {
		err = p.server.Shutdown(ctx)
	}
	ports.Wait()
	if p.limits != nil {
		_ = p.limits.Close() // it watches files; there is nothing to lose
	}
	return err
}

func (p *parts) serves(namespace string) bool { return slices.Contains(p.config.served(), namespace) }
