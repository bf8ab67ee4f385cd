package generic

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

type table[K comparable, V any] struct{ values map[K]V }

func (t table[K, V]) List(_ context.Context, limit int) ([]V, error) {
	var l []V
	for _, v := range t.values {
		l = append(l, v)
	}
	return l[:min(limit, len(l))], nil
}

func (t table[K, V]) Get(_ context.Context, key K) (V, error) { return t.values[key], nil }

func (t table[K, V]) Put(_ context.Context, key K, values ...V) error {
	for _, v := range values {
		t.values[key] = v
	}
	return nil
}

func (t table[K, V]) All() map[K]V { return t.values }

func TestRepository(t *testing.T) {
	e, err := tidegate.New()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "Repository.List"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.ParamRules().Load(hotspot.Rule{Resource: "Repository.Get", ParamKey: "key", Count: 1}); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var r Repository[int, string] = NewGuardedRepository(Repository[int, string](table[int, string]{map[int]string{}}), e, nil)
	if err := r.Put(ctx, 1, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if v, err := r.Get(ctx, 1); v != "b" || err != nil {
		t.Errorf("Get: %q, %v", v, err)
	}
	if v, err := r.Get(ctx, 1); v != "" || !errors.Is(err, tidegate.ErrParam) {
		t.Errorf("Get of the same key: %q, %v, want it refused", v, err)
	}
	if l, err := r.List(ctx, 5); l != nil || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("List, of the embedded interface: %v, %v, want it refused", l, err)
	}
	if m := r.All(); len(m) != 1 {
		t.Errorf("All: %v", m)
	}
	var s Strings = NewGuardedStrings(table[string, string]{map[string]string{"k": "v"}}, e, nil)
	if v, err := s.Get(ctx, "k"); v != "v" || err != nil {
		t.Errorf("Strings: %q, %v", v, err)
	}
}

type celsius float64

type name string

func (n name) String() string { return string(n) }

type adder struct{}

func (adder) Sum(_ context.Context, n []celsius) (celsius, error) {
	sum := celsius(0)
	for _, v := range n {
		sum += v
	}
	return sum, nil
}
func (adder) Name(n name) string { return n.String() }

type byValue int

func (a byValue) Less(b byValue) bool { return a < b }

type sorter struct{}

func (sorter) Sort(_ context.Context, values []byValue) ([]byValue, error) {
	return slices.Sorted(slices.Values(values)), nil
}

func TestConstraints(t *testing.T) {
	ctx := context.Background()
	var n Numbers[celsius, []celsius, name] = NewGuardedNumbers[celsius, []celsius, name](adder{}, nil, nil)
	if sum, err := n.Sum(ctx, []celsius{1, 2}); sum != 3 || err != nil || n.Name("x") != "x" {
		t.Errorf("Sum: %v, %v", sum, err)
	}
	s := NewGuardedRecursive[byValue](sorter{}, nil, nil)
	if got, err := s.Sort(ctx, []byValue{2, 1}); err != nil || !slices.Equal(got, []byValue{1, 2}) {
		t.Errorf("Sort: %v, %v", got, err)
	}
}
