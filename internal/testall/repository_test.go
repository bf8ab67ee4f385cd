package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const repository = "../.."

// The root module costs its users no dependency: the standard library only, in tests too.
func TestRootModuleRequiresNothing(t *testing.T) {
	mod := readFile(t, "go.mod")
	if regexp.MustCompile(`(?m)^\s*(require|replace|tool)\b`).MatchString(mod) {
		t.Errorf("go.mod of the root module has more than module and go lines:\n%s", mod)
	}
}

// go.work names every module but tools, whose many requirements would raise the versions that the others are built with.
func TestWorkspaceNamesEveryModule(t *testing.T) {
	mods, err := findModules(repository)
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`(?m)^\s*(?:use\s+)?(\.\S*)\s*$`).FindAllStringSubmatch(readFile(t, "go.work"), -1)
	var got, want []string
	for _, u := range used {
		got = append(got, filepath.ToSlash(filepath.Clean(u[1])))
	}
	for _, m := range mods {
		if m.name != "tools" {
			want = append(want, m.name)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("go.work uses %q, the modules are %q; run make work", got, want)
	}
}

// A nested module is named by its directory, so that one tag per module serves it, and builds against this checkout.
func TestNestedModulesFollowTheRoot(t *testing.T) {
	mods, err := findModules(repository)
	if err != nil {
		t.Fatal(err)
	}
	root := modulePath(t, ".")
	for _, m := range mods {
		if m.name == "." {
			continue
		}
		if got, want := modulePath(t, m.name), root+"/"+m.name; got != want {
			t.Errorf("module in %s is named %s, want %s", m.name, got, want)
		}
		text := readFile(t, filepath.Join(m.name, "go.mod"))
		up := strings.Repeat("../", strings.Count(m.name, "/")+1)
		local := regexp.MustCompile(regexp.QuoteMeta(root) + ` => ` + regexp.QuoteMeta(strings.TrimSuffix(up, "/")) + `/?(\n|$)`)
		if regexp.MustCompile(regexp.QuoteMeta(root)+` v`).MatchString(text) && !local.MatchString(text) {
			t.Errorf("%s/go.mod requires the root module without replacing it by %s", m.name, up)
		}
	}
}

func modulePath(t *testing.T, dir string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^module (\S+)`).FindStringSubmatch(readFile(t, filepath.Join(dir, "go.mod")))
	if m == nil {
		t.Fatalf("%s/go.mod has no module line", dir)
	}
	return m[1]
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
