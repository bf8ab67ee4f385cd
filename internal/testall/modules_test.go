package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFindModules(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"go.mod":                           "module m",
		"a_test.go":                        "package m\n\nfunc TestMain(m *testing.M) {}\n\nfunc TestA(t *testing.T) {}\n",
		"stat/s_test.go":                   "package stat\n\nfunc TestAddAllocs(t *testing.T) {}\n\nfunc TestReadAllocs(t *testing.T) {}\n",
		"stat/testdata/go.mod":             "module ignored",
		"document/yaml/go.mod":             "module m/document/yaml",
		"document/yaml/y_test.go":          "package yaml\n\nfunc FuzzParse(f *testing.F) {}\n\nfunc Example() {}\n",
		"tools/go.mod":                     "module m/tools",
		"dashboard/ui/node_modules/go.mod": "module ignored",
		".bin/go.mod":                      "module ignored",
		"benchmarks/go.mod":                "module m/benchmarks",
		"benchmarks/b_test.go":             "package benchmarks\n\nfunc BenchmarkEntry(b *testing.B) {}\n",
	})
	mods, err := findModules(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	byName := map[string]*module{}
	for _, m := range mods {
		got, byName[m.name] = append(got, m.name), m
	}
	if want := []string{".", "benchmarks", "document/yaml", "tools"}; !slices.Equal(got, want) {
		t.Fatalf("modules %q, want %q", got, want)
	}
	for name, want := range map[string]int{".": 3, "benchmarks": 0, "document/yaml": 2, "tools": 0} {
		if byName[name].tests != want {
			t.Errorf("module %s has %d tests, want %d", name, byName[name].tests, want)
		}
	}
	if got, want := byName["."].alloc, []string{"./stat"}; !slices.Equal(got, want) {
		t.Errorf("packages with allocation tests %q, want %q", got, want)
	}
	if got, want := byName["document/yaml"].fuzz, []target{{".", "FuzzParse"}}; !slices.Equal(got, want) {
		t.Errorf("fuzz targets %q, want %q", got, want)
	}
}

func TestFindModulesOutsideARepository(t *testing.T) {
	if _, err := findModules(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no go.mod") {
		t.Errorf("error %v, want one that says there is no go.mod", err)
	}
}
