package tidegate_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

func TestWrap(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	must(t, e.FlowRules().Load, flow.Rule{Resource: "double", Count: 1})
	guarded := tidegate.Wrap("double", double, tidegate.Guard[int]{Engine: e})
	if got, err := guarded(t.Context(), 4); got != 8 || err != nil {
		t.Errorf("%d, %v, want 8", got, err)
	}
	if got, err := guarded(t.Context(), 4); got != 0 || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("%d, %v, want a refusal", got, err)
	}
}

// Without options the argument itself is what rules see.
func TestWrapPassesTheArgument(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	first := 0
	must(t, e.ParamRules().Load, hotspot.Rule{Resource: "double", ParamIdx: &first, Count: 1})
	guarded := tidegate.Wrap("double", double, tidegate.Guard[int]{Engine: e})
	for i, want := range []error{nil, tidegate.ErrParam, nil} {
		n := []int{4, 4, 5}[i]
		if _, err := guarded(t.Context(), n); !errors.Is(err, want) {
			t.Errorf("call %d with %d: %v, want %v", i, n, err, want)
		}
	}
}

type order struct {
	id       string
	customer string
	metadata map[string]string
}

func (o order) args() []tidegate.Arg {
	return []tidegate.Arg{tidegate.String("id", o.id), tidegate.String("customer", o.customer)}
}

func TestWrappingArguments(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	last := -1
	must(t, e.ParamRules().Load,
		hotspot.Rule{Resource: "ship", ParamKey: "customer", Count: 1},
		hotspot.Rule{Resource: "ship by depot", ParamIdx: &last, Count: 1})
	ship := func(context.Context, order) (bool, error) { return true, nil }
	w := tidegate.Wrapping[order, bool]{
		Guard:    tidegate.Guard[bool]{Engine: e, Call: tidegate.Call{Args: []tidegate.Arg{tidegate.String("depot", "north")}}},
		Resource: "ship", Args: order.args,
	}
	guarded := w.Func(ship)
	for i, c := range []struct {
		customer string
		want     error
	}{{"ann", nil}, {"ann", tidegate.ErrParam}, {"bob", nil}} {
		if _, err := guarded(t.Context(), order{customer: c.customer}); !errors.Is(err, c.want) {
			t.Errorf("call %d for %s: %v, want %v", i, c.customer, err, c.want)
		}
	}
	w.Resource = "ship by depot"
	guarded = w.Func(ship)
	for i, want := range []error{nil, tidegate.ErrParam} {
		if _, err := guarded(t.Context(), order{}); !errors.Is(err, want) {
			t.Errorf("call %d by depot: %v, want %v", i, err, want)
		}
	}
}

func TestWrapNamed(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	must(t, e.FlowRules().Load, flow.Rule{Resource: "slow-lane"})
	name := func(_ context.Context, o order) string { return o.metadata["resource"] }
	handle := func(_ context.Context, o order) (string, error) { return o.id, nil }
	guard := tidegate.Guard[string]{Engine: e}
	guarded := tidegate.WrapNamed(name, handle, guard)
	in := func(lane string) order { return order{id: "7", metadata: map[string]string{"resource": lane}} }
	if got, err := guarded(t.Context(), in("fast-lane")); got != "7" || err != nil {
		t.Errorf("fast lane: %q, %v", got, err)
	}
	if _, err := guarded(t.Context(), in("slow-lane")); !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("slow lane: %v, want a refusal", err)
	}
	if got, err := guarded(t.Context(), in("")); got != "" || !errors.Is(err, tidegate.ErrNoResource) {
		t.Errorf("without a name: %q, %v", got, err)
	}
	fallback := tidegate.Wrapping[order, string]{Guard: guard, Resource: "slow-lane", Name: name}.Func(handle)
	if _, err := fallback(t.Context(), in("")); !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("without a name: %v, want the refusal of the given resource", err)
	}
}

// One guarded function serves many goroutines, each with its own argument.
func TestWrapConcurrently(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	const callers, limit = 64, 20
	must(t, e.FlowRules().Load, flow.Rule{Resource: "even", Count: limit})
	args := make([]tidegate.Arg, 1, 8) // with room to overwrite each other's
	args[0] = tidegate.Int("shared", 1)
	guarded := tidegate.Wrapping[int, int]{
		Guard: tidegate.Guard[int]{Engine: e, Call: tidegate.Call{Args: args}},
		Name:  func(_ context.Context, n int) string { return [...]string{"even", "odd"}[n%2] },
	}.Func(double)
	var even, odd atomic.Int64
	var wg sync.WaitGroup
	for n := range 2 * callers {
		wg.Go(func() {
			got, err := guarded(t.Context(), n)
			switch {
			case err != nil:
			case got != 2*n:
				t.Errorf("double of %d is %d", n, got)
			case n%2 == 0:
				even.Add(1)
			default:
				odd.Add(1)
			}
		})
	}
	wg.Wait()
	if even.Load() != limit || odd.Load() != callers {
		t.Errorf("%d even and %d odd calls passed, want %d and %d", even.Load(), odd.Load(), limit, callers)
	}
}
