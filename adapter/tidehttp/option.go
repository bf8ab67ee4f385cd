package tidehttp

import (
	"net/http"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// Option sets one thing of a Middleware or a Transport. Options that have no meaning for one of the two say so.
type Option func(*config)

type config struct {
	engine        *tidegate.Engine
	router        router
	resource      func(*http.Request) string
	routeName     func(r *http.Request, pattern string) string
	origin        func(*http.Request) string
	args          []Arg
	proxies       Proxies
	failure       func(status int) bool
	skip          func(*http.Request) bool
	prioritized   func(*http.Request) bool
	count         func(*http.Request) int
	entrance      string
	entranceName  func(r *http.Request, resource string) string
	direct        bool
	kind          chain.ResourceType
	block         func(http.ResponseWriter, *http.Request, *tidegate.BlockError)
	fallback      func(*http.Request, *tidegate.BlockError) (*http.Response, error)
	exitOnUpgrade bool
	sameContext   bool
}

func newConfig(options []Option) config {
	c := config{failure: ServerError, kind: chain.TypeWeb, block: WriteBlock}
	for _, option := range options {
		if option != nil {
			option(&c)
		}
	}
	if c.engine == nil {
		c.engine = tidegate.Default()
	}
	return c
}

// ServerError is the default of WithFailure: statuses of 500 and above are failures.
func ServerError(status int) bool { return status >= http.StatusInternalServerError }

// WithEngine sets the engine; the default, and nil, is tidegate.Default.
func WithEngine(engine *tidegate.Engine) Option { return func(c *config) { c.engine = engine } }

// WithMux names the mux in which the request's route is found, for a middleware that does not stand around the
// mux itself but around other middleware. The default is the wrapped handler if it is a mux, else the pattern that
// a mux further out has put into the request. Without effect for a Transport.
func WithMux(mux *http.ServeMux) Option {
	return func(c *config) {
		if mux != nil {
			c.router = mux
		}
	}
}

// WithResource names the resource from the request. Where it returns "" the name is the default one. A name made
// from what the client sends (path, header) makes as many resources as there are values: take the route's pattern.
func WithResource(name func(*http.Request) string) Option {
	return func(c *config) { c.resource = name }
}

// WithRouteName names the resource from the route's pattern, as it was registered in the mux, "" for unmatched
// requests. Where it returns "" the name is the default one. WithResource wins over it. Without
// effect for a Transport.
func WithRouteName(name func(r *http.Request, pattern string) string) Option {
	return func(c *config) { c.routeName = name }
}

// WithOrigin sets how the caller's name is found: OriginHeader, Proxies.ClientIP, TLSSubject, TLSName or a
// function of one's own. The default is the origin that the request's context carries.
func WithOrigin(origin func(*http.Request) string) Option {
	return func(c *config) { c.origin = origin }
}

// WithArgs sets the arguments that rules about hot parameters see: those listed, in that order, then the path
// wildcards that are not listed, in the order of the pattern. The default is the wildcards alone.
func WithArgs(args ...Arg) Option {
	return func(c *config) { c.args = append([]Arg(nil), args...) }
}

// WithProxies says which proxies are trusted, for the argument ip. The default trusts none: ip is the peer.
func WithProxies(proxies Proxies) Option { return func(c *config) { c.proxies = proxies } }

// WithFailure sets which statuses are failures of the resource; the default is ServerError.
func WithFailure(failure func(status int) bool) Option {
	return func(c *config) {
		if failure != nil {
			c.failure = failure
		}
	}
}

// WithSkip sets which requests are not guarded at all, such as health checks.
func WithSkip(skip func(*http.Request) bool) Option { return func(c *config) { c.skip = skip } }

// WithPrioritized sets which requests may wait for room in a window that is full.
func WithPrioritized(prioritized func(*http.Request) bool) Option {
	return func(c *config) { c.prioritized = prioritized }
}

// WithCount sets how many units a request acquires; 0 and less mean 1.
func WithCount(count func(*http.Request) int) Option { return func(c *config) { c.count = count } }

// WithEntrance names the invocation context of the requests; the default is that of the request's context, else
// the engine's default one.
func WithEntrance(name string) Option { return func(c *config) { c.entrance = name } }

// WithEntranceName names the invocation context of a request from its resource, and wins over WithEntrance; "" stands for
// the default one. Names should be as few as resources are. Without effect for a Transport.
func WithEntranceName(name func(r *http.Request, resource string) string) Option {
	return func(c *config) { c.entranceName = name }
}

// WithType classes the resources; the default is chain.TypeWeb.
func WithType(kind chain.ResourceType) Option { return func(c *config) { c.kind = kind } }

// WithBlockHandler sets who answers refused requests; the default is WriteBlock. Without effect for a Transport.
func WithBlockHandler(block func(http.ResponseWriter, *http.Request, *tidegate.BlockError)) Option {
	return func(c *config) {
		if block != nil {
			c.block = block
		}
	}
}

// WithFallback sets what a Transport returns for refused requests; the default is the *tidegate.BlockError as
// error. It must not use the request's body, which is closed. Without effect for a Middleware.
func WithFallback(fallback func(*http.Request, *tidegate.BlockError) (*http.Response, error)) Option {
	return func(c *config) { c.fallback = fallback }
}

// WithExitOnUpgrade ends the call when the handler takes over the connection, as for WebSockets, instead of when
// the handler returns. The connection then counts neither as in flight nor by its length. Without effect for a
// Transport.
func WithExitOnUpgrade() Option { return func(c *config) { c.exitOnUpgrade = true } }

// WithoutContext serves requests with the context they came with, which saves copying them: EntryFrom finds nothing,
// and guarded calls inside are no children of the request's. It is for handlers that make none, such as proxies.
// Without effect for a Transport.
func WithoutContext() Option { return func(c *config) { c.sameContext = true } }

// WithoutPathValues serves requests by the handler that the wrapped mux found for their route, which saves asking the mux
// again: Request.PathValue finds nothing, Request.Pattern is as ever. It is for handlers that do not ask for path values.
// Without effect where the middleware does not wrap a mux, and for a Transport.
func WithoutPathValues() Option { return func(c *config) { c.direct = true } }
