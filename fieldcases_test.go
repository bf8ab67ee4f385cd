package tidegate_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every test that docs/field-cases.md names exists, in the package that it says.
func TestFieldCasesNameTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/field-cases.md")
	if err != nil {
		t.Fatal(err)
	}
	inPackage := regexp.MustCompile("([a-z/]+): (`(?:Test|Fuzz)[^;|]*)")
	name := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	found := 0
	for line := range strings.SplitSeq(string(text), "\n") {
		if !strings.HasPrefix(line, "| B") {
			continue
		}
		for _, match := range inPackage.FindAllStringSubmatch(line, -1) {
			have := testsOf(t, match[1])
			for _, test := range name.FindAllStringSubmatch(match[2], -1) {
				if found++; !strings.Contains(have, "func "+test[1]+"(") {
					t.Errorf("%s has no test %s", match[1], test[1])
				}
			}
		}
		if !strings.Contains(line, "`") && !strings.Contains(line, "not yet") {
			t.Errorf("neither a test nor a reason: %s", line)
		}
	}
	if found < 80 {
		t.Errorf("%d tests named", found)
	}
}

// testsOf returns the text of a package's tests.
func testsOf(t *testing.T, folder string) string {
	t.Helper()
	if folder == "tidegate" {
		folder = "."
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		text, err := fs.ReadFile(os.DirFS("."), filepath.ToSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
