package codegen

import (
	"fmt"
	"go/types"
	"strings"
)

// notCompiling is the fault of a type that the compiler does not know.
const notCompiling = "it does not compile"

// reach tells whether the generated code can name types.
type reach struct {
	to   *destination
	seen map[types.Type]bool
}

// fault returns why code in the destination cannot name the type, "" if it can.
func (r *reach) fault(t types.Type) string {
	if r.seen[t] {
		return ""
	}
	r.seen[t] = true
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return notCompiling
		}
		return ""
	case *types.Named:
		return r.either(r.object(t.Obj()), r.list(t.TypeArgs()))
	case *types.Alias:
		return r.either(r.object(t.Obj()), r.list(t.TypeArgs()))
	case *types.Map:
		return r.either(r.fault(t.Key()), r.fault(t.Elem()))
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		return r.fault(t.Elem())
	case *types.Signature:
		return r.either(r.tuple(t.Params()), r.tuple(t.Results()))
	case *types.Struct:
		return r.fields(t)
	case *types.Interface:
		return r.members(t)
	case *types.Union:
		for term := range t.Terms() {
			if f := r.fault(term.Type()); f != "" {
				return f
			}
		}
	}
	return "" // a type parameter
}

func (*reach) either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (r *reach) list(l *types.TypeList) string {
	for t := range l.Types() {
		if f := r.fault(t); f != "" {
			return f
		}
	}
	return ""
}

func (r *reach) tuple(t *types.Tuple) string {
	for v := range t.Variables() {
		if f := r.fault(v.Type()); f != "" {
			return f
		}
	}
	return ""
}

func (r *reach) fields(s *types.Struct) string {
	for f := range s.Fields() {
		if fault := r.member(f, "field"); fault != "" {
			return fault
		}
		if fault := r.fault(f.Type()); fault != "" {
			return fault
		}
	}
	return ""
}

func (r *reach) members(t *types.Interface) string {
	for m := range t.ExplicitMethods() {
		if fault := r.member(m, "method"); fault != "" {
			return fault
		}
		if fault := r.fault(m.Type()); fault != "" {
			return fault
		}
	}
	for e := range t.EmbeddedTypes() {
		if fault := r.fault(e); fault != "" {
			return fault
		}
	}
	return ""
}

// member returns why a type written out in the destination would not be the type with this field or method.
func (r *reach) member(o types.Object, what string) string {
	if o.Exported() || o.Pkg() == nil || r.to.isOwn(o.Pkg()) {
		return ""
	}
	return fmt.Sprintf("it has the unexported %s %s of package %s", what, o.Name(), o.Pkg().Path())
}

// object returns why code in the destination cannot write the name of a type.
func (r *reach) object(o *types.TypeName) string {
	pkg := o.Pkg()
	switch {
	case pkg == nil:
		return ""
	case strings.HasPrefix(o.Name(), "_Ctype_") || pkg.Path() == "C":
		return "it is a type of C, which only the file that declares it can name"
	case r.to.isOwn(pkg):
		return ""
	case !o.Exported():
		return fmt.Sprintf("%s.%s is not exported", pkg.Path(), o.Name())
	case pkg.Name() == "main":
		return fmt.Sprintf("%s.%s is of a command, which cannot be imported", pkg.Path(), o.Name())
	case !r.to.mayImport(pkg.Path()):
		return fmt.Sprintf("package %s is internal and cannot be imported from %s", pkg.Path(), r.to.path)
	}
	return ""
}
