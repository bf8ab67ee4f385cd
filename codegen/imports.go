package codegen

import (
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The package that guards calls; its name is so under every path.
const (
	rootPath = "github.com/tidegate-go/tidegate"
	rootName = "tidegate"
)

// imports are the packages that a generated file imports, and the names it gives them.
type imports struct {
	taken  names             // what an import must not be called
	wanted map[string]string // path to name, as the interfaces' files call them
	named  map[string]string // path to name, of those imported
}

func newImports() *imports {
	return &imports{taken: newNames(predeclared()...), wanted: map[string]string{}, named: map[string]string{}}
}

// want notes what a file calls the packages that it imports under another name.
func (im *imports) want(f *ast.File) {
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err == nil && spec.Name != nil && spec.Name.Name != "." && spec.Name.Name != "_" {
			im.wanted[p] = spec.Name.Name
		}
	}
}

// name returns what the file calls a package, and imports it.
func (im *imports) name(p, name string) string {
	if n, ok := im.named[p]; ok {
		return n
	}
	if w := im.wanted[p]; w != "" {
		name = w
	}
	n := im.taken.fresh(name)
	im.named[p] = n
	return n
}

// qualifier names the packages of types in code of the destination.
func (im *imports) qualifier(to *destination) types.Qualifier {
	return func(pkg *types.Package) string {
		if to.isOwn(pkg) {
			return ""
		}
		return im.name(pkg.Path(), pkg.Name())
	}
}

// write returns the import declaration: the standard library, others, and the root package.
func (im *imports) write() string {
	var groups [3][]string
	for p, n := range im.named {
		line := strconv.Quote(p)
		if n != path.Base(p) && (p != rootPath || n != rootName) {
			line = n + " " + line
		}
		group := 1
		first, _, _ := strings.Cut(p, "/")
		switch {
		case p == rootPath:
			group = 2
		case !strings.Contains(first, "."):
			group = 0
		}
		groups[group] = append(groups[group], line)
	}
	var b strings.Builder
	b.WriteString("import (\n")
	for _, lines := range groups {
		slices.SortFunc(lines, func(a, b string) int {
			return strings.Compare(a[strings.IndexByte(a, '"'):], b[strings.IndexByte(b, '"'):])
		})
		for _, l := range lines {
			fmt.Fprintf(&b, "\t%s\n", l)
		}
		b.WriteString("\n")
	}
	b.WriteString(")\n")
	return b.String()
}
