package tidegate

import (
	"context"
	"slices"
)

// Wrapping makes guarded functions of functions with one argument. It is a value; its zero value needs a Resource or
// a Name to be of use.
type Wrapping[A, T any] struct {
	// Guard says how the calls are guarded. Arguments in its Call follow those of the function.
	Guard Guard[T]
	// Resource is the name of the resource.
	Resource string
	// Name computes the resource of each call; nil, or where it returns "": Resource.
	Name func(ctx context.Context, argument A) string
	// Args returns what rules may look at; nil: the argument itself, at position 0 and without a name.
	Args func(argument A) []Arg
}

// Func returns fn guarded. It returns ErrNoResource for a call whose resource has no name.
func (w Wrapping[A, T]) Func(fn func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, argument A) (T, error) {
		guard := w.Guard
		guard.Call.Args = w.args(argument)
		return guard.Do(ctx, w.name(ctx, argument), func(ctx context.Context) (T, error) { return fn(ctx, argument) })
	}
}

func (w *Wrapping[A, T]) name(ctx context.Context, argument A) string {
	if w.Name != nil {
		if name := w.Name(ctx, argument); name != "" {
			return name
		}
	}
	return w.Resource
}

func (w *Wrapping[A, T]) args(argument A) []Arg {
	var args []Arg
	if w.Args != nil {
		args = w.Args(argument)
	} else {
		args = []Arg{Any("", argument)}
	}
	if len(w.Guard.Call.Args) == 0 {
		return args
	}
	return slices.Concat(args, w.Guard.Call.Args)
}

// Wrap returns fn guarded as a call of the resource, its argument open to rules about hot parameters. A guard may be
// given; of several the last counts. Use Wrapping to choose the arguments that rules see.
func Wrap[A, T any](
	resource string, fn func(context.Context, A) (T, error), guard ...Guard[T],
) func(context.Context, A) (T, error) {
	return Wrapping[A, T]{Resource: resource, Guard: last(guard)}.Func(fn)
}

// WrapNamed is Wrap for a function whose resource is computed for each call from its context and argument, such as a
// request with metadata. A call for which name returns "" does not run and gets ErrNoResource.
func WrapNamed[A, T any](
	name func(ctx context.Context, argument A) string, fn func(context.Context, A) (T, error), guard ...Guard[T],
) func(context.Context, A) (T, error) {
	return Wrapping[A, T]{Name: name, Guard: last(guard)}.Func(fn)
}

func last[T any](guards []Guard[T]) (g Guard[T]) {
	if len(guards) > 0 {
		g = guards[len(guards)-1]
	}
	return g
}
