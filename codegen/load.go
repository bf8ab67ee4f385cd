package codegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// loader reads packages by the go command.
type loader struct {
	ctx     context.Context //nolint:containedctx // of one Generate
	dir     string
	overlay map[string][]byte // what stands for the file to be generated
	loaded  map[string]*packages.Package
}

// destination is where generated code goes.
type destination struct {
	file string // absolute
	path string // import path of its directory
	name string // of the package
	own  bool   // the package is the one that the directory holds or will hold, not one beside it as for tests

	declared map[string]token.Position // by the package's other files
}

// directory returns the directory of the package of a pattern, as the user would write it.
func (l *loader) directory(source string) (string, error) {
	if dir, ok := l.isDirectory(source); ok {
		return dir, nil
	}
	pkg, err := l.list(l.dir, source)
	if err != nil {
		return "", err
	}
	if len(pkg.GoFiles) == 0 {
		return "", fmt.Errorf("package %s has no Go files", source)
	}
	return filepath.Dir(pkg.GoFiles[0]), nil
}

// isDirectory says whether the source names a directory, and its path relative to the loader's.
func (l *loader) isDirectory(source string) (string, bool) {
	if source == "" || source == "." {
		return "", true
	}
	info, err := os.Stat(l.abs(source))
	return source, err == nil && info.IsDir()
}

func (l *loader) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(l.dir, path)
}

// list reads a package's name, path and files.
func (l *loader) list(dir, pattern string) (*packages.Package, error) {
	return l.read(&packages.Config{Context: l.ctx, Dir: dir, Mode: packages.NeedName | packages.NeedFiles}, pattern)
}

// load reads and checks the package that a directory or import path names. Types of other packages come from the
// compiler's export data or, where a package does not compile, such as one whose own code is yet to be generated,
// from its source, which takes longer. That code does not compile is no error here.
func (l *loader) load(source string, isPath bool) (*packages.Package, error) {
	c := &packages.Config{
		Context: l.ctx, Dir: l.dir, Overlay: l.overlay,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedSyntax | packages.NeedTypesInfo,
	}
	pattern := source
	if dir, ok := l.isDirectory(source); ok && !isPath {
		c.Dir, pattern = l.abs(dir), "."
	}
	key := c.Dir + "\n" + pattern
	if pkg := l.loaded[key]; pkg != nil {
		return pkg, nil
	}
	pkg, err := l.read(c, pattern)
	if err == nil && slices.ContainsFunc(pkg.TypeErrors, isImportError) {
		c.Mode |= packages.NeedDeps
		pkg, err = l.read(c, pattern)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range pkg.Errors {
		if e.Kind == packages.ParseError || len(pkg.Syntax) == 0 {
			return nil, fmt.Errorf("reading package %s: %w", pkg.PkgPath, e)
		}
	}
	if l.loaded == nil {
		l.loaded = map[string]*packages.Package{}
	}
	l.loaded[key] = pkg
	return pkg, nil
}

func isImportError(e types.Error) bool { return strings.HasPrefix(e.Msg, "could not import") }

func (l *loader) read(c *packages.Config, pattern string) (*packages.Package, error) {
	pkgs, err := packages.Load(c, pattern)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading package %s: %w", pattern, err)
	case len(pkgs) != 1:
		return nil, fmt.Errorf("%s names %d packages; name one", pattern, len(pkgs))
	}
	return pkgs[0], nil
}

// destination looks at the package that the file will belong to.
func (l *loader) destination(file, name string) (*destination, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("finding the output's directory: %w", err)
	}
	dir := filepath.Dir(abs)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("looking at the output's directory: %w", err)
	}
	pkg, err := l.list(dir, ".")
	if err != nil {
		return nil, err
	}
	d := &destination{file: abs, path: pkg.PkgPath, name: name, own: true}
	switch {
	case name == "" && pkg.Name != "":
		d.name = pkg.Name
	case name == "":
		d.name = packageName(filepath.Base(dir))
	case !token.IsIdentifier(name) || token.IsKeyword(name):
		return nil, fmt.Errorf("%q is no name for a package", name)
	case pkg.Name != "" && pkg.Name != name:
		d.own = false
	}
	if err := d.readDeclared(); err != nil {
		return nil, err
	}
	l.overlay = nil
	if old, err := os.ReadFile(abs); err == nil {
		if len(bytes.TrimSpace(old)) > 0 && !generated.Match(old) {
			return nil, fmt.Errorf("%s exists and is not generated; remove it or choose another output", file)
		}
		l.overlay = map[string][]byte{abs: []byte("package " + oldName(old, d.name) + "\n")}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("looking at the output: %w", err)
	}
	l.loaded = nil // read without the overlay
	return d, nil
}

// generated matches the line that marks generated files, as the go command knows it.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// oldName returns the package name that a file states, or the given one.
func oldName(content []byte, name string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", content, parser.PackageClauseOnly)
	if err != nil || f.Name == nil {
		return name
	}
	return f.Name.Name
}

// readDeclared notes the package-level names in the package's files but the output.
func (d *destination) readDeclared() error {
	d.declared = map[string]token.Position{}
	paths, err := filepath.Glob(filepath.Join(filepath.Dir(d.file), "*.go"))
	if err != nil {
		return fmt.Errorf("listing the output's directory: %w", err)
	}
	for _, path := range paths {
		if path == d.file {
			continue
		}
		fset := token.NewFileSet()
		f, _ := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution) // what cannot be read declares nothing
		if f == nil || f.Name == nil || f.Name.Name != d.name {
			continue
		}
		for _, decl := range f.Decls {
			for _, id := range declaredBy(decl) {
				d.declared[id.Name] = fset.Position(id.Pos())
			}
		}
	}
	return nil
}

// declaredBy returns the package-level names that a declaration makes.
func declaredBy(decl ast.Decl) []*ast.Ident {
	var ids []*ast.Ident
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv == nil {
			ids = append(ids, decl.Name)
		}
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				ids = append(ids, spec.Name)
			case *ast.ValueSpec:
				ids = append(ids, spec.Names...)
			}
		}
	}
	return ids
}

// isOwn says whether the generated code will be of that package.
func (d *destination) isOwn(pkg *types.Package) bool { return d.own && d.path == pkg.Path() }

// mayImport says whether code in the destination's directory may import a path, by the rule about internal.
func (d *destination) mayImport(path string) bool {
	parent := ""
	switch i := strings.LastIndex(path, "/internal/"); {
	case i >= 0:
		parent = path[:i]
	case strings.HasSuffix(path, "/internal"):
		parent = strings.TrimSuffix(path, "/internal")
	case path == "internal" || strings.HasPrefix(path, "internal/"):
		return !strings.Contains(strings.SplitN(d.path, "/", 2)[0], ".") // the standard library's own
	default:
		return true
	}
	return d.path == parent || strings.HasPrefix(d.path, parent+"/")
}
