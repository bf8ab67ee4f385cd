package tidegate_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing on the way of a call imports package unsafe: no arithmetic on addresses can break with a newer compiler.
func TestB91NoUnsafe(t *testing.T) {
	t.Parallel()
	files := 0
	for _, dir := range []string{".", "chain", "stat", "flow", "circuitbreaker", "isolation", "hotspot", "authority", "system", "gateway", "internal"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != dir && dir != "internal":
				return filepath.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			files++
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, spec := range file.Imports {
				if spec.Path.Value == `"unsafe"` {
					t.Errorf("%s imports unsafe", path)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 50 {
		t.Errorf("%d files looked at", files)
	}
}
