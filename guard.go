package tidegate

import (
	"context"
	"errors"
	"slices"
)

// Guard says how calls are guarded and what answers for those that are refused or fail. The zero value uses the
// default engine and no handler, so Do returns the error. It is a value: copy it, change the copy. Safe for
// concurrent use as far as its functions are.
//
// A call ends in one of these ways, looked for in this order:
//
//  1. Refused by a rule, or fn returned the refusal of a call inside it: OnBlock answers, else Fallback, else
//     Default, else the error is returned. Never counted as a failure.
//  2. An ignored error (IgnoreErrors, IgnoreIf, context.Canceled): returned with fn's value, not counted as a failure.
//  3. A traced error (TraceErrors, TraceIf; if both are nil, every error): counted as the engine's classifier judges
//     it; then Fallback answers, else Default, else fn's value and the error are returned.
//  4. Any other error: like an ignored one.
//
// What a handler returns is returned unchanged, and a panic in it goes on. Handlers get the context given to Do and
// run after the call has ended, so that they hold nothing.
type Guard[T any] struct {
	// Engine decides and counts; nil means the default engine.
	Engine *Engine
	// Call describes the calls; its Args are the arguments that rules look at.
	Call Call

	// OnBlock answers for refused calls. The error is shared: do not change it.
	OnBlock func(ctx context.Context, refusal *BlockError) (T, error)
	// Fallback answers for failed calls and, without OnBlock, for refused ones. Tell them apart by ErrBlocked.
	Fallback func(ctx context.Context, err error) (T, error)
	// Default answers where Fallback would, when there is no Fallback: for guards copied from a common one.
	Default func(ctx context.Context, err error) (T, error)

	// IgnoreErrors are the errors to ignore, found by errors.Is.
	IgnoreErrors []error
	// IgnoreIf says of an error, never nil, whether to ignore it; see HasError.
	IgnoreIf func(err error) bool
	// HandleCanceled makes context.Canceled an error like others; by default it is ignored.
	HandleCanceled bool
	// TraceErrors are the errors to trace, found by errors.Is.
	TraceErrors []error
	// TraceIf says of an error, never nil, whether to trace it; see HasError.
	TraceIf func(err error) bool
}

// HasError says whether err is or wraps an error of type E, as errors.As finds it. It serves as IgnoreIf or TraceIf:
//
//	tidegate.Guard[Page]{IgnoreIf: tidegate.HasError[*NotFoundError]}
func HasError[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// handling is what a guard does with the end of a call.
type handling uint8

const (
	handedOn handling = iota // success, ignored or untraced
	blocked
	traced
)

// Do runs fn as a guarded call of the resource; see Guard. The context given to fn makes guarded calls inside it
// children of this one. If fn panics, the call counts as failed and the panic goes on unchanged, without handlers.
// ErrNoResource and ErrNegativeCount, which tell of a wrong call, are returned without handlers.
func (g Guard[T]) Do(ctx context.Context, resource string, fn func(context.Context) (T, error)) (T, error) {
	if g.Engine == nil {
		g.Engine = Default()
	}
	var value T
	entry, err := g.Engine.Enter(ctx, resource, g.Call)
	if err != nil {
		if !HasError[*BlockError](err) {
			return value, err
		}
		return g.answer(ctx, blocked, value, err)
	}
	value, how, err := g.run(ctx, entry, fn)
	return g.answer(ctx, how, value, err)
}

// run calls fn and ends the call, in any case.
func (g *Guard[T]) run(ctx context.Context, entry Entry, fn func(context.Context) (T, error)) (T, handling, error) {
	end := errPanicked // unless fn and the guard's own functions return
	defer func() { entry.Exit(end) }()
	value, err := fn(ContextWith(ctx, entry))
	how := g.handlingOf(err)
	end = err
	if how != traced && err != nil && g.Engine != nil && g.Engine.judge(err) == Failure {
		end = nil
	}
	return value, how, err
}

// handlingOf says what becomes of a call that fn has ended so.
func (g *Guard[T]) handlingOf(err error) handling {
	switch {
	case err == nil:
		return handedOn
	case HasError[*BlockError](err):
		return blocked
	case g.ignores(err) || !g.traces(err):
		return handedOn
	}
	return traced
}

func (g *Guard[T]) ignores(err error) bool {
	return !g.HandleCanceled && errors.Is(err, context.Canceled) ||
		isAny(err, g.IgnoreErrors) || g.IgnoreIf != nil && g.IgnoreIf(err)
}

func (g *Guard[T]) traces(err error) bool {
	if g.TraceErrors == nil && g.TraceIf == nil {
		return true
	}
	return isAny(err, g.TraceErrors) || g.TraceIf != nil && g.TraceIf(err)
}

func isAny(err error, targets []error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// answer calls the handler for the end of a call, if there is one.
func (g *Guard[T]) answer(ctx context.Context, how handling, value T, err error) (T, error) {
	if how == blocked && g.OnBlock != nil {
		if refusal, ok := errors.AsType[*BlockError](err); ok {
			return g.OnBlock(ctx, refusal)
		}
	}
	switch {
	case how == handedOn:
	case g.Fallback != nil:
		return g.Fallback(ctx, err)
	case g.Default != nil:
		return g.Default(ctx, err)
	}
	return value, err
}
