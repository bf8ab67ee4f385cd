package datasource_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/datasource/sourcetest"
)

const (
	docA = `[{"resource":"a","count":1}]`
	docB = `[{"resource":"b","count":2}]` // as long as docA
	half = `[{"resource":"b",`
)

// inForceWithin is how soon a change must have taken effect.
const inForceWithin = 2 * time.Second

// A watched file is a File that was started on a path, with its handler.
type watched struct {
	*datasource.File
	sourcetest.Recorder
	path string
}

// watch writes docA, starts a source for it and closes that in the end.
func watch(t *testing.T, opts ...datasource.FileOption) *watched {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.json")
	must(t, writeInPlace(path, []byte(docA)))
	return watchPath(t, path, opts...)
}

func watchPath(t *testing.T, path string, opts ...datasource.FileOption) *watched {
	t.Helper()
	w := &watched{File: datasource.NewFile(path, opts...), path: path}
	t.Cleanup(func() { must(t, w.Close()) })
	must(t, w.Start(context.Background(), &w.Recorder))
	if got := w.InForce(); got != docA {
		t.Fatalf("in force after Start: %q (state %+v)", got, w.State())
	}
	return w
}

func (w *watched) want(t *testing.T, document string) {
	t.Helper()
	sourcetest.Eventually(t, inForceWithin, "in force: "+document, func() bool {
		return w.InForce() == document && w.State().LastError == nil
	})
}

// TestFileChangeForms changes a file in each way that is in use, at several points between two looks.
func TestFileChangeForms(t *testing.T) {
	t.Parallel()
	forms := map[string]func(t *testing.T, path string){
		"in place": func(t *testing.T, path string) { must(t, writeInPlace(path, []byte(docB))) },
		"replaced": func(t *testing.T, path string) { must(t, datasource.WriteFile(path, []byte(docB))) },
		"same size and time": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			must(t, err)
			must(t, writeInPlace(path, []byte(docB)))
			must(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"older file moved over": func(t *testing.T, path string) {
			must(t, writeInPlace(path+".old", []byte(docB)))
			longAgo := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
			must(t, os.Chtimes(path+".old", longAgo, longAgo))
			must(t, os.Rename(path+".old", path))
		},
		"removed and written": func(t *testing.T, path string) {
			must(t, os.Remove(path))
			must(t, writeInPlace(path, []byte(docB)))
		},
		"backup and new file, as editors do": func(t *testing.T, path string) {
			must(t, os.Rename(path, path+"~"))
			must(t, writeInPlace(path, []byte(docB)))
		},
		"through a link": func(t *testing.T, path string) {
			must(t, writeInPlace(path+".target", []byte(docB)))
			must(t, os.Remove(path))
			must(t, os.Symlink(path+".target", path))
		},
	}
	for name, change := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for offset := time.Duration(0); offset < time.Second; offset += 170 * time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					w := watch(t, datasource.WithPolicy(datasource.Policy{Delete: datasource.ClearOnDelete}))
					time.Sleep(3*time.Second + offset)
					change(t, w.path)
					w.want(t, docB)
					if n := w.Deletions(); n != 0 {
						t.Errorf("offset %v: seen as %d deletions", offset, n)
					}
				})
			}
		})
	}
}

// TestFileConfigMap swaps the ..data link as the kubelet does.
func TestFileConfigMap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		publish := func(version, document string) {
			must(t, os.Mkdir(filepath.Join(dir, version), 0o700))
			must(t, writeInPlace(filepath.Join(dir, version, "rules.json"), []byte(document)))
			relink(t, version, filepath.Join(dir, "..data"))
		}
		publish("..v1", docA)
		path := filepath.Join(dir, "rules.json")
		must(t, os.Symlink(filepath.Join("..data", "rules.json"), path))
		w := watchPath(t, path, datasource.WithPolicy(datasource.Policy{Delete: datasource.ClearOnDelete}))
		for i, document := range []string{docB, docA, docB} {
			publish("..w"+string(rune('1'+i)), document)
			must(t, os.RemoveAll(filepath.Join(dir, "..v1")))
			w.want(t, document)
		}
		if n := w.Deletions(); n != 0 {
			t.Errorf("swaps seen as %d deletions", n)
		}
	})
}

func TestFileRenamedAwayAndBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		away      time.Duration
		deletions int
	}{
		"for a moment":     {50 * time.Millisecond, 0},
		"for some seconds": {3 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for offset := time.Duration(0); offset < 500*time.Millisecond; offset += 30 * time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					w := watch(t, datasource.WithPolicy(datasource.Policy{Delete: datasource.ClearOnDelete}))
					time.Sleep(time.Second + offset)
					must(t, os.Rename(w.path, w.path+".away"))
					time.Sleep(test.away)
					must(t, os.Rename(w.path+".away", w.path))
					time.Sleep(inForceWithin)
					if got, n := w.InForce(), w.Deletions(); got != docA || n != test.deletions {
						t.Errorf("offset %v: in force %q, %d deletions, want %d", offset, got, n, test.deletions)
					}
				})
			}
		})
	}
}

// TestFileHalfWritten writes a file in two steps. A short gap is waited out; after a long one the half is refused and
// the whole is picked up.
func TestFileHalfWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		gap     time.Duration
		refused bool
	}{
		"short gap": {40 * time.Millisecond, false},
		"long gap":  {3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for offset := time.Duration(0); offset < 500*time.Millisecond; offset += 20 * time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					w := watch(t)
					time.Sleep(time.Second + offset)
					must(t, writeInPlace(w.path, []byte(half)))
					time.Sleep(test.gap)
					if got := w.InForce(); got != docA {
						t.Errorf("in force while half written: %q", got)
					}
					if bad := len(w.Refused()) > 0; bad != test.refused {
						t.Errorf("offset %v: handler got %q", offset, w.Refused())
					}
					must(t, writeInPlace(w.path, []byte(docB)))
					w.want(t, docB)
				})
			}
		})
	}
}

// TestFileKeepsChanging: a file that never settles is an error, and is read once it does.
func TestFileKeepsChanging(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		// Never write at the instant of a look: less real time than the file's clock can tell would lie between.
		time.Sleep(7 * time.Millisecond)
		for i := range 150 {
			must(t, writeInPlace(w.path, []byte(half+strings.Repeat(" ", i))))
			time.Sleep(20 * time.Millisecond)
		}
		if err := w.State().LastError; err == nil || !strings.Contains(err.Error(), "keeps changing") {
			t.Errorf("state's error: %v", err)
		}
		if got := w.Refused(); len(got) != 0 {
			t.Errorf("handler got unsettled content %q", got)
		}
		must(t, writeInPlace(w.path, []byte(docB)))
		w.want(t, docB)
	})
}

// TestFileUnreadable: whatever cannot be read is no deletion and changes nothing.
func TestFileUnreadable(t *testing.T) {
	t.Parallel()
	forms := map[string]func(t *testing.T, path string){
		"directory": func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) },
		"link loop": func(t *testing.T, path string) { must(t, os.Symlink(path, path)) },
		"too large": func(t *testing.T, path string) {
			must(t, writeInPlace(path, []byte("["+strings.Repeat(" ", 4<<20)+"]")))
		},
	}
	if os.Getuid() > 0 {
		forms["no permission"] = func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(docB), 0)) }
	}
	for name, spoil := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := watch(t, datasource.WithPolicy(datasource.Policy{Delete: datasource.ClearOnDelete}))
				must(t, os.Remove(w.path))
				spoil(t, w.path)
				time.Sleep(inForceWithin)
				state := w.State()
				if state.LastError == nil || state.Deleted || !state.Stale || w.InForce() != docA {
					t.Errorf("in force %q, state %+v", w.InForce(), state)
				}
				if got, want := errors.Is(state.LastError, datasource.ErrTooLarge), name == "too large"; got != want {
					t.Errorf("error %v: ErrTooLarge is %v, want %v", state.LastError, got, want)
				}
				must(t, os.Remove(w.path))
				must(t, writeInPlace(w.path, []byte(docB)))
				w.want(t, docB)
			})
		})
	}
}

func TestFileMaxSize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, datasource.WithMaxSize(int64(len(docA))))
		must(t, writeInPlace(w.path, []byte(docB)))
		w.want(t, docB)
		must(t, writeInPlace(w.path, []byte(docA+" ")))
		time.Sleep(inForceWithin)
		if err := w.State().LastError; !errors.Is(err, datasource.ErrTooLarge) || w.InForce() != docB {
			t.Errorf("error %v, in force %q", err, w.InForce())
		}
	})
}

func TestFileInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, datasource.WithInterval(10*time.Second), datasource.WithName("slow"))
		must(t, datasource.WriteFile(w.path, []byte(docB)))
		time.Sleep(9 * time.Second)
		if got := w.InForce(); got != docA {
			t.Errorf("in force before the next look: %q", got)
		}
		time.Sleep(inForceWithin)
		if got := w.InForce(); got != docB || w.Name() != "slow" {
			t.Errorf("%s: in force %q", w.Name(), got)
		}
	})
}

// TestFileRefusedIsRetried: identical refused content goes to the handler about once a second, until it is accepted.
func TestFileRefusedIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t)
		must(t, writeInPlace(w.path, []byte(half)))
		time.Sleep(10 * time.Second)
		if n := len(w.Refused()); n < 5 || n > 10 {
			t.Errorf("handler got the same bad content %d times in 10 s", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "rules.json")
		must(t, writeInPlace(path, []byte(docA)))
		var calls []string
		source := datasource.NewFile(path)
		must(t, source.Start(context.Background(), datasource.HandlerFuncs{
			OnUpdate: func(_ context.Context, content []byte) error {
				calls = append(calls, string(content))
				if len(calls) == 1 {
					return errors.New("not ready")
				}
				return nil
			},
		}))
		sourcetest.Eventually(t, inForceWithin, "accepted", func() bool { return source.State().Updates == 1 })
		time.Sleep(5 * time.Second)
		must(t, source.Close())
		if !slices.Equal(calls, []string{docA, docA}) {
			t.Errorf("handler calls %q, want the same content twice", calls)
		}
	})
}

// TestB60 and TestB61 are field cases: a document that does not exist yet, and one that is deleted.
func TestB60(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "later", "rules.json")
		source, handler := datasource.NewFile(path), &sourcetest.Recorder{}
		must(t, source.Start(context.Background(), handler))
		defer func() { must(t, source.Close()) }()
		if err := source.State().LastError; !errors.Is(err, datasource.ErrAbsent) {
			t.Errorf("state's error %v, want ErrAbsent", err)
		}
		time.Sleep(5 * time.Second)
		must(t, os.Mkdir(filepath.Dir(path), 0o700))
		must(t, datasource.WriteFile(path, []byte(docA)))
		sourcetest.Eventually(t, time.Second, "published rules in force", func() bool { return handler.InForce() == docA })
	})
}

func TestB61(t *testing.T) {
	t.Parallel()
	for policy, want := range map[datasource.DeletePolicy]string{
		datasource.ClearOnDelete: "",
		datasource.KeepOnDelete:  docA,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := watch(t, datasource.WithPolicy(datasource.Policy{Delete: policy}))
			must(t, os.Remove(w.path))
			time.Sleep(inForceWithin)
			state := w.State()
			if got := w.InForce(); got != want || !state.Deleted || state.Stale != (want != "") {
				t.Errorf("policy %d: in force %q, state %+v", policy, got, state)
			}
		})
	}
}

func TestFileMisuse(t *testing.T) {
	t.Parallel()
	handler := &sourcetest.Recorder{}
	for name, source := range map[string]*datasource.File{"nil": nil, "zero": {}, "no path": datasource.NewFile("", nil)} {
		if err := source.Start(context.Background(), handler); err == nil {
			t.Errorf("%s: Start worked", name)
		}
		if state := source.State(); state != (datasource.State{}) {
			t.Errorf("%s: state %+v", name, state)
		}
		if err := source.Close(); err != nil || source.Name() != "" {
			t.Errorf("%s: Close: %v, name %q", name, err, source.Name())
		}
	}
	source := datasource.NewFile(filepath.Join(t.TempDir(), "rules.json"))
	if err := source.Start(context.Background(), nil); err == nil {
		t.Error("Start took a nil handler")
	}
	if err := source.Start(nil, handler); err == nil { //nolint:staticcheck // the point of the test
		t.Error("Start took a nil context")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := source.Start(ctx, handler); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a context that is done: %v", err)
	}
	must(t, source.Close())
}

func TestFileStartErrorNamesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.json")
	source := datasource.NewFile(path, datasource.WithPolicy(datasource.Policy{Start: datasource.Require}))
	err := source.Start(context.Background(), &sourcetest.Recorder{})
	if !errors.Is(err, datasource.ErrAbsent) || errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("Start: %v, want ErrAbsent with the path", err)
	}
}
