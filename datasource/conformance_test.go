package datasource_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/datasource/sourcetest"
)

func TestFileConformance(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string, content []byte) error{
		"replaced": datasource.WriteFile,
		"in place": writeInPlace,
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.RunVirtual(t, func(t *testing.T) sourcetest.Fixture {
				return newVolume(t, put).fixture()
			})
		})
	}
}

// A volume is a directory with one file that the source reaches through a symbolic link, which takes the part of the
// network: a link to itself is a volume that cannot be reached.
type volume struct {
	root, link string
	put        func(path string, content []byte) error
}

func newVolume(t *testing.T, put func(string, []byte) error) volume {
	t.Helper()
	dir := t.TempDir()
	v := volume{root: filepath.Join(dir, "volume"), link: filepath.Join(dir, "mount"), put: put}
	must(t, os.Mkdir(v.root, 0o700))
	must(t, os.Symlink(v.root, v.link))
	return v
}

func (v volume) fixture() sourcetest.Fixture {
	document := filepath.Join(v.root, "rules.json")
	return sourcetest.Fixture{
		New: func(_ *testing.T, policy datasource.Policy) datasource.Source {
			return datasource.NewFile(filepath.Join(v.link, "rules.json"), datasource.WithPolicy(policy))
		},
		Put:        func(t *testing.T, content []byte) { t.Helper(); must(t, v.put(document, content)) },
		Delete:     func(t *testing.T) { t.Helper(); must(t, os.Remove(document)) },
		Disconnect: func(t *testing.T) { t.Helper(); relink(t, v.link, v.link) },
		Reconnect:  func(t *testing.T) { t.Helper(); relink(t, v.root, v.link) },
		Restart: func(t *testing.T) {
			t.Helper()
			relink(t, v.link, v.link)
			relink(t, v.root, v.link)
		},
	}
}

// relink makes link point to target in one step.
func relink(t *testing.T, target, link string) {
	t.Helper()
	must(t, os.Symlink(target, link+".new"))
	must(t, os.Rename(link+".new", link))
}

func writeInPlace(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
