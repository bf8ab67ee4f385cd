package tidegate_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
)

// callAll calls every exported method of v with zero arguments and reports those that panic.
func callAll(t *testing.T, what string, v any) {
	t.Helper()
	value := reflect.ValueOf(v)
	for i := range value.NumMethod() {
		method := value.Method(i)
		name := what + "." + value.Type().Method(i).Name
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s panics: %v", name, p)
				}
			}()
			kind := method.Type()
			args := make([]reflect.Value, kind.NumIn())
			for j := range args {
				args[j] = reflect.Zero(kind.In(j))
			}
			var results []reflect.Value
			if kind.IsVariadic() {
				results = method.CallSlice(args)
			} else {
				results = method.Call(args)
			}
			for _, r := range results {
				follow(t, name, r)
			}
		}()
	}
}

// follow calls what a method returned: cancel functions, and the methods of rule sets.
func follow(t *testing.T, name string, r reflect.Value) {
	t.Helper()
	switch {
	case r.Kind() == reflect.Func && r.Type().NumIn() == 0:
		if !r.IsNil() {
			r.Call(nil)
		} else {
			t.Errorf("%s returns a nil function", name)
		}
	case r.Kind() == reflect.Pointer && r.Type().Elem().PkgPath() == reflect.TypeFor[tidegate.Engine]().PkgPath():
		callAll(t, name+"()", r.Interface())
	}
}

func TestNilAndZeroValues(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	callAll(t, "(*Engine)(nil)", (*tidegate.Engine)(nil))
	callAll(t, "new(Engine)", new(tidegate.Engine))
	callAll(t, "engine", e)
	callAll(t, "(*RuleSet)(nil)", (*tidegate.RuleSet[flow.Rule])(nil))
	callAll(t, "new(RuleSet)", new(tidegate.RuleSet[flow.Rule]))
	callAll(t, "Entry{}", tidegate.Entry{})
	callAll(t, "Arg{}", tidegate.Arg{})
	callAll(t, "(*BlockError)(nil)", (*tidegate.BlockError)(nil))
	callAll(t, "new(BlockError)", new(tidegate.BlockError))
	callAll(t, "Report{}", tidegate.Report{})
	callAll(t, "Kind", tidegate.Kind(200))
	callAll(t, "RuleReport", chain.RuleReport{Verdict: 200})
	callAll(t, "(*ClusterConfig)(nil)", (*flow.ClusterConfig)(nil))
}

func TestNilEngineLetsPass(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*tidegate.Engine{"nil": nil, "zero": new(tidegate.Engine)} {
		entry, err := e.Enter(t.Context(), "r", tidegate.Call{})
		if err != nil || entry.Open() {
			t.Errorf("%s: %v", name, err)
		}
		entry.Exit(nil)
		if _, err := e.Enter(t.Context(), "", tidegate.Call{}); !errors.Is(err, tidegate.ErrNoResource) {
			t.Errorf("%s: no resource: %v", name, err)
		}
	}
}

func TestNilArgumentsOfFunctions(t *testing.T) {
	t.Parallel()
	e, _ := newEngine(t)
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
		}
	}()
	//nolint:staticcheck // a nil context is like Background
	{
		ctx := tidegate.WithOrigin(tidegate.WithEntrance(nil, "web"), "app")
		if tidegate.OriginFrom(ctx) != "app" || tidegate.OriginFrom(nil) != "" {
			t.Error("origin")
		}
		entry, _ := e.Enter(nil, "r", tidegate.Call{})
		if ctx := tidegate.ContextWith(nil, entry); ctx == nil {
			t.Error("no context")
		}
		entry.Exit(nil)
		if err := tidegate.Run(nil, "r", func(context.Context) error { return nil }, tidegate.On(e)); err != nil {
			t.Error(err)
		}
	}
	if err := tidegate.Run(t.Context(), "r", func(context.Context) error { return nil }, tidegate.On(e), nil); err != nil {
		t.Error(err)
	}
	e.OnBreakerChange(nil)
	load(t, e.DegradeRules(), tripsAtOnce)
	entry, _ := e.Enter(t.Context(), "r", tidegate.Call{})
	entry.Exit(errCall)
	cancel := e.FlowRules().Subscribe(nil)
	load(t, e.FlowRules(), `{"resource":"r","count":1}`)
	cancel()
}
