package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// rename replaces the module path below root by path. It returns the old path and the number of files changed.
func rename(root, path string) (old string, changed int, err error) {
	if err := checkPath(path); err != nil {
		return "", 0, err
	}
	old, err = modulePath(root)
	if err != nil {
		return "", 0, err
	}
	if old == path {
		return old, 0, nil
	}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(d.Name()) {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		done, err := rewriteFile(name, old, path)
		if done {
			changed++
		}
		return err
	})
	if err != nil {
		return old, changed, fmt.Errorf("renaming %s: %w", old, err)
	}
	return old, changed, nil
}

// checkPath accepts what go get can fetch. A version suffix would have to stand behind the nested modules' names, and
// is refused.
func checkPath(path string) error {
	if !regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9_][A-Za-z0-9._~-]*)+$`).MatchString(path) {
		return fmt.Errorf("%q is no module path; give host/owner/name, for example example.com/acme/tidegate", path)
	}
	if regexp.MustCompile(`/v[0-9]+$`).MatchString(path) {
		return fmt.Errorf("%q ends with a version; give the path without it", path)
	}
	return nil
}

func modulePath(root string) (string, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("reading the old module path: %w", err)
	}
	m := regexp.MustCompile(`(?m)^module\s+(\S+)`).FindSubmatch(mod)
	if m == nil {
		return "", errors.New("reading the old module path: go.mod has no module line")
	}
	return string(m[1]), nil
}

// skipped tells directories whose files are not the repository's own.
func skipped(dir string) bool {
	return dir == ".git" || dir == ".bin" || dir == "node_modules"
}

// rewriteFile changes one file in place, with its mode kept. Binary files (with a zero byte) are left alone.
func rewriteFile(name, old, path string) (changed bool, err error) {
	before, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	if bytes.IndexByte(before, 0) >= 0 {
		return false, nil
	}
	after := replace(before, old, path)
	if bytes.Equal(before, after) {
		return false, nil
	}
	if filepath.Ext(name) == ".go" {
		if sorted, err := format.Source(after); err == nil { // imports stand in another order now; a file that does not parse is test data
			after = sorted
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(name, after, info.Mode().Perm())
}

// replace replaces old where it is a whole path or its beginning: not within a longer host name, nor where the last
// element goes on ("…/tidegate-java").
func replace(text []byte, old, path string) []byte {
	var out []byte
	for {
		i := bytes.Index(text, []byte(old))
		if i < 0 {
			return append(out, text...)
		}
		end := i + len(old)
		whole := (i == 0 || !isHostByte(text[i-1])) && (end == len(text) || !isNameByte(text[end]))
		out = append(out, text[:i]...)
		if whole {
			out = append(out, path...)
		} else {
			out = append(out, old...)
		}
		text = text[end:]
	}
}

func isNameByte(b byte) bool {
	return b == '-' || b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

func isHostByte(b byte) bool {
	return b == '.' || isNameByte(b)
}
