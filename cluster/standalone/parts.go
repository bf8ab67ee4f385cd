package standalone

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/tidegate-go/tidegate/chain"
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

// build makes the parts of a configuration out of those before. What can fail comes first: only when all files have been
// read and all ports are open, limits and rules of a service that goes on change. Nothing of the old parts is lost if it
// fails.
func (s *Server) build(ctx context.Context, old parts, c Config) (next parts, err error) {
	next = parts{config: c, service: old.service, files: map[fileKey]*ruleFile{}}
	if next.security, err = c.readSecurity(); err != nil {
		return parts{}, &ConfigError{err}
	}
	fresh := old.service == nil || old.config.Compat != c.Compat
	if fresh {
		next.service = s.newService(c.Compat)
	}
	undo := []func(){}
	defer func() {
		if err != nil {
			for _, f := range slices.Backward(undo) {
				f()
			}
		}
	}()
	opened, err := s.openFiles(ctx, old, &next)
	undo = append(undo, func() { closeFiles(opened) })
	if err != nil {
		return parts{}, &ConfigError{err}
	}
	if fresh {
		if err := next.enforce(old, opened); err != nil {
			return parts{}, &ConfigError{err}
		}
	}
	reopen, err := s.openPorts(ctx, old, &next)
	undo = append(undo, reopen)
	if err != nil {
		return parts{}, err
	}
	if !fresh {
		if err := next.enforce(old, opened); err != nil {
			_ = old.config.configure(old.service, nil) // it took these before
			return parts{}, &ConfigError{err}
		}
	}
	if err := old.close(ctx, next); err != nil {
		s.logger.Warn("connections were cut off", "error", err)
	}
	return next, nil
}

// enforce puts the limits of the configuration and the rules of the opened files into force.
func (p *parts) enforce(old parts, opened []*ruleFile) error {
	if err := p.config.configure(p.service, old.config.PerNamespace); err != nil {
		return err
	}
	for _, r := range opened {
		r.enforce()
	}
	return nil
}

// openPorts opens what the configuration listens on; reopen takes that back.
func (s *Server) openPorts(ctx context.Context, old parts, next *parts) (reopen func(), err error) {
	if reopen, err = s.openServer(ctx, old, next); err != nil {
		return reopen, err
	}
	if err := s.openRLS(ctx, old, next); err != nil {
		return reopen, err
	}
	before := reopen
	reopen = func() { next.rls.closeUnless(old.rls); before() }
	return reopen, s.openAdmin(ctx, old, next)
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

// openFiles reads and follows the rule files of the configuration, and takes over those that are followed already. The
// rules of those it returns are not in force yet.
func (s *Server) openFiles(ctx context.Context, old parts, next *parts) (opened []*ruleFile, err error) {
	var all []error
	for _, list := range []struct {
		member   string
		bindings Bindings
		kind     chain.Kind
	}{{"namespace", next.config.Namespaces, chain.KindFlow}, {"param-namespace", next.config.ParamRules, chain.KindParam}} {
		for _, b := range list.bindings {
			name, file := split(b)
			if file == "" {
				continue
			}
			key := fileKey{name, list.kind, next.config.path(file)}
			if r := old.files[key]; r != nil && r.service == next.service {
				next.files[key] = r
				continue
			}
			r, err := openRules(ctx, next.service, name, list.kind, key.path, s.logger)
			if err != nil {
				all = append(all, fmt.Errorf("%s %s: %w", list.member, name, err))
				continue
			}
			next.files[key] = r
			opened = append(opened, r)
		}
	}
	return opened, errors.Join(all...)
}

func closeFiles(files []*ruleFile) {
	for _, r := range files {
		r.close()
	}
}

// sameServer says whether the port can go on serving as it is.
func (p *parts) sameServer(old *parts) bool {
	a, b := &p.config, &old.config
	return old.server != nil && p.service == old.service && a.listen() == b.listen() && a.idle() == b.idle() &&
		a.MaxConns == b.MaxConns && p.security.sum == old.security.sum
}

// samePort says whether an address may be one that cannot be opened while the other one is open.
func samePort(address string, open net.Addr) bool {
	_, port, err := net.SplitHostPort(address)
	tcp, ok := open.(*net.TCPAddr)
	return err == nil && ok && port == strconv.Itoa(tcp.Port)
}

// openServer opens the port. Where the port stays the same the old one has to be closed first; reopen then opens it
// again.
func (s *Server) openServer(ctx context.Context, old parts, next *parts) (reopen func(), err error) {
	reopen = func() {}
	if next.sameServer(&old) {
		next.server, next.addr = old.server, old.addr
		return reopen, nil
	}
	address := next.config.listen()
	if same := address == old.config.listen(); old.server != nil && (same || samePort(address, old.addr)) {
		if same {
			address = old.addr.String()
		}
		s.drain(ctx, old.server)
		reopen = func() { s.reopen(ctx, old) }
	}
	next.server = next.newServer(s)
	next.addr, err = next.server.Listen(context.WithoutCancel(ctx), address)
	if err != nil {
		return reopen, fmt.Errorf("listen: %w", err)
	}
	failed := next.server
	before := reopen
	return func() { s.drain(ctx, failed); before() }, nil
}

func (s *Server) reopen(ctx context.Context, old parts) {
	again := old.newServer(s)
	if _, err := again.Listen(context.WithoutCancel(ctx), old.addr.String()); err != nil {
		s.logger.Error("the port of the configuration before could not be opened again", "address", old.addr.String(), "error", err)
		return
	}
	s.parts.server = again
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

func (s *Server) drain(ctx context.Context, old *server.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := old.Shutdown(ctx); err != nil {
		s.logger.Warn("connections were cut off", "error", err)
	}
}

// close ends what the next parts do not go on with. Namespaces that are not served any more lose their rules.
func (p *parts) close(ctx context.Context, next parts) error {
	var all []error
	for key, r := range p.files {
		if next.files[key] != r {
			r.close()
		}
	}
	if p.service != nil && p.service == next.service {
		p.dropRules(next)
	}
	if p.server != nil && p.server != next.server {
		all = append(all, p.server.Shutdown(ctx))
	}
	p.rls.closeUnless(next.rls)
	p.admin.closeUnless(next.admin)
	return errors.Join(all...)
}

// dropRules takes away the rules of files that are not followed any more and have no successor.
func (p *parts) dropRules(next parts) {
	served := map[fileKey]bool{} // without path
	for key := range next.files {
		served[fileKey{namespace: key.namespace, kind: key.kind}] = true
	}
	for key := range p.files {
		if served[fileKey{namespace: key.namespace, kind: key.kind}] {
			continue
		}
		if key.kind == chain.KindFlow {
			p.service.LoadFlow(key.namespace, nil)
		} else {
			p.service.LoadParam(key.namespace, nil)
		}
	}
	for _, b := range p.config.Namespaces {
		if name, _ := split(b); !next.serves(name) {
			p.service.Remove(name)
		}
	}
}

func (p *parts) serves(namespace string) bool {
	for _, list := range []Bindings{p.config.Namespaces, p.config.ParamRules} {
		for _, b := range list {
			if name, _ := split(b); name == namespace {
				return true
			}
		}
	}
	return false
}
