package tidegate_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/internal/alloctest"
	"github.com/tidegate-go/tidegate/isolation"
)

var (
	errBusiness = errors.New("business")
	errNotFound = errors.New("not found")
)

// answering returns a guard of which each handler answers with its own name.
func answering(e *tidegate.Engine, handlers ...string) tidegate.Guard[string] {
	g := tidegate.Guard[string]{Engine: e}
	for _, h := range handlers {
		answer := func(context.Context, error) (string, error) { return h, nil }
		switch h {
		case "OnBlock":
			g.OnBlock = func(context.Context, *tidegate.BlockError) (string, error) { return h, nil }
		case "Fallback":
			g.Fallback = answer
		case "Default":
			g.Default = answer
		}
	}
	return g
}

func returning(value string, err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return value, err }
}

func TestGuardPrecedence(t *testing.T) {
	t.Parallel()
	all := []string{"OnBlock", "Fallback", "Default"}
	wrapped := fmt.Errorf("loading: %w", errNotFound)
	path := &fs.PathError{Op: "open", Path: "x", Err: errBusiness}
	onlyNotFound := func(g *tidegate.Guard[string]) { g.TraceErrors = []error{errNotFound} }
	for name, c := range map[string]struct {
		resource string
		handlers []string
		change   func(*tidegate.Guard[string])
		fails    error  // what fn returns, with the value "partial"
		want     string // "" stands for no handler: the zero value and the refusal, or "partial" and fails
		counted  bool
	}{
		"refused: OnBlock first":     {resource: "closed", handlers: all, want: "OnBlock"},
		"refused: then Fallback":     {resource: "closed", handlers: all[1:], want: "Fallback"},
		"refused: then Default":      {resource: "closed", handlers: all[2:], want: "Default"},
		"refused: then the error":    {resource: "closed"},
		"success":                    {resource: "open", handlers: all},
		"failed: Fallback first":     {resource: "open", handlers: all, fails: errBusiness, want: "Fallback", counted: true},
		"failed: then Default":       {resource: "open", handlers: []string{"OnBlock", "Default"}, fails: errBusiness, want: "Default", counted: true},
		"failed: then the error":     {resource: "open", handlers: []string{"OnBlock"}, fails: errBusiness, counted: true},
		"ignored by value":           {resource: "open", handlers: all, fails: wrapped, change: func(g *tidegate.Guard[string]) { g.IgnoreErrors = []error{errNotFound} }},
		"ignored by type":            {resource: "open", handlers: all, fails: path, change: func(g *tidegate.Guard[string]) { g.IgnoreIf = tidegate.HasError[*fs.PathError] }},
		"ignoring wins over tracing": {resource: "open", handlers: all, fails: wrapped, change: func(g *tidegate.Guard[string]) { onlyNotFound(g); g.IgnoreErrors = g.TraceErrors }},
		"traced by value":            {resource: "open", handlers: all, fails: wrapped, change: onlyNotFound, want: "Fallback", counted: true},
		"traced by type":             {resource: "open", handlers: all, fails: path, change: func(g *tidegate.Guard[string]) { onlyNotFound(g); g.TraceIf = tidegate.HasError[*fs.PathError] }, want: "Fallback", counted: true},
		"untraced":                   {resource: "open", handlers: all, fails: errBusiness, change: onlyNotFound},
		"nothing is traced":          {resource: "open", handlers: all, fails: errBusiness, change: func(g *tidegate.Guard[string]) { g.TraceErrors = []error{} }},
		"canceled is ignored":        {resource: "open", handlers: all, fails: context.Canceled},
		"canceled is handled":        {resource: "open", handlers: all, fails: context.Canceled, change: func(g *tidegate.Guard[string]) { g.HandleCanceled = true }, want: "Fallback"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, _ := newEngine(t)
			must(t, e.FlowRules().Load, flow.Rule{Resource: "closed"})
			g := answering(e, c.handlers...)
			if c.change != nil {
				c.change(&g)
			}
			got, err := g.Do(t.Context(), c.resource, returning("partial", c.fails))
			switch {
			case c.want != "":
				if got != c.want || err != nil {
					t.Errorf("answered %q, %v, want %q", got, err, c.want)
				}
			case c.resource == "closed":
				if got != "" || !errors.Is(err, tidegate.ErrFlow) {
					t.Errorf("returned %q, %v, want the refusal", got, err)
				}
			case got != "partial" || err != c.fails: //nolint:errorlint // the very error
				t.Errorf("returned %q, %v, want what fn returned", got, err)
			}
			s, _ := e.ResourceStats(c.resource)
			if counted := s.TotalException == 1; counted != c.counted || s.Active != 0 {
				t.Errorf("counted as a failure: %v, want %v; %d in flight", counted, c.counted, s.Active)
			}
		})
	}
}

// A refusal that comes out of a call inside fn is handled like one at the entry, and is no failure of the outer
// resource even where the engine's classifier says so.
func TestGuardInnerRefusal(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t, tidegate.WithClassifier(func(error) tidegate.Outcome { return tidegate.Failure }))
	must(t, e.FlowRules().Load, flow.Rule{Resource: "inner"})
	inner := func(ctx context.Context) (string, error) {
		err := tidegate.Run(ctx, "inner", func(context.Context) error { return nil }, tidegate.On(e))
		return "", fmt.Errorf("inside: %w", err)
	}
	g := answering(e, "Fallback")
	var resource string
	g.OnBlock = func(_ context.Context, refusal *tidegate.BlockError) (string, error) {
		resource = refusal.Resource
		return "busy", nil
	}
	if got, err := g.Do(t.Context(), "outer", inner); got != "busy" || err != nil || resource != "inner" {
		t.Errorf("answered %q, %v for the refusal of %q", got, err, resource)
	}
	g.IgnoreIf = func(error) bool { return true }
	if got, _ := g.Do(t.Context(), "outer", inner); got != "busy" {
		t.Errorf("answered %q: a refusal is no error to ignore", got)
	}
	if s, _ := e.ResourceStats("outer"); s.TotalException != 0 || s.TotalSuccess != 2 {
		t.Errorf("%d failures of %d calls, want none of 2", s.TotalException, s.TotalSuccess)
	}
}

// An error that a handler returns is the caller's, unchanged and uncounted.
func TestGuardHandlerErrors(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	must(t, e.FlowRules().Load, flow.Rule{Resource: "closed"})
	own := errors.New("own")
	g := tidegate.Guard[int]{
		Engine:   e,
		OnBlock:  func(context.Context, *tidegate.BlockError) (int, error) { return 1, own },
		Fallback: func(context.Context, error) (int, error) { return 2, own },
	}
	fn := func(context.Context) (int, error) { return 3, errBusiness }
	if got, err := g.Do(t.Context(), "closed", fn); got != 1 || err != own { //nolint:errorlint // the very error
		t.Errorf("refused: %d, %v", got, err)
	}
	if got, err := g.Do(t.Context(), "open", fn); got != 2 || err != own { //nolint:errorlint // the very error
		t.Errorf("failed: %d, %v", got, err)
	}
}

// A fallback delivers a reply, is not run for business errors when it is for refusals only, and leaves the place free
// when it panics.
func TestB104FallbackAnswers(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	must(t, e.FlowRules().Load, flow.Rule{Resource: "closed"})
	must(t, e.IsolationRules().Load, isolation.Rule{Resource: "one", Count: 1})

	forBlocks := answering(e, "OnBlock")
	if got, err := forBlocks.Do(t.Context(), "closed", returning("", nil)); got != "OnBlock" || err != nil {
		t.Errorf("refused: %q, %v, want the reply", got, err)
	}
	if got, err := forBlocks.Do(t.Context(), "open", returning("", errBusiness)); got != "" || !errors.Is(err, errBusiness) {
		t.Errorf("failed: %q, %v, want no reply", got, err)
	}

	panicking := tidegate.Guard[string]{Engine: e, Fallback: func(context.Context, error) (string, error) { panic("fallback") }}
	for range 3 {
		if p := panicOf(func() { _, _ = panicking.Do(t.Context(), "one", returning("", errBusiness)) }); p != "fallback" {
			t.Errorf("panic %v came out, want the fallback's", p)
		}
	}
	if _, err := forBlocks.Do(t.Context(), "one", returning("", nil)); err != nil {
		t.Errorf("the place is not free: %v", err)
	}
}

func TestGuardReleasesOnPanic(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	must(t, e.IsolationRules().Load, isolation.Rule{Resource: "one", Count: 1})
	g := answering(e, "OnBlock", "Fallback", "Default")
	if p := panicOf(func() {
		_, _ = g.Do(t.Context(), "one", func(context.Context) (string, error) { panic("fn") })
	}); p != "fn" {
		t.Errorf("panic %v came out, want fn's", p)
	}
	g.IgnoreIf = func(error) bool { panic("predicate") }
	if p := panicOf(func() { _, _ = g.Do(t.Context(), "one", returning("", errBusiness)) }); p != "predicate" {
		t.Errorf("panic %v came out, want the predicate's", p)
	}
	if s, _ := e.ResourceStats("one"); s.Active != 0 || s.TotalException != 2 {
		t.Errorf("%d in flight, %d failures, want 0 and 2", s.Active, s.TotalException)
	}
}

func panicOf(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// A handler runs after the call: it may take the place that the call had.
func TestGuardHandlerHoldsNothing(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	must(t, e.IsolationRules().Load, isolation.Rule{Resource: "one", Count: 1})
	plain := tidegate.Guard[string]{Engine: e}
	g := plain
	g.Fallback = func(ctx context.Context, _ error) (string, error) {
		return plain.Do(ctx, "one", returning("second", nil))
	}
	if got, err := g.Do(t.Context(), "one", returning("", errBusiness)); got != "second" || err != nil {
		t.Errorf("the fallback got %q, %v", got, err)
	}
}

func TestGuardWrongCalls(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	g := answering(e, "OnBlock", "Fallback", "Default")
	if got, err := g.Do(t.Context(), "", returning("ran", nil)); got != "" || !errors.Is(err, tidegate.ErrNoResource) {
		t.Errorf("without a name: %q, %v", got, err)
	}
	g.Call.Count = -1
	if got, err := g.Do(t.Context(), "r", returning("ran", nil)); got != "" || !errors.Is(err, tidegate.ErrNegativeCount) {
		t.Errorf("with a negative count: %q, %v", got, err)
	}
}

// With protection off nothing is counted, and errors are handled all the same.
func TestGuardSwitchedOff(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	e.SetEnabled(false)
	g := answering(e, "OnBlock", "Fallback")
	if got, err := g.Do(t.Context(), "r", returning("", errBusiness)); got != "Fallback" || err != nil {
		t.Errorf("answered %q, %v", got, err)
	}
	if got, err := g.Do(t.Context(), "r", returning("", context.Canceled)); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("answered %q, %v", got, err)
	}
}

func TestGuardZeroValue(t *testing.T) {
	t.Parallel()
	const resource = "guard zero value"
	got, err := tidegate.Guard[int]{}.Do(nil, resource, func(ctx context.Context) (int, error) { //nolint:staticcheck // nil is allowed
		s, _ := tidegate.Default().ResourceStats(resource)
		return int(s.Active), ctx.Err()
	})
	if got != 1 || err != nil {
		t.Errorf("%d calls in flight on the default engine, %v", got, err)
	}
}

func TestGuardAllocs(t *testing.T) {
	e, _ := newEngine(t)
	must(t, e.FlowRules().Load, flow.Rule{Resource: "closed"})
	g := answering(e, "OnBlock", "Fallback")
	ctx, fn := t.Context(), returning("", nil)
	if n := alloctest.Count(func() { _, _ = g.Do(ctx, "closed", fn) }); n != 0 {
		t.Errorf("refused: %v allocations per call, want 0", n)
	}
	// Two for the context that makes calls inside fn children of this one.
	if n := testing.AllocsPerRun(1000, func() { _, _ = g.Do(ctx, "open", fn) }); n > 2 {
		t.Errorf("passed: %v allocations per call, want at most 2", n)
	}
}
