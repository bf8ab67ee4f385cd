package codegen

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"go/format"
	"go/token"
	"go/types"
	"strings"
	"text/template"

	"golang.org/x/tools/go/packages"
)

// output is a file in the making.
type output struct {
	to      *destination
	imports *imports
	top     names // package-level names
	targets []*target
}

func newOutput(to *destination) *output {
	o := &output{to: to, imports: newImports(), top: names{}}
	for name := range to.declared {
		o.imports.taken.take(name)
	}
	return o
}

// add adds an interface of a package.
func (o *output) add(pkg *packages.Package, name string) error {
	t, err := findTarget(pkg, name, o.to)
	if err != nil {
		return err
	}
	if err := o.clashes(t); err != nil {
		return err
	}
	o.imports.taken.take(t.paramNames()...)
	if t.file != nil {
		o.imports.want(t.file)
	}
	o.targets = append(o.targets, t)
	return nil
}

// clashes takes the names of the guarded type, and refuses if one is in use or if a predeclared name that the code
// relies on is not what it is.
func (o *output) clashes(t *target) error {
	for _, name := range []string{structName(t), constructorName(t), nextName(t)} {
		if at, ok := o.to.declared[name]; ok {
			return &Error{At: at, Type: t.object.Name(), Reason: "the package has a " + name + " already, and the guarded type needs the name"}
		}
		if o.top[name] {
			return t.refuse(t.object, "the same file would have two types called %s", name)
		}
		o.top.take(name)
		o.imports.taken.take(name)
	}
	for _, name := range []string{"error", "string", "nil"} {
		if at, ok := o.to.declared[name]; ok {
			return &Error{At: at, Type: t.object.Name(), Reason: "the package declares " + name + " anew, and the generated code needs the predeclared one"}
		}
		for p := range t.params.TypeParams() {
			if p.Obj().Name() == name {
				return t.refuse(p.Obj(), "a type parameter is called %s, and the generated code needs the predeclared name", name)
			}
		}
	}
	return nil
}

func structName(t *target) string {
	if token.IsExported(t.object.Name()) {
		return "Guarded" + t.object.Name()
	}
	return "guarded" + upperFirst(t.object.Name())
}

func constructorName(t *target) string {
	if token.IsExported(t.object.Name()) {
		return "New" + structName(t)
	}
	return "new" + upperFirst(structName(t))
}

// nextName is the type through which methods of other packages are passed on.
func nextName(t *target) string { return "guarded" + upperFirst(t.object.Name()) + "Next" }

// source returns the file.
func (o *output) source(header string) ([]byte, error) {
	context := o.imports.name("context", "context")
	root := o.imports.name(rootPath, rootName)
	guards := make([]*guard, 0, len(o.targets))
	for _, t := range o.targets {
		guards = append(guards, newGuard(t, o.imports.qualifier(o.to), context, root))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", header)
	if x := o.constraint(); x != nil {
		fmt.Fprintf(&b, "//go:build %s\n\n", x)
	}
	fmt.Fprintf(&b, "package %s\n\n%s\n", o.to.name, o.imports.write())
	layout, err := template.New("guard").Parse(guardTemplate)
	if err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	for _, g := range guards {
		if err := layout.Execute(&b, g); err != nil {
			return nil, fmt.Errorf("writing %s: %w", g.Struct, err)
		}
	}
	content, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("formatting the code for %s: %w", strings.TrimPrefix(header, "// "), err)
	}
	return content, nil
}

// constraint returns what all the interfaces' files are built under.
func (o *output) constraint() constraint.Expr {
	var all constraint.Expr
	seen := map[string]bool{}
	for _, t := range o.targets {
		x := t.constraint()
		switch {
		case x == nil || seen[x.String()]:
			continue
		case all == nil:
			all = x
		default:
			all = &constraint.AndExpr{X: all, Y: x}
		}
		seen[x.String()] = true
	}
	return all
}

// typeParams returns a type parameter list for declarations and one for uses, both "" without parameters.
func typeParams(params *types.TypeParamList, q types.Qualifier) (declared, used string) {
	if params.Len() == 0 {
		return "", ""
	}
	var d, u []string
	for p := range params.TypeParams() {
		d = append(d, p.Obj().Name()+" "+types.TypeString(p.Constraint(), q))
		u = append(u, p.Obj().Name())
	}
	return "[" + strings.Join(d, ", ") + "]", "[" + strings.Join(u, ", ") + "]"
}
