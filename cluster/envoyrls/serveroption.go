package envoyrls

import (
	"crypto/tls"
	"time"
)

// A ServerOption sets up a Server.
type ServerOption func(*serverSettings)

type serverSettings struct {
	tls    *tls.Config
	maxAge time.Duration
}

// WithTLS serves TLS only. Set ClientAuth and ClientCAs in the configuration for mutual TLS. Default, and for nil:
// plaintext.
func WithTLS(config *tls.Config) ServerOption { return func(s *serverSettings) { s.tls = config } }

// WithMaxConnectionAge bounds the age of connections, so that clients find servers that were added; they get 30 seconds
// more for requests in flight. Default, and for 0 or less: no bound.
func WithMaxConnectionAge(d time.Duration) ServerOption {
	return func(s *serverSettings) { s.maxAge = max(0, d) }
}
