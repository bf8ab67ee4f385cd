package tidegate

import (
	"context"
	"sync"
)

// DoOption changes how Do guards a function: a Call, or On(engine).
type DoOption interface{ apply(*doConfig) }

type doConfig struct {
	engine *Engine
	call   Call
}

type callOption Call

func (o callOption) apply(c *doConfig) { c.call = Call(o) }

type engineOption struct{ engine *Engine }

func (o engineOption) apply(c *doConfig) { c.engine = o.engine }

// On makes Do use that engine instead of the default one.
func On(engine *Engine) DoOption { return engineOption{engine} }

// As makes Do describe the call so.
func As(call Call) DoOption { return callOption(call) }

// Do runs fn as a guarded call of the resource. If the rules refuse it, fn does not run and the error is a
// *BlockError. The call ends with fn's error, and as a failure if fn panics; the panic goes on unchanged.
// The context given to fn makes guarded calls inside it children of this one.
func Do[T any](ctx context.Context, resource string, fn func(context.Context) (T, error), options ...DoOption) (T, error) {
	var c doConfig
	for _, o := range options {
		if o != nil {
			o.apply(&c)
		}
	}
	if c.engine == nil {
		c.engine = Default()
	}
	entry, err := c.engine.Enter(ctx, resource, c.call)
	if err != nil {
		var zero T
		return zero, err
	}
	returned := false
	defer func() {
		if !returned {
			entry.Exit(errPanicked)
		}
	}()
	value, err := fn(ContextWith(ctx, entry))
	returned = true
	entry.Exit(err)
	return value, err
}

// Run is Do for a function without a value.
func Run(ctx context.Context, resource string, fn func(context.Context) error, options ...DoOption) error {
	_, err := Do(ctx, resource, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) }, options...)
	return err
}

var defaultEngine = sync.OnceValue(func() *Engine { //nolint:gochecknoglobals // the one documented default engine
	e, err := New()
	if err != nil {
		return nil // no option, no error: and a nil engine lets every call pass
	}
	return e
})

// Default returns the engine behind the functions of the package, made at first use.
func Default() *Engine { return defaultEngine() }

// Enter asks the default engine to let a call into the resource; see Engine.Enter.
func Enter(ctx context.Context, resource string, call Call) (Entry, error) {
	return Default().Enter(ctx, resource, call)
}
