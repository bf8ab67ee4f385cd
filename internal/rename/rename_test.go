package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	oldPath = "example.org/old/tide"
	newPath = "example.com/acme/flood"
)

func TestRename(t *testing.T) {
	files := map[string][2]string{
		"go.mod":            {"module OLD\n\ngo 1.26\n", "module NEW\n\ngo 1.26\n"},
		"proxy/go.mod":      {"module OLD/proxy\n\nrequire OLD v0.0.0\n\nreplace OLD => ../\n", "module NEW/proxy\n\nrequire NEW v0.0.0\n\nreplace NEW => ../\n"},
		"a.go":              {"import \"OLD/flow\"\n", "import \"NEW/flow\"\n"},
		"docs/map.md":       {"See https://OLD. Also OLD.\n", "See https://NEW. Also NEW.\n"},
		".golangci.yml":     {"pkg: OLD$\n", "pkg: NEW$\n"},
		".ci/run":           {"echo OLD\n", "echo NEW\n"},
		"schema.json":       {`{"$id": "https://OLD/schema.json"}`, `{"$id": "https://NEW/schema.json"}`},
		"other.md":          {"OLD-java, OLDs and my.OLD stay\n", "OLD-java, OLDs and my.OLD stay\n"},
		"picture.bin":       {"\x00OLD", "\x00OLD"},
		".git/config":       {"url = OLD\n", "url = OLD\n"},
		".bin/golangci.txt": {"OLD", "OLD"},
	}
	expand := strings.NewReplacer("OLD", oldPath, "NEW", newPath)
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(expand.Replace(text[0])), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old, changed, err := rename(root, newPath)
	if err != nil {
		t.Fatal(err)
	}
	if old != oldPath || changed != 7 {
		t.Errorf("renamed %s in %d files, want %s in 7", old, changed, oldPath)
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := expand.Replace(text[1]); string(got) != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has lost its mode: %v, %v", name, info, err)
		}
	}
}

// A new path that begins with the old one is not renamed twice.
func TestRenameToALongerPath(t *testing.T) {
	if got, want := string(replace([]byte("a/b a/b/c"), "a/b", "a/b/x")), "a/b/x a/b/x/c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRefusedPaths(t *testing.T) {
	for _, path := range []string{"", "tidegate", "example.com", "example.com/", "example.com/a b", "https://example.com/a", "example.com/a/v2", "localhost/a", "example.com/a/../b"} {
		if _, _, err := rename(t.TempDir(), path); err == nil || !strings.Contains(err.Error(), "path") {
			t.Errorf("%q: error %v, want a refusal", path, err)
		}
	}
	if _, _, err := rename(t.TempDir(), newPath); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("without a go.mod: error %v", err)
	}
}
