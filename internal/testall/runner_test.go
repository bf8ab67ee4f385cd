package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A call is one go command that a fake was asked to run.
type call struct{ dir, args string }

// fakeGo answers each run with the stream recorded under the name of its directory; a directory "a+b" plays both.
// Its exit status is that of go test: an error if anything in the stream failed, and for "noise".
func fakeGo(t *testing.T, calls *[]call) func(string, io.Writer, io.Writer, ...string) error {
	return func(dir string, stdout, stderr io.Writer, args ...string) error {
		*calls = append(*calls, call{dir, strings.Join(args, " ")})
		if dir == "none" {
			return nil
		}
		if dir == "noise" {
			io.WriteString(stderr, "go: updates to go.mod needed\n")
			return errors.New("exit status 1")
		}
		data, err := os.ReadFile(filepath.Join("testdata", dir+".jsonl"))
		if err != nil {
			t.Error(err)
			return err
		}
		if _, err := stdout.Write(data); err != nil {
			return err
		}
		if load(t, dir).count().failed > 0 {
			return errors.New("exit status 1")
		}
		return nil
	}
}

func runAll(t *testing.T, noRace string, mods ...*module) (ok bool, lines []string, calls []call) {
	t.Helper()
	var out strings.Builder
	r := &runner{out: &out, goTest: fakeGo(t, &calls), timeout: time.Minute}
	ok = r.testAll(mods, noRace)
	return ok, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"), calls
}

func mod(dir string, alloc ...string) *module {
	return &module{name: dir, dir: dir, tests: 1, alloc: alloc}
}

func TestAllModules(t *testing.T) {
	tests := []struct {
		name string
		mods []*module
		ok   bool
		last string
	}{
		{"good", []*module{mod("pass"), mod("skip")}, true, "6 passed, 0 failed, 2 skipped"},
		{"one fails", []*module{mod("pass"), mod("fail")}, false, "8 passed, 2 failed, 0 skipped"},
		{"does not build", []*module{mod("build"), mod("pass")}, false, "5 passed, 1 failed, 0 skipped"},
		{"go command fails", []*module{mod("noise"), mod("pass")}, false, "5 passed, 1 failed, 0 skipped"},
		{"tests but none executed", []*module{mod("pass"), mod("none")}, false, "5 passed, 1 failed, 0 skipped"},
		{"allocation tests count again", []*module{mod("pass", "./stat")}, true, "10 passed, 0 failed, 0 skipped"},
		{"a module without tests", []*module{{name: "tools"}, mod("pass")}, true, "5 passed, 0 failed, 0 skipped"},
		{"nothing at all", []*module{{name: "tools"}}, false, "0 passed, 0 failed, 0 skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ok, lines, _ := runAll(t, "", tt.mods...)
			if ok != tt.ok {
				t.Errorf("ok = %v, want %v", ok, tt.ok)
			}
			if last := lines[len(lines)-1]; last != tt.last {
				t.Errorf("last line %q, want %q", last, tt.last)
			}
		})
	}
}

func TestRaceDetectorInOneRunOnly(t *testing.T) {
	_, lines, calls := runAll(t, "", mod("pass", "./stat", "./flow"))
	want := []call{
		{"pass", "test -json -count=1 -timeout 1m0s -race ./..."},
		{"pass", "test -json -count=1 -timeout 1m0s -run Alloc ./stat ./flow"},
	}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if lines[0] != "tests run with the race detector" {
		t.Errorf("first line %q", lines[0])
	}
	_, lines, calls = runAll(t, "no C compiler", mod("pass"))
	if want := []call{{"pass", "test -json -count=1 -timeout 1m0s ./..."}}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if !strings.Contains(lines[0], "WITHOUT the race detector: no C compiler") {
		t.Errorf("first line %q does not say that the race detector is missing", lines[0])
	}
}

func TestGoErrorIsShown(t *testing.T) {
	_, lines, _ := runAll(t, "", mod("noise"))
	if !slices.Contains(lines, "go: updates to go.mod needed") {
		t.Errorf("the go command's words are missing:\n%s", strings.Join(lines, "\n"))
	}
}

func TestFuzzRunsEachTarget(t *testing.T) {
	var calls []call
	var out strings.Builder
	r := &runner{out: &out, goTest: fakeGo(t, &calls)}
	m := &module{name: "none", dir: "none", fuzz: []target{{"./document", "FuzzParse"}, {"./replay", "FuzzTrace"}}}
	if !r.fuzzAll([]*module{m}, 30*time.Second) {
		t.Error("reports a failure where all targets passed")
	}
	want := []call{
		{"none", "test -run ^$ -fuzz ^FuzzParse$ -fuzztime 30s -timeout 0 ./document"},
		{"none", "test -run ^$ -fuzz ^FuzzTrace$ -fuzztime 30s -timeout 0 ./replay"},
	}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	m.dir = "noise"
	if r.fuzzAll([]*module{m}, time.Second) || !strings.Contains(out.String(), "go: updates to go.mod needed") {
		t.Errorf("a failing target is not reported:\n%s", out.String())
	}
}
