package codegen_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/codegen"
)

// What cannot be generated is refused with the place of the reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	const bad = "testdata/bad"
	for name, c := range map[string]struct {
		config codegen.Config
		at     string // file:line
		reason string
	}{
		"not declared":              {codegen.Config{Source: "faulty", Types: []string{"Nope"}}, "faulty.go:1", "declares no such type"},
		"a function":                {codegen.Config{Source: "faulty", Types: []string{"Function"}}, "faulty.go:25", "it is no type"},
		"a struct":                  {codegen.Config{Source: "faulty", Types: []string{"Fine", "Struct"}}, "faulty.go:7", "it is no interface"},
		"no methods":                {codegen.Config{Source: "faulty", Types: []string{"Empty"}}, "faulty.go:8", "no methods"},
		"a constraint":              {codegen.Config{Source: "faulty", Types: []string{"Number"}}, "faulty.go:9", "constraint"},
		"a comparable":              {codegen.Config{Source: "faulty", Types: []string{"Comparable"}}, "faulty.go:10", "constraint"},
		"an undefined interface":    {codegen.Config{Source: "faulty", Types: []string{"Embeds"}}, "faulty.go:14", "undefined: Undefined"},
		"one within another":        {codegen.Config{Source: "faulty", Types: []string{"Deep"}}, "faulty.go:14", "undefined: Undefined"},
		"an undefined parameter":    {codegen.Config{Source: "faulty", Types: []string{"Param"}}, "faulty.go:17", "undefined: Undefined"},
		"a missing package":         {codegen.Config{Source: "faulty", Types: []string{"Missing"}}, "faulty.go:19", "example.com/bad/missing"},
		"a nameless type parameter": {codegen.Config{Source: "faulty", Types: []string{"Blank"}}, "faulty.go:20", "no name"},
		"a hiding type parameter":   {codegen.Config{Source: "faulty", Types: []string{"Shadow"}}, "faulty.go:21", "called string"},
		"twice":                     {codegen.Config{Source: "faulty", Types: []string{"Fine", "Fine"}, Output: "faulty/x.go"}, "faulty.go:22", "two types called GuardedFine"},
		"a name in use":             {codegen.Config{Source: "clash", Types: []string{"Store"}}, "clash.go:11", "has a GuardedStore already"},
		"a constructor in use":      {codegen.Config{Source: "clash", Types: []string{"store"}}, "clash.go:13", "has a newGuardedStore already"},
		"unexported elsewhere":      {codegen.Config{Source: "clash", Types: []string{"example.com/bad/lib.closed"}}, "lib.go:19", "lib.closed is not exported"},
		"an unexported parameter":   {codegen.Config{Source: "clash", Types: []string{"example.com/bad/lib.Open"}}, "lib.go:10", "lib.hidden is not exported"},
		"an unexported field":       {codegen.Config{Source: "clash", Types: []string{"example.com/bad/lib.Literal"}}, "lib.go:12", "unexported field a"},
		"an unexported constraint":  {codegen.Config{Source: "clash", Types: []string{"example.com/bad/lib.Constrained"}}, "lib.go:14", "lib.number is not exported"},
		"a command's":               {codegen.Config{Source: "clash", Types: []string{"example.com/bad/command.Runner"}}, "main.go:5", "cannot be imported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config.Dir = bad
			if c.config.Output == "" && strings.Contains(c.config.Types[0], "/") {
				c.config.Output = "clash/x_guarded.go"
			}
			_, err := codegen.Generate(t.Context(), c.config)
			var refused *codegen.Error
			if !errors.As(err, &refused) {
				t.Fatalf("%v, want it refused", err)
			}
			if at := refused.At; !strings.HasPrefix(at.String(), "testdata/bad/") || !strings.HasPrefix(filepath.Base(at.String())+":", c.at+":") {
				t.Errorf("at %s, want %s", at, c.at)
			}
			if !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%v, want %q", err, c.reason)
			}
		})
	}
}

// The package's code is internal to another module, so the file could not be built.
func TestRefusesInternalTypes(t *testing.T) {
	t.Parallel()
	lib, err := filepath.Abs("testdata/bad")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/user\n\ngo 1.26.0\n\nrequire example.com/bad v0.0.0\n\nreplace example.com/bad => "+lib+"\n")
	write(t, filepath.Join(dir, "user.go"), "package user\n\nimport \"example.com/bad/lib\"\n\ntype Store interface{ lib.Secret }\n")
	_, err = codegen.Generate(t.Context(), codegen.Config{Dir: dir, Types: []string{"Store"}})
	var refused *codegen.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "internal/secret is internal and cannot be imported from example.com/user") {
		t.Errorf("%v", err)
	}
}

// Wrong configurations and packages that cannot be read are other errors.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config codegen.Config
		reason string
	}{
		"no type":              {codegen.Config{}, "no type is named"},
		"no identifier":        {codegen.Config{Types: []string{"a b"}}, `"a b" is no type`},
		"no name":              {codegen.Config{Types: []string{"io."}}, `"io." is no type`},
		"no package":           {codegen.Config{Source: "./nowhere", Types: []string{"T"}}, "nowhere"},
		"no such import path":  {codegen.Config{Source: "broken", Types: []string{"example.com/none/at/all.T"}}, "example.com/none/at/all"},
		"several packages":     {codegen.Config{Source: "./...", Types: []string{"T"}}, "names "},
		"output nowhere":       {codegen.Config{Source: "broken", Types: []string{"T"}, Output: "nowhere/x.go"}, "nowhere"},
		"output is a keyword":  {codegen.Config{Source: "broken", Types: []string{"T"}, Package: "func"}, `"func" is no name`},
		"a directory is there": {codegen.Config{Source: "broken", Types: []string{"T"}, Output: "internal"}, "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config.Dir = "testdata/bad"
			_, err := codegen.Generate(t.Context(), c.config)
			var refused *codegen.Error
			if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("%v, want one about %q", err, c.reason)
			}
		})
	}
}

func TestUnreadableSyntax(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/user\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "user.go"), "package user\n\ntype Store interface{ Do( error }\n")
	_, err := codegen.Generate(t.Context(), codegen.Config{Dir: dir, Types: []string{"Store"}})
	var refused *codegen.Error
	if err == nil || errors.As(err, &refused) || !strings.Contains(err.Error(), "user.go:3:") {
		t.Errorf("%v, want an error at user.go:3", err)
	}
}

// A package that does not compile elsewhere, for the want of generated code, is no hindrance.
func TestBrokenElsewhere(t *testing.T) {
	t.Parallel()
	files, err := codegen.Generate(t.Context(), codegen.Config{Dir: "testdata/bad/needsbroken", Types: []string{"Needs"}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(files[0].Content), "Do() (r0 broken.T, err error)") {
		t.Errorf("generated:\n%s", files[0].Content)
	}
}

// What an earlier run left in the output, of another shape or spoiled, has no influence.
func TestStaleOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module example.com/user\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "user.go"), "package user\n\ntype Store interface{ Do() error }\n")
	c := codegen.Config{Dir: dir, Types: []string{"Store"}}
	clean, err := codegen.Generate(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	const header = "// Code generated by tidegate wrap; DO NOT EDIT.\n\n"
	for name, stale := range map[string]string{
		"same":    string(clean[0].Content),
		"another": header + "package user\n\ntype GuardedStore struct{ next Gone }\n\ntype context int\n",
		"spoiled": header + "package user\n\n<<<<<<< HEAD\n",
		"not Go":  header,
		"empty":   "\n",
	} {
		write(t, filepath.Join(dir, "store_guarded.go"), stale)
		files, err := codegen.Generate(t.Context(), c)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if string(files[0].Content) != string(clean[0].Content) {
			t.Errorf("%s: generated\n%s", name, files[0].Content)
		}
	}
	c.Output = "user.go"
	if _, err := codegen.Generate(t.Context(), c); err == nil || !strings.Contains(err.Error(), "is not generated") {
		t.Errorf("a file that people wrote as output: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
