package codegen

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// guard is what the template knows of a guarded type.
type guard struct {
	Interface  string // as the user calls it, in names of resources
	Struct     string
	New        string
	Next       string // type of the implementation
	Declared   string // type parameters
	Used       string
	Embedded   string // name of the type that passes methods on unguarded, "" if there are none
	Assert     bool   // that the interface is implemented
	Context    string // name of package context
	Root       string // name of the root package
	NextField  string
	NameField  string
	GuardField string
	Do         string
	Methods    []*method
}

// method is what the template knows of a method.
type method struct {
	Name     string
	Receiver string
	Params   string // declared
	Results  string // declared, with parentheses; "" if there are none
	Args     string // of the call, for rules
	Pass     string // to the implementation
	Assigned string // results, "" if there are none
	Err      string // the result that is the outcome, "" if there is none
	Ctx      string // the context to enter with
	Inner    string // the context parameter of the guarded function
}

func newGuard(t *target, q types.Qualifier, context, root string) *guard {
	g := &guard{
		Interface: t.object.Name(), Struct: structName(t), New: constructorName(t), Context: context, Root: root,
		Assert: t.params.Len() == 0,
	}
	g.Declared, g.Used = typeParams(t.params, q)
	g.Next = t.object.Name() + g.Used
	if p := q(t.object.Pkg()); p != "" {
		g.Next = p + "." + g.Next
	}
	members := names{}
	for m := range t.iface.Methods() {
		members.take(m.Name())
	}
	g.NextField = members.fresh("next")
	if len(t.unguarded) > 0 {
		g.Embedded = nextName(t)
		g.NextField = g.Embedded
	}
	g.NameField, g.GuardField, g.Do = members.fresh("resource"), members.fresh("guard"), members.fresh("do")
	for _, m := range t.guarded {
		w := &methodWriter{guard: g, q: q, ids: newNames(context, root, "nil", "error")}
		w.ids.take(t.paramNames()...)
		g.Methods = append(g.Methods, w.write(m))
	}
	return g
}

// methodWriter makes one method.
type methodWriter struct {
	guard *guard
	q     types.Qualifier
	ids   names // taken within the method
}

func (w *methodWriter) write(f *types.Func) *method {
	sig := f.Signature()
	m := &method{Name: f.Name(), Ctx: w.guard.Context + ".Background()", Inner: w.guard.Context + ".Context"}
	params := w.names(sig.Params(), "p")
	results := w.names(sig.Results(), "r")
	m.Receiver = w.ids.fresh("g")
	w.params(m, sig, params)
	w.results(m, sig, results)
	return m
}

// names returns a name for every parameter or result: its own where it has one that can be used.
func (w *methodWriter) names(vars *types.Tuple, prefix string) []string {
	chosen := make([]string, vars.Len())
	for i := range chosen {
		if name := vars.At(i).Name(); name != "" && name != "_" {
			chosen[i] = w.ids.fresh(name)
		}
	}
	for i := range chosen {
		if chosen[i] != "" {
			continue
		}
		switch t := vars.At(i).Type(); {
		case prefix == "p" && isContext(t):
			chosen[i] = w.ids.fresh("ctx")
		case prefix == "r" && i == len(chosen)-1 && isError(t):
			chosen[i] = w.ids.fresh("err")
		default:
			chosen[i] = w.ids.fresh(prefix + strconv.Itoa(i))
		}
	}
	return chosen
}

// params writes the parameters, the arguments for rules, and what the implementation is given.
func (w *methodWriter) params(m *method, sig *types.Signature, chosen []string) {
	var declared, args, pass []string
	ctx := ""
	for i, name := range chosen {
		v := sig.Params().At(i)
		variadic := sig.Variadic() && i == len(chosen)-1
		typ := types.TypeString(v.Type(), w.q)
		given := name
		if variadic {
			typ = w.variadic(v.Type())
			given += "..."
		}
		declared, pass = append(declared, name+" "+typ), append(pass, given)
		switch {
		case !isContext(v.Type()):
			args = append(args, w.arg(v, name))
		case ctx == "":
			ctx = name
		}
	}
	m.Params, m.Pass, m.Args = strings.Join(declared, ", "), strings.Join(pass, ", "), "nil"
	if len(args) > 0 {
		m.Args = "[]" + w.guard.Root + ".Arg{" + strings.Join(args, ", ") + "}"
	}
	if ctx != "" {
		m.Ctx, m.Inner = ctx, ctx+" "+w.guard.Context+".Context"
	}
}

// variadic writes the type of a variadic parameter, which is a slice.
func (w *methodWriter) variadic(t types.Type) string {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	return "..." + types.TypeString(t, w.q)
}

// arg makes an argument of a parameter, without boxing where the type allows.
func (w *methodWriter) arg(v *types.Var, name string) string {
	makers := map[types.BasicKind]string{
		types.String: "String", types.Int: "Int", types.Int64: "Int64", types.Float64: "Float64", types.Bool: "Bool",
	}
	maker := "Any"
	if basic, ok := types.Unalias(v.Type()).(*types.Basic); ok && makers[basic.Kind()] != "" {
		maker = makers[basic.Kind()]
	}
	known := v.Name()
	if known == "_" {
		known = ""
	}
	return fmt.Sprintf("%s.%s(%q, %s)", w.guard.Root, maker, known, name)
}

func (w *methodWriter) results(m *method, sig *types.Signature, chosen []string) {
	if len(chosen) == 0 {
		return
	}
	var declared []string
	for i, name := range chosen {
		declared = append(declared, name+" "+types.TypeString(sig.Results().At(i).Type(), w.q))
	}
	m.Results, m.Assigned = "("+strings.Join(declared, ", ")+")", strings.Join(chosen, ", ")
	last := len(chosen) - 1
	if isError(sig.Results().At(last).Type()) {
		m.Err = chosen[last]
	}
}

func isContext(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Context" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "context"
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
