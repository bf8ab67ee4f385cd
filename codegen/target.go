package codegen

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/packages"
)

// target is an interface to be guarded.
type target struct {
	pkg    *packages.Package
	object *types.TypeName
	params *types.TypeParamList
	iface  *types.Interface
	file   *ast.File // that declares it, nil if its syntax was not read

	guarded   []*types.Func
	unguarded []*types.Func // that only another package can implement
}

// findTarget finds the interface of that name in a package and makes sure that it can be generated.
func findTarget(pkg *packages.Package, name string, to *destination) (*target, error) {
	object, ok := pkg.Types.Scope().Lookup(name).(*types.TypeName)
	if !ok {
		reason := "package " + pkg.PkgPath + " declares no such type"
		if slices.Contains(pkg.Types.Scope().Names(), name) {
			reason = "it is no type"
		}
		return nil, refuse(pkg, pkg.Types.Scope().Lookup(name), name, "%s", reason)
	}
	t := &target{pkg: pkg, object: object}
	switch typ := object.Type().(type) {
	case *types.Named:
		t.params = typ.TypeParams()
	case *types.Alias:
		t.params = typ.TypeParams()
	}
	if err := t.compiles(); err != nil {
		return nil, err
	}
	t.iface, ok = object.Type().Underlying().(*types.Interface)
	switch {
	case !ok:
		return nil, t.refuse(object, "it is no interface")
	case !t.iface.IsMethodSet():
		return nil, t.refuse(object, "it is a constraint, which no value has as its type")
	case t.iface.NumMethods() == 0:
		return nil, t.refuse(object, "it has no methods")
	}
	return t, t.check(to)
}

// check makes sure that the destination can implement the interface, and sorts its methods.
func (t *target) check(to *destination) error {
	r := &reach{to: to, seen: map[types.Type]bool{}}
	if fault := r.object(t.object); fault != "" {
		return t.refuse(t.object, "%s", fault)
	}
	for p := range t.params.TypeParams() {
		if p.Obj().Name() == "_" {
			return t.refuse(p.Obj(), "a type parameter has no name")
		}
		if fault := r.fault(p.Constraint()); fault != "" {
			return t.refuse(p.Obj(), "constraint %s of type parameter %s: %s", p.Constraint(), p.Obj().Name(), fault)
		}
	}
	for m := range t.iface.Methods() {
		if !m.Exported() && !to.isOwn(m.Pkg()) {
			t.unguarded = append(t.unguarded, m)
			continue
		}
		t.guarded = append(t.guarded, m)
		if err := t.checkMethod(r, m); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) checkMethod(r *reach, m *types.Func) error {
	for v := range m.Signature().Params().Variables() {
		if fault := r.fault(v.Type()); fault != "" {
			return t.refuse(v, "method %s: parameter %s: %s", m.Name(), types.TypeString(v.Type(), nil), t.explain(fault))
		}
	}
	for v := range m.Signature().Results().Variables() {
		if fault := r.fault(v.Type()); fault != "" {
			return t.refuse(v, "method %s: result %s: %s", m.Name(), types.TypeString(v.Type(), nil), t.explain(fault))
		}
	}
	return nil
}

// compiles looks for errors within the declarations that make the interface's method set.
func (t *target) compiles() error {
	specs := t.specs()
	todo, seen := []string{t.object.Name()}, map[string]bool{}
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		d, ok := specs[name]
		if seen[name] || !ok {
			continue
		}
		seen[name] = true
		if name == t.object.Name() {
			t.file = d.file
		}
		for _, e := range t.pkg.TypeErrors {
			if e.Pos >= d.spec.Pos() && e.Pos <= d.spec.End() {
				return &Error{At: t.pkg.Fset.Position(e.Pos), Type: t.object.Name(), Reason: e.Msg}
			}
		}
		todo = append(todo, embedded(d.spec.Type)...)
	}
	return nil
}

// declaration is where a type of the package is declared.
type declaration struct {
	file *ast.File
	spec *ast.TypeSpec
}

func (t *target) specs() map[string]declaration {
	specs := map[string]declaration{}
	for _, f := range t.pkg.Syntax {
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				if s, ok := s.(*ast.TypeSpec); ok {
					specs[s.Name.Name] = declaration{f, s}
				}
			}
		}
	}
	return specs
}

// embedded returns the names, within the package, of the types that a type is made of by embedding or by definition.
func embedded(e ast.Expr) []string {
	var found []string
	switch e := e.(type) {
	case *ast.Ident:
		found = append(found, e.Name)
	case *ast.ParenExpr:
		found = embedded(e.X)
	case *ast.IndexExpr:
		found = embedded(e.X)
	case *ast.IndexListExpr:
		found = embedded(e.X)
	case *ast.InterfaceType:
		for _, f := range e.Methods.List {
			if len(f.Names) == 0 {
				found = append(found, embedded(f.Type)...)
			}
		}
	}
	return found
}

// constraint returns the build constraint of the interface's file, nil if it has none.
func (t *target) constraint() constraint.Expr {
	if t.file == nil {
		return nil
	}
	for _, group := range t.file.Comments {
		if group.Pos() > t.file.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				if x, err := constraint.Parse(c.Text); err == nil {
					return x
				}
			}
		}
	}
	return nil
}

// paramNames returns the names of the type parameters.
func (t *target) paramNames() []string {
	taken := map[string]bool{}
	for p := range t.params.TypeParams() {
		taken[p.Obj().Name()] = true
	}
	return slices.Sorted(maps.Keys(taken))
}

func (t *target) refuse(at types.Object, format string, args ...any) error {
	return refuse(t.pkg, at, t.object.Name(), format, args...)
}

// explain adds to the fault of a type what the compiler says of the package.
func (t *target) explain(fault string) string {
	if fault == notCompiling && len(t.pkg.TypeErrors) > 0 {
		fault += ": " + t.pkg.TypeErrors[0].Msg
	}
	return fault
}

// refuse returns an Error. at is where the reason stands; nil, or if that is not known: in the package's first file.
func refuse(pkg *packages.Package, at types.Object, name, format string, args ...any) error {
	e := &Error{Type: name, Reason: fmt.Sprintf(format, args...)}
	if at != nil {
		e.At = pkg.Fset.Position(at.Pos())
	}
	if !e.At.IsValid() && len(pkg.GoFiles) > 0 {
		e.At = token.Position{Filename: pkg.GoFiles[0], Line: 1}
	}
	return e
}
