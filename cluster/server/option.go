package server

import (
	"crypto/tls"
	"log/slog"
	"slices"
	"time"
)

// An Option sets one thing of a new server.
type Option func(*settings)

// The defaults of a server.
const (
	DefaultIdle         = 600 * time.Second
	DefaultWriteTimeout = 5 * time.Second
	DefaultShedding     = 20 * time.Millisecond // the default timeout of clients
	DefaultMaxConns     = 65_536
	DefaultMaxMalformed = 100
)

type settings struct {
	tls          *tls.Config
	plaintext    bool
	secret       []byte
	idle         time.Duration
	writeTimeout time.Duration
	shedding     time.Duration
	maxConns     int
	maxPerIP     int
	maxMalformed int
	logger       *slog.Logger
	timing       timing
}

// timing is what only tests change.
type timing struct {
	scan       time.Duration // between looks at all connections
	firstFrame time.Duration // a connection may take so long to send its first whole frame, or to end a frame
	handshake  time.Duration // TLS
	linger     time.Duration // to let a peer read the last answer
	quiet      time.Duration // nothing more is in flight if nothing came for so long
	maxWaiting int           // connections without a whole frame yet
	maxShaking int           // TLS handshakes under way
}

func newSettings(opts []Option) settings {
	s := settings{
		idle: DefaultIdle, writeTimeout: DefaultWriteTimeout, shedding: DefaultShedding,
		maxConns: DefaultMaxConns, maxMalformed: DefaultMaxMalformed,
		logger: slog.New(slog.DiscardHandler),
		timing: timing{
			scan: time.Second, firstFrame: 30 * time.Second, handshake: 10 * time.Second, linger: time.Second,
			quiet: 20 * time.Millisecond, maxWaiting: 4096, maxShaking: 256,
		},
	}
	for _, o := range opts {
		if o != nil {
			o(&s)
		}
	}
	return s
}

// WithTLS makes the port speak TLS, and refuse plaintext unless WithPlaintext allows it. Set ClientAuth and ClientCAs
// for mutual TLS. nil, the default, means plaintext only. The configuration must not be changed afterwards.
func WithTLS(c *tls.Config) Option { return func(s *settings) { s.tls = c } }

// WithPlaintext lets a port with TLS serve connections without it, too.
func WithPlaintext() Option { return func(s *settings) { s.plaintext = true } }

// WithSecret makes clients prove that they know the secret, inside TLS too. It should be at least 16 random bytes:
// whoever can connect can try to guess a short one from an answer. Java's clients cannot prove it. The default, and an
// empty one, is none.
func WithSecret(secret []byte) Option {
	return func(s *settings) { s.secret = slices.Clone(secret) }
}

// WithIdle sets after which silence a peer that pinged more than once is disconnected. 0 means DefaultIdle; below 0
// means never.
func WithIdle(d time.Duration) Option {
	return func(s *settings) { s.idle = orDefault(d, DefaultIdle) }
}

// WithWriteTimeout sets how long a peer may refuse to read its answers. 0 means DefaultWriteTimeout.
func WithWriteTimeout(d time.Duration) Option {
	return func(s *settings) { s.writeTimeout = orDefault(d, DefaultWriteTimeout) }
}

// WithShedding sets how long half of what runs in the process may wait for a processor before requests are refused.
// 0 means DefaultShedding; below 0 means that nothing is ever refused for it.
func WithShedding(d time.Duration) Option {
	return func(s *settings) { s.shedding = orDefault(d, DefaultShedding) }
}

// WithMaxConns limits connections in all. 0 means DefaultMaxConns; below 0 means no limit.
func WithMaxConns(n int) Option {
	return func(s *settings) { s.maxConns = orDefault(n, DefaultMaxConns) }
}

// WithMaxConnsPerIP limits the connections from one address; an IPv6 address counts with its /64 network. 0, the
// default, and below mean no limit.
func WithMaxConnsPerIP(n int) Option { return func(s *settings) { s.maxPerIP = n } }

// WithMaxMalformed sets after how many malformed or oversized frames a connection is closed. 0 means
// DefaultMaxMalformed; below 0 means never.
func WithMaxMalformed(n int) Option {
	return func(s *settings) { s.maxMalformed = orDefault(n, DefaultMaxMalformed) }
}

// WithLogger sets where the server logs; the default, and nil, discards.
func WithLogger(logger *slog.Logger) Option {
	return func(s *settings) {
		if logger != nil {
			s.logger = logger
		}
	}
}

func orDefault[T int | time.Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}
