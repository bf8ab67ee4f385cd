package tidegate

import (
	"context"

	"github.com/tidegate-go/tidegate/stat"
)

// callScope is what a context carries for the calls made under it. It is immutable.
type callScope struct {
	entrance string
	origin   string
	parent   *stat.ContextNode
}

type scopeKey struct{}

// noScope is what a context carries that carries nothing.
var noScope callScope //nolint:gochecknoglobals // never written

// scopeContext is a context with a scope, in one allocation.
type scopeContext struct {
	context.Context
	scope callScope
}

// Value returns the scope for its key.
func (c *scopeContext) Value(key any) any {
	if key == (scopeKey{}) {
		return &c.scope
	}
	return c.Context.Value(key)
}

// scopeOf reads the context once; it never derives one.
func scopeOf(ctx context.Context) *callScope {
	if ctx == nil {
		return nil
	}
	s, _ := ctx.Value(scopeKey{}).(*callScope)
	return s
}

func withScope(ctx context.Context, change func(*callScope)) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	derived := &scopeContext{Context: ctx}
	if old := scopeOf(ctx); old != nil {
		derived.scope = *old
	}
	change(&derived.scope)
	return derived
}

// WithEntrance names the invocation context of the calls made under the returned context. Chain rules and the
// invocation tree know it. The first name wins: under a context that has one, name is ignored.
func WithEntrance(ctx context.Context, name string) context.Context {
	if s := scopeOf(ctx); s != nil && s.entrance != "" {
		return ctx
	}
	return withScope(ctx, func(s *callScope) { s.entrance = name })
}

// WithOrigin names the caller on whose behalf calls under the returned context are made.
func WithOrigin(ctx context.Context, origin string) context.Context {
	return withScope(ctx, func(s *callScope) { s.origin = origin })
}

// ContextWith returns a context under which calls are children of the entry in the invocation tree and share its
// entrance and origin. It allocates; an entry that is not open returns ctx as it is.
func ContextWith(ctx context.Context, entry Entry) context.Context {
	s, ok := entry.scope()
	if !ok {
		return ctx
	}
	return withScope(ctx, func(into *callScope) { *into = s })
}

// OriginFrom returns the origin that the context carries, "" if none.
func OriginFrom(ctx context.Context) string {
	if s := scopeOf(ctx); s != nil {
		return s.origin
	}
	return ""
}
