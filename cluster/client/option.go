package client

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"time"
)

// Defaults of a client.
const (
	DefaultTimeout      = 20 * time.Millisecond
	DefaultMaxTimeouts  = 3
	DefaultNamespace    = "default"
	DefaultMinBackoff   = 100 * time.Millisecond
	DefaultMaxBackoff   = 3 * time.Second
	DefaultPingInterval = 10 * time.Second
	DefaultDialTimeout  = time.Second
	DefaultWindow       = 200 * time.Microsecond
)

// A Dialer makes connections to token servers. It must end when the context does.
type Dialer func(ctx context.Context, addr string) (net.Conn, error)

// An Option changes a client that is being made.
type Option func(*options)

type options struct {
	namespace    string
	server       string
	wait         time.Duration // for an answer, at first
	maxTimeouts  int
	tls          *tls.Config
	secret       []byte
	unproven     bool
	window       time.Duration // of coalescing; 0: none
	logger       *slog.Logger
	dial         Dialer
	dialTimeout  time.Duration
	backoffMin   time.Duration
	backoffMax   time.Duration
	pingInterval time.Duration
	strict       bool // fail instead of dropping values
	persistent   bool // no back-off
}

func defaults() options {
	return options{
		namespace: DefaultNamespace, wait: DefaultTimeout, maxTimeouts: DefaultMaxTimeouts,
		logger: slog.New(slog.DiscardHandler), dial: dialTCP, dialTimeout: DefaultDialTimeout,
		backoffMin: DefaultMinBackoff, backoffMax: DefaultMaxBackoff, pingInterval: DefaultPingInterval,
	}
}

// WithNamespace sets the namespace that the client registers in: usually the application's name. The default is
// "default". With a blank one the client counts in no namespace, and Connected stays 0.
func WithNamespace(name string) Option {
	return func(o *options) { o.namespace = strings.TrimSpace(name) }
}

// WithServer sets the server's address, host:port; see SetServer. By default there is none.
func WithServer(addr string) Option { return func(o *options) { o.server = addr } }

// WithTimeout sets how long a request waits for its answer, 20 ms by default and if d is not above zero.
func WithTimeout(d time.Duration) Option {
	return func(o *options) { o.wait = positive(d, DefaultTimeout) }
}

// WithMaxTimeouts sets after how many timeouts in a row the server is not asked any more until a ping succeeds: 3 by
// default. Below 1 means that it is always asked.
func WithMaxTimeouts(n int) Option { return func(o *options) { o.maxTimeouts = n } }

// WithTLS makes the client speak TLS; nil means not to, which is the default. The server's name is taken from its address
// if the configuration has none. Certificates in it prove the client to a server that wants them (mutual TLS).
func WithTLS(config *tls.Config) Option {
	return func(o *options) {
		if o.tls = nil; config != nil {
			o.tls = config.Clone()
		}
	}
}

// WithSecret sets the secret that client and server prove to know to each other before the first request; empty means
// none, which is the default. A server that does not know it is not used: ErrUnauthenticated. See WithUnprovenServer.
func WithSecret(secret []byte) Option {
	return func(o *options) { o.secret = append([]byte(nil), secret...) }
}

// WithUnprovenServer lets a client with a secret also use a server that does not ask for one: Sentinel's, or one of ours
// that has no secret yet.
func WithUnprovenServer() Option { return func(o *options) { o.unproven = true } }

// WithCoalescing makes one request of those for one unit of the same flow that are not prioritized and are made at the
// same time. A request of a flow that has none under way is sent at once, with those of callers that are ready to run.
// Those that come while one is under way wait until it is answered, at most for the window, and then go together, asking
// for as many units as there are callers. Not above zero stands for the default window, 200 µs. Off by default.
//
// If the server refuses that many, the first half is asked for, then the half of that, in three requests at most. The
// callers left then ask for one unit each, and the first refusal of one unit is the answer to all of them, since they
// all asked by then. So as many are let in as if all had asked singly, never more; only the server's count of
// refused units is higher. Towards a server that compares averages as Sentinel's does, this holds for windows of a second.
func WithCoalescing(window time.Duration) Option {
	return func(o *options) { o.window = positive(window, DefaultWindow) }
}

// WithLogger sets where changes of the connection are told, never single requests. The default is nowhere.
func WithLogger(l *slog.Logger) Option {
	return func(o *options) {
		if l != nil {
			o.logger = l
		}
	}
}

// WithDialer sets how connections are made. The default is TCP with keep-alive.
func WithDialer(d Dialer) Option {
	return func(o *options) {
		if d != nil {
			o.dial = d
		}
	}
}

// WithDialTimeout sets how long making a connection may take, and again how long TLS, authentication and the first ping
// on it may take: 1 s by default and if d is not above zero.
func WithDialTimeout(d time.Duration) Option {
	return func(o *options) { o.dialTimeout = positive(d, DefaultDialTimeout) }
}

// WithBackoff sets the bounds of the time before a connection is tried again: it is random between 0 and a bound that
// begins at least and doubles up to most with each failure. The defaults, also for what is not above zero, are 100 ms
// and 3 s. A most below least counts as least.
func WithBackoff(least, most time.Duration) Option {
	return func(o *options) {
		o.backoffMin = positive(least, DefaultMinBackoff)
		o.backoffMax = max(o.backoffMin, positive(most, DefaultMaxBackoff))
	}
}

// WithPingInterval sets how often the server is asked for the number of connected clients: every 10 s by default and
// if d is not above zero, at most every millisecond. A new connection begins with shorter intervals, that double from
// 250 ms up to this. While the client decides locally it is every second, or this if shorter.
func WithPingInterval(d time.Duration) Option {
	return func(o *options) { o.pingInterval = max(time.Millisecond, positive(d, DefaultPingInterval)) }
}

// WithStrictValues makes a parameter request of which a value cannot be sent a bad request, instead of leaving the value
// out, which is what Sentinel's client does and the default.
func WithStrictValues() Option { return func(o *options) { o.strict = true } }

// WithoutBackOff makes the client ask a server even if that lately had too many requests.
func WithoutBackOff() Option { return func(o *options) { o.persistent = true } }

func positive(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}
