package tidehttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/tidegate-go/tidegate"
)

// ErrPanicked is the outcome of a call whose handler did not return.
var ErrPanicked = errors.New("the HTTP handler panicked")

// StatusError is the outcome of a call that was answered with a status that is a failure.
type StatusError int

// Error names the status.
func (e StatusError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", int(e), http.StatusText(int(e)))
}

// Middleware guards the handlers that it wraps. Around an http.ServeMux it finds the route of a request in it;
// around a handler that is registered in one it takes the pattern that the mux has found. It is safe for
// concurrent use.
func Middleware(options ...Option) func(http.Handler) http.Handler {
	c := newConfig(options)
	return func(next http.Handler) http.Handler {
		if next == nil {
			next = http.NotFoundHandler()
		}
		return &guard{config: c, next: next, routes: newRoutes(next, c.router)}
	}
}

// guard is a guarded handler.
type guard struct {
	config
	next   http.Handler
	routes *routes
}

const (
	inlineArgs      = 8
	inlineWildcards = 4
)

// ServeHTTP asks the engine about the request and, if it is let in, serves it.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.skip != nil && g.skip(r) {
		g.next.ServeHTTP(w, r)
		return
	}
	var values [inlineWildcards]string
	t := g.routes.of(r, values[:0])
	var a admission
	err := g.enter(r, t, &a)
	switch {
	case err != nil:
		g.refuse(w, r, err)
	case a.entry == tidegate.Entry{}: // protection is off
		g.next.ServeHTTP(w, r)
	default:
		g.serve(&response{ResponseWriter: w, admission: a, exitOnUpgrade: g.exitOnUpgrade}, r, t)
	}
}

// refuse answers a request that a rule refused. An error of another kind is no reason to refuse one.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if blocked, ok := errors.AsType[*tidegate.BlockError](err); ok {
		g.block(w, r, blocked)
		return
	}
	g.next.ServeHTTP(w, r)
}

// enter describes the request to the engine: to the rules of its resource, then to those of its API groups.
func (g *guard) enter(r *http.Request, t route, a *admission) (err error) {
	name, call := g.name(r, t), g.call(r)
	call.Inbound = true
	if g.entranceName != nil {
		call.Entrance = g.entranceName(r, name)
	}
	args := borrowArgs()
	defer args.giveBack()
	call.Args = g.appendArgs(args.list[:0], r, t)
	looked := g.engine.HasGatewayRules()
	if looked {
		call.Args = append(call.Args, tidegate.RequestArg(&request{r, &g.proxies}))
	}
	a.entry, err = g.engine.Enter(r.Context(), name, call)
	if err != nil || !looked {
		return err
	}
	return g.enterGroups(r, call, a)
}

// argList is room for the arguments of a call. The engine copies them.
type argList struct{ list [inlineArgs]tidegate.Arg }

var argLists = sync.Pool{New: func() any { return new(argList) }} //nolint:gochecknoglobals // scratch memory, holds nothing

func borrowArgs() *argList {
	return argLists.Get().(*argList)
}

func (l *argList) giveBack() {
	clear(l.list[:])
	argLists.Put(l)
}

// call fills in what servers and clients have in common.
func (c *config) call(r *http.Request) tidegate.Call {
	call := tidegate.Call{Type: c.kind, Entrance: c.entrance}
	if c.origin != nil {
		call.Origin = c.origin(r)
	}
	if c.prioritized != nil {
		call.Prioritized = c.prioritized(r)
	}
	if c.count != nil {
		call.Count = max(0, c.count(r))
	}
	return call
}

func (g *guard) name(r *http.Request, t route) string {
	if g.resource != nil {
		if name := g.resource(r); name != "" {
			return name
		}
	}
	if g.routeName != nil {
		pattern := ""
		if t.pattern != nil {
			pattern = t.pattern.text
		}
		if name := g.routeName(r, pattern); name != "" {
			return name
		}
	}
	return g.routes.resource(r, t)
}

// serve runs the handler and ends the call with its outcome. A panic is not recovered, so that it goes on as it is.
func (g *guard) serve(seen *response, r *http.Request, t route) {
	inner := r
	if !g.sameContext {
		inner = r.WithContext(&requestContext{tidegate.ContextWith(r.Context(), seen.entry), seen.entry})
	}
	returned := false
	defer func() {
		r.Pattern = inner.Pattern // for middleware further out, such as access logs
		if !returned {
			seen.exit(left(r, ErrPanicked))
		}
	}()
	if g.direct && t.handler != nil {
		inner.Pattern = t.pattern.text
		t.handler.ServeHTTP(seen.writer(), inner)
	} else {
		g.next.ServeHTTP(seen.writer(), inner)
	}
	returned = true
	seen.exit(g.outcome(r, seen.status))
}

// outcome judges how the request ended.
func (g *guard) outcome(r *http.Request, status int) error {
	if status != 0 && g.failure(status) {
		return left(r, StatusError(status))
	}
	return left(r, nil)
}

// left returns err, or that the client left before the end: whatever came of it then is not the resource's fault.
func left(r *http.Request, err error) error {
	if gone := r.Context().Err(); errors.Is(gone, context.Canceled) {
		return gone
	}
	return err
}

// requestContext adds the entry to a context.
type requestContext struct {
	context.Context //nolint:containedctx // it is a context
	entry           tidegate.Entry
}

type entryKey struct{}

// Value returns the entry for its own key.
func (c *requestContext) Value(key any) any {
	if key == (entryKey{}) {
		return c.entry
	}
	return c.Context.Value(key)
}

// EntryFrom returns the entry of the request that the context belongs to, for SetError or an early Exit. It
// returns an entry whose methods do nothing where there is none.
func EntryFrom(ctx context.Context) tidegate.Entry {
	if ctx == nil {
		return tidegate.Entry{}
	}
	entry, _ := ctx.Value(entryKey{}).(tidegate.Entry)
	return entry
}
