package cluster

import (
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
)

// Option is a setting of a new Member.
type Option func(*config)

type config struct {
	identity  string
	namespace string // "": the engine's application name
	tls       *tls.Config
	secret    []byte
	logger    *slog.Logger
	host      *string // where to listen; nil: by security
	client    []client.Option
	server    []server.Option
	service   []token.Option
	backend   backend
	now       func() time.Time
}

// WithIdentity sets the name by which cluster maps know this machine. The default is "IP@8719": the host's address, with
// Sentinel's default port of the command API. In containers name it yourself, for instance by the pod's name.
func WithIdentity(identity string) Option { return func(c *config) { c.identity = identity } }

// WithNamespace sets the namespace that the member registers in as a client and serves its engine's rules in as a server. The
// default, and "", is the engine's application name.
func WithNamespace(name string) Option {
	return func(c *config) { c.namespace = strings.TrimSpace(name) }
}

// WithTLS encrypts: as a client the server must prove itself by a certificate that RootCAs know, as a server clients speak TLS to
// one of the Certificates. With ClientCAs and ClientAuth a server demands certificates of clients. Plaintext is
// then refused. The default, and nil, is plaintext.
func WithTLS(c *tls.Config) Option { return func(m *config) { m.tls = c } }

// WithSecret makes client and server prove to each other that they know a secret. The default, and an empty one, is no
// secret.
func WithSecret(secret []byte) Option { return func(c *config) { c.secret = slices.Clone(secret) } }

// WithListenHost sets the host part of the address at which an embedded token server listens; "" is every address of the
// machine. The default is that with TLS or a secret, and 127.0.0.1 with neither, for whoever reaches an open
// port may use up every limit.
func WithListenHost(host string) Option { return func(c *config) { c.host = &host } }

// WithLogger sets where the member, its client and its server log; the default, and nil, discards.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) {
		if logger != nil {
			c.logger = logger
		}
	}
}

// WithClientOptions adds options of the token client, such as client.WithCoalescing. They come after those that the
// member sets itself.
func WithClientOptions(opts ...client.Option) Option {
	return func(c *config) { c.client = append(c.client, opts...) }
}

// WithServerOptions adds options of the embedded token server, such as server.WithMaxConnsPerIP. They come after those
// that the member sets itself.
func WithServerOptions(opts ...server.Option) Option {
	return func(c *config) { c.server = append(c.server, opts...) }
}

// WithServiceOptions adds options of the embedded server's token service, such as token.WithCompatible.
func WithServiceOptions(opts ...token.Option) Option {
	return func(c *config) { c.service = append(c.service, opts...) }
}

func newConfig(opts []Option) config {
	c := config{logger: slog.New(slog.DiscardHandler), now: time.Now}
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	if c.identity == "" {
		c.identity = hostIP() + "@8719"
	}
	c.backend = c.backend.orReal(&c)
	return c
}

// open says whether whoever reaches the port is served.
func (c *config) open() bool { return c.tls == nil && len(c.secret) == 0 }

// certified says whether a server can prove itself wherever it must.
func (c *config) certified() bool {
	return c.tls == nil || len(c.tls.Certificates) > 0 || c.tls.GetCertificate != nil || c.tls.GetConfigForClient != nil
}

// listenHost returns the host part of the address to listen at.
func (c *config) listenHost() string {
	switch {
	case c.host != nil:
		return strings.Trim(*c.host, "[]")
	case c.open():
		return "127.0.0.1"
	}
	return ""
}

// hostIP returns the address by which others probably know this host: that of its name if it has one that is not a
// loopback address, else the first such address of an interface that is up, else 127.0.0.1.
func hostIP() string {
	if name, err := os.Hostname(); err == nil {
		if addrs, err := net.LookupIP(name); err == nil { //nolint:noctx // resolved once, at the start
			if ip := foreign(addrs); ip != "" {
				return ip
			}
		}
	}
	var addrs []net.IP
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return "127.0.0.1"
	}
	for _, addr := range interfaces {
		if network, ok := addr.(*net.IPNet); ok {
			addrs = append(addrs, network.IP)
		}
	}
	if ip := foreign(addrs); ip != "" {
		return ip
	}
	return "127.0.0.1"
}

// foreign returns the first address that other hosts can use, IPv4 before IPv6.
func foreign(addrs []net.IP) string {
	best := ""
	for _, ip := range addrs {
		switch {
		case ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified():
		case ip.To4() != nil:
			return ip.String()
		case best == "":
			best = ip.String()
		}
	}
	return best
}
