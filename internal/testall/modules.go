package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A module is a directory with a go.mod and what its test files offer.
type module struct {
	name  string // the directory relative to the root, with slashes; "." is the root module
	dir   string
	tests int      // test functions, fuzz targets and examples
	alloc []string // packages ("./stat") with tests that match allocPattern
	fuzz  []target
}

// A target is one fuzz function.
type target struct {
	pkg  string // "./document"
	name string // "FuzzParse"
}

// allocPattern is what the names of allocation tests contain. Those run once more without the race detector.
const allocPattern = "Alloc"

// testFunc finds the functions that go test runs. A name like "Testing" that go test ignores does no harm here.
func testFunc() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^func ((Test|Fuzz|Example)\w*)\(`)
}

// findModules returns the modules below root, the root module first, then by directory.
func findModules(root string) ([]*module, error) {
	var mods []*module
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && ignoredDir(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if d.Name() != "go.mod" {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		mods = append(mods, &module{name: filepath.ToSlash(rel), dir: filepath.Dir(path)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for modules: %w", err)
	}
	if len(mods) == 0 {
		return nil, fmt.Errorf("no go.mod in or below %q; run it from the repository's root or give -root", root)
	}
	slices.SortFunc(mods, func(a, b *module) int { return strings.Compare(a.name, b.name) })
	for _, m := range mods {
		if err := m.scan(); err != nil {
			return nil, fmt.Errorf("module %s: %w", m.name, err)
		}
	}
	return mods, nil
}

// ignoredDir tells directories that the go command does not look into either, and installed UI packages.
func ignoredDir(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" ||
		name == "vendor" || name == "node_modules"
}

// scan reads the module's test files, not those of modules nested in it.
func (m *module) scan() error {
	re := testFunc()
	return filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != m.dir && (ignoredDir(d.Name()) || isModule(path)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(d.Name(), "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(m.dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := "."
		if rel != "." {
			pkg = "./" + filepath.ToSlash(rel)
		}
		for _, f := range re.FindAllSubmatch(src, -1) {
			m.add(pkg, string(f[1]))
		}
		return nil
	})
}

func (m *module) add(pkg, name string) {
	if name == "TestMain" {
		return
	}
	m.tests++
	if strings.HasPrefix(name, "Fuzz") {
		m.fuzz = append(m.fuzz, target{pkg, name})
	}
	if strings.Contains(name, allocPattern) && !slices.Contains(m.alloc, pkg) {
		m.alloc = append(m.alloc, pkg)
	}
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return !errors.Is(err, fs.ErrNotExist)
}
