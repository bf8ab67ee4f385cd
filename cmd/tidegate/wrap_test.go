package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const storeSource = `package store

import "context"

//go:generate tidegate wrap -type Store
//go:generate tidegate wrap -type Cache -type Queue,Log -output others_guarded.go

type (
	Store interface {
		Get(ctx context.Context, keys ...string) (map[string]int, error)
	}
	Cache[K comparable] interface{ Has(K) bool }
	Queue interface{ Push(any) error }
	Log   interface{ Queue }
	Key   struct{}
)
`

const storeTest = `package store

import (
	"context"
	"errors"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/flow"
)

type impl struct{}

func (impl) Get(_ context.Context, keys ...string) (map[string]int, error) {
	return map[string]int{keys[0]: len(keys)}, nil
}

func Test(t *testing.T) {
	if _, err := tidegate.Default().FlowRules().Load(flow.Rule{Resource: "Get of b"}); err != nil {
		t.Fatal(err)
	}
	s := NewGuardedStore(impl{}, nil, func(_ context.Context, method string, args []tidegate.Arg) string {
		return method + " of " + args[0].Value().([]string)[0]
	})
	if m, err := s.Get(context.Background(), "a", "b"); m["a"] != 2 || err != nil {
		t.Errorf("%v, %v", m, err)
	}
	if m, err := s.Get(context.Background(), "b"); m != nil || !errors.Is(err, tidegate.ErrFlow) {
		t.Errorf("%v, %v, want it refused", m, err)
	}
	_ = NewGuardedCache[string]
	_ = NewGuardedQueue
	_ = NewGuardedLog
}
`

// storeModule makes a module with interfaces, built against this checkout.
func storeModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/store\n\ngo 1.26.0\n\nrequire github.com/tidegate-go/tidegate v0.0.0\n\n" +
			"replace github.com/tidegate-go/tidegate => " + root + "\n",
		"store.go": storeSource, "store_test.go": storeTest,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goCommand(t *testing.T, dir, path string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "go", args...)
	c.Dir = dir
	c.Env = append(c.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "PATH="+path+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
}

// The command works from go:generate, and what it writes compiles and works.
func TestWrapByGoGenerate(t *testing.T) {
	t.Parallel()
	bin, dir := t.TempDir(), storeModule(t)
	goCommand(t, ".", "", "build", "-o", bin+string(filepath.Separator), ".")
	for range 2 { // the second time over what the first wrote
		goCommand(t, dir, bin, "generate", "./...")
	}
	goCommand(t, dir, "", "vet", "./...")
	goCommand(t, dir, "", "test", "./...")
	for _, name := range []string{"store_guarded.go", "others_guarded.go"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	dir := storeModule(t)
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"one", []string{"-type", "Store", dir}, exitOK, "wrote " + filepath.Join(dir, "store_guarded.go"), ""},
		{"lists", []string{"-type", "Cache", "-type", "Queue, Log", "-output", filepath.Join(dir, "x.go"), dir}, exitOK, "x.go", ""},
		{"no type", []string{dir}, exitUsage, "", "usage: tidegate wrap"},
		{"an empty name", []string{"-type", "Store,", dir}, exitUsage, "", "a name is empty"},
		{"two packages", []string{"-type", "Store", dir, dir}, exitUsage, "", "usage: tidegate wrap"},
		{"unknown flag", []string{"-typo", "Store"}, exitUsage, "", "-typo"},
		{"no such directory", []string{"-type", "Store", filepath.Join(dir, "nowhere")}, exitUsage, "", "nowhere"},
		{"output nowhere", []string{"-type", "Store", "-output", filepath.Join(dir, "no", "x.go"), dir}, exitUsage, "", "no"},
		{"output is a source", []string{"-type", "Store", "-output", filepath.Join(dir, "store.go"), dir}, exitUsage, "", "is not generated"},
		{"a struct", []string{"-type", "Key", dir}, exitFault, "", "store.go:15:2: cannot guard Key: it is no interface"},
		{"no such type", []string{"-type", "Nope", dir}, exitFault, "", "cannot guard Nope"},
		{"help", []string{"-h"}, exitOK, "", "-output"},
	} {
		code, stdout, stderr := tidegate(append([]string{"wrap"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%s: exit %d, %q, %q, want %d, %q, %q", c.name, code, stdout, stderr, c.code, c.stdout, c.stderr)
		}
	}
	if content, err := os.ReadFile(filepath.Join(dir, "store.go")); err != nil || string(content) != storeSource {
		t.Errorf("the source was changed: %v", err)
	}
}
