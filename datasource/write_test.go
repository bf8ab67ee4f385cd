package datasource_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate/datasource"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link := filepath.Join(dir, "rules.json"), filepath.Join(dir, "link")
	must(t, datasource.WriteFile(path, []byte(docA)))
	wantFile(t, path, docA, 0o644)
	must(t, os.Chmod(path, 0o600))
	must(t, os.Symlink("rules.json", link))
	must(t, datasource.WriteFile(link, []byte(docB)))
	wantFile(t, path, docB, 0o600)
	if target, err := os.Readlink(link); err != nil || target != "rules.json" {
		t.Errorf("link now leads to %q (%v)", target, err)
	}
	wantEntries(t, dir, 2)
}

func TestWriteFileRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, path := range map[string]string{
		"a directory":           dir,
		"in no directory":       filepath.Join(dir, "none", "rules.json"),
		"no path":               "",
		"a link that is a loop": filepath.Join(dir, "loop"),
	} {
		if strings.Contains(name, "loop") {
			must(t, os.Symlink(path, path))
		}
		err := datasource.WriteFile(path, []byte(docA))
		if err == nil || !strings.Contains(err.Error(), "write "+path) {
			t.Errorf("%s: %v, want an error with the path", name, err)
		}
	}
	wantEntries(t, dir, 1)
}

// TestWriteFileWhole: readers see one whole content or another while writers replace the file.
func TestWriteFileWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.json")
	content := func(i int) []byte { return []byte(strings.Repeat(fmt.Sprint(i), 10_000)) }
	must(t, datasource.WriteFile(path, content(0)))
	var writers sync.WaitGroup
	for i := range 2 {
		writers.Go(func() {
			for range 20 {
				if err := datasource.WriteFile(path, content(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		got, err := os.ReadFile(path)
		must(t, err)
		if s := string(got); s != string(content(0)) && s != string(content(1)) {
			t.Fatalf("read a part: %d bytes", len(got))
		}
	}
	writers.Wait()
	wantEntries(t, filepath.Dir(path), 1)
}

func wantFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if string(got) != content || info.Mode().Perm() != mode {
		t.Errorf("%s: %q mode %v, want %q mode %v", path, got, info.Mode().Perm(), content, mode)
	}
}

// wantEntries fails if a temporary file was left in dir.
func wantEntries(t *testing.T, dir string, n int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != n {
		t.Errorf("%d entries in the directory, want %d: %v", len(entries), n, entries)
	}
}
