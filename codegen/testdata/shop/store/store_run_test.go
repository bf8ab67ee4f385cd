package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	things "example.com/shop/item"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/isolation"
)

type ctxKey struct{}

// memory is an implementation that notes what it was called with.
type memory struct {
	got   []any
	fails error
}

func (m *memory) Get(ctx context.Context, id things.ID) (*things.Item, error) {
	m.got = []any{ctx.Value(ctxKey{}), id}
	return &things.Item{Name: string(id)}, m.fails
}

func (m *memory) Put(_ context.Context, id things.ID, item things.Item) error {
	if item.Name == "panic" {
		panic("put")
	}
	m.got = []any{id, item}
	return m.fails
}

func (m *memory) Delete(_ context.Context, ids ...things.ID) (int, error) {
	m.got = []any{ids == nil, len(ids)}
	return len(ids), m.fails
}

func (m *memory) Count() int                { return 7 }
func (m *memory) Close() error              { return m.fails }
func (m *memory) Reset()                    { m.got = []any{"reset"} }
func (m *memory) Both() (things.Item, bool) { return things.Item{Name: "both"}, true }

func (m *memory) Watch(_ context.Context, f func(context.Context, string, ...int) error) <-chan map[string][]things.Item {
	c := make(chan map[string][]things.Item, 1)
	c <- map[string][]things.Item{fmt.Sprint(f(context.Background(), "w", 1, 2)): nil}
	return c
}

func (m *memory) Late(key string, ctx, other context.Context) (time.Duration, error) {
	m.got = []any{key, ctx.Value(ctxKey{}), other.Value(ctxKey{})}
	return time.Second, m.fails
}

func (m *memory) Scalars(_ context.Context, s string, i int, i64 int64, f float64, b bool, u uint8, e error) error {
	m.got = []any{s, i, i64, f, b, u}
	return e
}

func engine(t *testing.T) *tidegate.Engine {
	t.Helper()
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func load[R any](t *testing.T, set *tidegate.RuleSet[R], rules ...R) {
	t.Helper()
	if _, err := set.Load(rules...); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("%s: %#v, want %#v", what, got, want)
	}
}

func TestPassesEverythingOn(t *testing.T) {
	e, m := engine(t), &memory{}
	var s Store = NewGuardedStore(m, e, nil)
	ctx := context.WithValue(context.Background(), ctxKey{}, "ctx")
	other := context.WithValue(context.Background(), ctxKey{}, "other")

	item, err := s.Get(ctx, "a")
	want(t, "Get", []any{item.Name, err, m.got}, []any{"a", nil, []any{"ctx", things.ID("a")}})
	want(t, "Put", []any{s.Put(ctx, "a", *item), m.got}, []any{nil, []any{things.ID("a"), *item}})
	n, err := s.Delete(ctx)
	want(t, "Delete none", []any{n, err, m.got}, []any{0, nil, []any{true, 0}})
	n, err = s.Delete(ctx, "a", "b")
	want(t, "Delete two", []any{n, err, m.got}, []any{2, nil, []any{false, 2}})
	want(t, "Count", s.Count(), 7)
	both, ok := s.Both()
	want(t, "Both", []any{both, ok}, []any{things.Item{Name: "both"}, true})
	s.Reset()
	want(t, "Reset", m.got, []any{"reset"})
	w := <-s.Watch(ctx, func(_ context.Context, key string, n ...int) error { return fmt.Errorf("%s %d", key, len(n)) })
	want(t, "Watch", w, map[string][]things.Item{"w 2": nil})
	d, err := s.Late("k", ctx, other)
	want(t, "Late", []any{d, err, m.got}, []any{time.Second, nil, []any{"k", "ctx", "other"}})
	failed := errors.New("scalars")
	if err := s.Scalars(ctx, "s", 1, 2, 3, true, 4, failed); err != failed {
		t.Errorf("Scalars: %v", err)
	}
	want(t, "Scalars", m.got, []any{"s", 1, int64(2), 3.0, true, uint8(4)})

	for resource, calls := range map[string]int64{"Store.Get": 1, "Store.Delete": 2, "Store.Count": 1, "Store.Watch": 1, "Store.Scalars": 1} {
		if got, _ := e.ResourceStats(resource); got.TotalPass != calls || got.Active != 0 {
			t.Errorf("%s: %d calls, %d in flight, want %d and 0", resource, got.TotalPass, got.Active, calls)
		}
	}
	if got, _ := e.ResourceStats("Store.Scalars"); got.TotalException != 1 {
		t.Errorf("%d failures of Scalars, want 1", got.TotalException)
	}
}

func TestRefusals(t *testing.T) {
	e, m := engine(t), &memory{}
	load(t, e.FlowRules(), flow.Rule{Resource: "Store\\..*", Regex: true})
	s := NewGuardedStore(m, e, nil)
	ctx := context.Background()
	if item, err := s.Get(ctx, "a"); item != nil || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("Get: %v, %v", item, err)
	}
	if n, err := s.Delete(ctx, "a"); n != 0 || !errors.Is(err, tidegate.ErrBlocked) {
		t.Errorf("Delete: %d, %v", n, err)
	}
	both, ok := s.Both()
	want(t, "Both", []any{both, ok}, []any{things.Item{}, false})
	want(t, "Count", s.Count(), 0)
	s.Reset()
	if c := s.Watch(ctx, nil); c != nil {
		t.Error("Watch gave a channel")
	}
	if m.got != nil {
		t.Errorf("the implementation was called with %v", m.got)
	}
}

func TestHandlers(t *testing.T) {
	e, m := engine(t), &memory{}
	load(t, e.FlowRules(), flow.Rule{Resource: "Store.Count"}, flow.Rule{Resource: "Store.Put"})
	busy := errors.New("busy")
	var refused []string
	s := NewGuardedStore(m, e, nil, tidegate.Guard[struct{}]{
		OnBlock: func(_ context.Context, refusal *tidegate.BlockError) (struct{}, error) {
			refused = append(refused, refusal.Resource)
			return struct{}{}, busy
		},
		IgnoreErrors: []error{ErrNotFound},
	})
	want(t, "Count", s.Count(), 0)
	if err := s.Put(context.Background(), "a", things.Item{}); err != busy {
		t.Errorf("Put: %v, want the handler's error", err)
	}
	want(t, "refused", refused, []string{"Store.Count", "Store.Put"})

	m.fails = fmt.Errorf("getting: %w", ErrNotFound)
	if item, err := s.Get(context.Background(), "a"); item == nil || err != m.fails {
		t.Errorf("Get: %v, %v, want what the implementation returned", item, err)
	}
	if got, _ := e.ResourceStats("Store.Get"); got.TotalException != 0 || got.TotalSuccess != 1 {
		t.Errorf("an ignored error counts as a failure")
	}
}

func TestErrorsOpenTheBreaker(t *testing.T) {
	e, m := engine(t), &memory{fails: errors.New("down")}
	load(t, e.DegradeRules(), circuitbreaker.Rule{Resource: "Store.Close", Grade: circuitbreaker.ErrorCount, Count: 1, MinRequestAmount: 1, TimeWindow: 10})
	s := NewGuardedStore(m, e, nil)
	var err error
	for range 3 {
		err = s.Close()
	}
	if !errors.Is(err, tidegate.ErrCircuitOpen) {
		t.Errorf("%v, want the breaker open", err)
	}
}

func TestReleasesOnPanic(t *testing.T) {
	e := engine(t)
	load(t, e.IsolationRules(), isolation.Rule{Resource: "Store.Put", Count: 1})
	s := NewGuardedStore(&memory{}, e, nil)
	func() {
		defer func() { want(t, "panic", recover(), "put") }()
		_ = s.Put(context.Background(), "a", things.Item{Name: "panic"})
	}()
	if err := s.Put(context.Background(), "a", things.Item{}); err != nil {
		t.Errorf("the place is not free: %v", err)
	}
}

// Rules find arguments by name and by position, contexts not counted, and a variadic one as one argument.
func TestArguments(t *testing.T) {
	e := engine(t)
	first := 0
	load(t, e.ParamRules(),
		hotspot.Rule{Resource: "Store.Get", ParamKey: "id", Count: 1},
		hotspot.Rule{Resource: "Store.Late", ParamIdx: &first, Count: 1},
		hotspot.Rule{Resource: "Store.Delete", ParamKey: "ids", Count: 1})
	s := NewGuardedStore(&memory{}, e, nil)
	ctx := context.Background()
	for i, c := range []struct {
		call   func() error
		passes bool
	}{
		{func() error { _, err := s.Get(ctx, "a"); return err }, true},
		{func() error { _, err := s.Get(ctx, "a"); return err }, false},
		{func() error { _, err := s.Get(ctx, "b"); return err }, true},
		{func() error { _, err := s.Late("a", ctx, ctx); return err }, true},
		{func() error { _, err := s.Late("a", ctx, ctx); return err }, false},
		{func() error { _, err := s.Delete(ctx, "a", "b"); return err }, true},
		{func() error { _, err := s.Delete(ctx, "c", "b"); return err }, false},
		{func() error { _, err := s.Delete(ctx, "c"); return err }, true},
	} {
		if err := c.call(); (err == nil) != c.passes || err != nil && !errors.Is(err, tidegate.ErrParam) {
			t.Errorf("call %d: %v, want it to pass: %v", i, err, c.passes)
		}
	}
}

func TestResourceFromTheRequest(t *testing.T) {
	e := engine(t)
	load(t, e.FlowRules(), flow.Rule{Resource: "tenant 1"}, flow.Rule{Resource: "Get of b"}, flow.Rule{Resource: "Store.Count"})
	name := func(ctx context.Context, method string, args []tidegate.Arg) string {
		if tenant, _ := ctx.Value(ctxKey{}).(string); tenant != "" {
			return tenant
		}
		if len(args) > 0 && args[0].Name() == "id" {
			return fmt.Sprint(method, " of ", args[0].Value())
		}
		return ""
	}
	s := NewGuardedStore(&memory{}, e, name)
	ctx := context.Background()
	if _, err := s.Get(context.WithValue(ctx, ctxKey{}, "tenant 1"), "a"); !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("tenant 1: %v", err)
	}
	if _, err := s.Get(context.WithValue(ctx, ctxKey{}, "tenant 2"), "a"); err != nil {
		t.Errorf("tenant 2: %v", err)
	}
	if _, err := s.Get(ctx, "b"); !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("b: %v", err)
	}
	want(t, "Count under its default name", s.Count(), 0)
}

// Calls inside a method are children of its call.
func TestContextReachesTheImplementation(t *testing.T) {
	e := engine(t)
	load(t, e.FlowRules(), flow.Rule{Resource: "inner"})
	s := newGuardedLookup(nesting{e}, e, nil)
	if _, err := s.find(context.Background(), key{"a"}); !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("%v, want the refusal of the inner call", err)
	}
	if got, _ := e.ResourceStats("lookup.find"); got.TotalException != 0 {
		t.Error("a refusal inside counts as a failure")
	}
	want(t, "next", s.next(), entry{3})
	if err := s.do(level(1), key{}); err != nil {
		t.Error(err)
	}
}

type nesting struct{ engine *tidegate.Engine }

func (n nesting) find(ctx context.Context, _ key) (entry, error) {
	return tidegate.Do(ctx, "inner", func(context.Context) (entry, error) { return entry{1}, nil }, tidegate.On(n.engine))
}
func (nesting) next() entry         { return entry{3} }
func (nesting) do(level, key) error { return nil }

func TestDefaultEngineAndNilContext(t *testing.T) {
	s := NewGuardedStore(&memory{}, nil, nil)
	if _, err := s.Delete(nil, "a"); err != nil { //nolint:staticcheck // nil is allowed
		t.Error(err)
	}
	if got, ok := tidegate.Default().ResourceStats("Store.Delete"); !ok || got.TotalPass != 1 {
		t.Error("the default engine has not seen the call")
	}
}

func TestConcurrentCalls(t *testing.T) {
	e := engine(t)
	load(t, e.FlowRules(), flow.Rule{Resource: "HTTPCache.Fetch", Count: 20, StatIntervalInMs: 60_000})
	c := NewGuardedHTTPCache(echo{}, e, nil)
	var mu sync.Mutex
	passed := 0
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			url := fmt.Sprint(i)
			body, err := c.Fetch(url)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			passed++
			if string(body) != url {
				t.Errorf("%s gave %s", url, body)
			}
		})
	}
	wg.Wait()
	if passed != 20 {
		t.Errorf("%d passed, want 20", passed)
	}
}

type echo struct{}

func (echo) Fetch(url string) ([]byte, error) { return []byte(url), nil }
