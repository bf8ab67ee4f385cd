package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/adapter/tidehttp"
	"github.com/tidegate-go/tidegate/outlier"
)

// statusClientLeft is what an answer that nobody waits for is counted as, after nginx.
const statusClientLeft = 499

// newRoute returns the handler that leads a route's requests to its upstream.
func newRoute(r *Route, to *upstream, proxies tidehttp.Proxies, buffers httputil.BufferPool, logger *slog.Logger) http.Handler {
	var h http.Handler = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			forward(p, proxies)
			strip(p.Out.URL, r.StripPrefix)
		},
		Transport:    to,
		BufferPool:   buffers,
		ErrorLog:     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		ErrorHandler: func(w http.ResponseWriter, in *http.Request, err error) { fail(w, in, err, to) },
	}
	if limit := time.Duration(or(r.Timeout, 0)); limit > 0 {
		h = within(limit, h)
	}
	return h
}

// within ends the exchange after a time. It runs when the rules have let the request pass.
func within(limit time.Duration, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// forward tells the upstream who asked. What untrusted clients claim about that is dropped.
func forward(p *httputil.ProxyRequest, proxies tidehttp.Proxies) {
	trusted := proxies.TrustsPeer(p.In)
	if trusted {
		p.Out.Header["X-Forwarded-For"] = p.In.Header["X-Forwarded-For"]
	}
	p.SetXForwarded()
	if !trusted {
		return
	}
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		if values := p.In.Header[name]; len(values) > 0 {
			p.Out.Header[name] = values
		}
	}
}

// strip takes the prefix off the path where it is there.
func strip(u *url.URL, prefix string) {
	if prefix == "" {
		return
	}
	path, ok := strings.CutPrefix(u.Path, prefix)
	if !ok || path != "" && path[0] != '/' {
		return
	}
	u.RawPath = strings.TrimPrefix(u.RawPath, prefix)
	if u.Path = path; path == "" {
		u.Path, u.RawPath = "/", ""
	}
}

// fail answers a request that the upstream did not.
func fail(w http.ResponseWriter, r *http.Request, err error, to *upstream) {
	status := failure(r, err)
	if status == statusClientLeft {
		w.WriteHeader(status)
		return
	}
	to.complain(status, err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, http.StatusText(status), status)
}

// failure returns the status for an error of the upstream.
func failure(r *http.Request, err error) int {
	var tooLarge *http.MaxBytesError
	var timeout net.Error
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(r.Context().Err(), context.Canceled):
		return statusClientLeft
	case errors.Is(err, outlier.ErrEjected), errors.Is(err, outlier.ErrNoAddress):
		return http.StatusServiceUnavailable
	case errors.As(err, &timeout) && timeout.Timeout():
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// bufferSize is that of the buffers in which bodies are copied.
const bufferSize = 32 << 10

// buffers pools the buffers in which bodies are copied.
type buffers struct{ pool sync.Pool }

// Get returns a buffer.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return buffer[:]
	}
	return make([]byte, bufferSize)
}

// Put takes a buffer back.
func (b *buffers) Put(buffer []byte) {
	if len(buffer) == bufferSize {
		b.pool.Put((*[bufferSize]byte)(buffer))
	}
}
