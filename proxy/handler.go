package proxy

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
	"github.com/tidegate-go/tidegate/chain"
)

// newHandler returns what a server serves: the limits around the rules around the routes.
func newHandler(c *Config, e *tidegate.Engine, upstreams map[string]*upstream, logger *slog.Logger) (http.Handler, error) {
	proxies, err := c.proxies()
	if err != nil {
		return nil, err
	}
	mux, ids, pool := http.NewServeMux(), map[string]string{}, &buffers{}
	for i := range c.Routes {
		r := &c.Routes[i]
		if err := register(mux, r.text(), newRoute(r, upstreams[r.Upstream], proxies, pool, logger)); err != nil {
			return nil, err
		}
		ids[r.text()] = r.ID
	}
	options := []tidehttp.Option{
		tidehttp.WithEngine(e), tidehttp.WithType(chain.TypeGateway), tidehttp.WithProxies(proxies),
		tidehttp.WithoutContext(), tidehttp.WithoutPathValues(), tidehttp.WithEntranceName(entrances(c.Routes)),
		tidehttp.WithRouteName(func(_ *http.Request, pattern string) string { return ids[pattern] }),
		tidehttp.WithOrigin(c.origin(proxies)), tidehttp.WithBlockHandler(c.Block.handler()),
	}
	args, err := c.args()
	if err != nil {
		return nil, err
	}
	guarded := tidehttp.Middleware(append(options, tidehttp.WithArgs(args...))...)(mux)
	return limited(guarded, c.headerLimit(), int64(or(c.Limits.Body, 10<<20))), nil
}

func (c *Config) headerLimit() int { return int(or(c.Limits.Header, 64<<10)) }

func (c *Config) proxies() (tidehttp.Proxies, error) {
	proxies := tidehttp.Proxies{Forwarded: c.Forwarded}
	for _, text := range c.TrustedProxies {
		network, err := parseNetwork(text)
		if err != nil {
			return proxies, err
		}
		proxies.Trusted = append(proxies.Trusted, network)
	}
	return proxies, nil
}

func (c *Config) args() ([]tidehttp.Arg, error) {
	args := make([]tidehttp.Arg, len(c.Args))
	for i, text := range c.Args {
		arg, err := tidehttp.ParseArg(text)
		if err != nil {
			return nil, err
		}
		args[i] = arg
	}
	return args, nil
}

// origin returns how the caller of a request is found, nil for not at all.
func (c *Config) origin(proxies tidehttp.Proxies) func(*http.Request) string {
	switch {
	case c.Origin.Header != "":
		return tidehttp.OriginHeader(c.Origin.Header)
	case c.Origin.ClientIP:
		return proxies.ClientIP
	case c.Origin.TLS == "name":
		return tidehttp.TLSName
	case c.Origin.TLS != "":
		return tidehttp.TLSSubject
	}
	return nil
}

// handler answers refused requests as configured.
func (b Block) handler() func(http.ResponseWriter, *http.Request, *tidegate.BlockError) {
	return func(w http.ResponseWriter, r *http.Request, err *tidegate.BlockError) {
		status := b.Status
		if status == 0 {
			status = tidehttp.BlockStatus(err)
		}
		if b.Body == "" {
			tidehttp.WriteBlockStatus(w, r, err, status)
			return
		}
		kind := b.ContentType
		if kind == "" {
			kind = "text/plain; charset=utf-8"
		}
		tidehttp.SetRetryAfter(w.Header(), err)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", strconv.Itoa(len(b.Body)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, b.Body) // the client may be gone
	}
}

// limited refuses requests whose header or body is too large, before any rule counts them. A body of unknown length is
// cut off where it exceeds the limit.
func limited(next http.Handler, header int, body int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if headerSize(r) > header {
			tooLarge(w, http.StatusRequestHeaderFieldsTooLarge)
			return
		}
		if body > 0 && r.ContentLength > body {
			tooLarge(w, http.StatusRequestEntityTooLarge)
			return
		}
		if body > 0 && r.Body != nil && r.Body != http.NoBody {
			r.Body = http.MaxBytesReader(w, r.Body, body)
		}
		next.ServeHTTP(w, r)
	})
}

func tooLarge(w http.ResponseWriter, status int) {
	w.Header().Set("Connection", "close")
	http.Error(w, http.StatusText(status), status)
}

// headerSize returns the bytes of the request line and the header fields, as HTTP/1 writes them.
func headerSize(r *http.Request) int {
	size := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("  \r\n") + len("Host: \r\n") + len(r.Host)
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(": \r\n") + len(value)
		}
	}
	return size
}
