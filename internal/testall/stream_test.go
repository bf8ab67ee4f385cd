package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// load reads a stream recorded from go test -json (Go 1.26).
func load(t *testing.T, name string) *stream {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := newStream()
	if err := s.read(f); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRecordedStreams(t *testing.T) {
	tests := []struct {
		name  string
		want  count
		shown []string
	}{
		{"pass", count{passed: 5}, nil},
		{"skip", count{passed: 1, skipped: 2}, nil},
		{"fail", count{passed: 3, failed: 2}, []string{"got 1, want 2", "the parent itself fails"}},
		{"build", count{failed: 1}, []string{"dep.go:2:23: cannot use", "example.com/rec/dep did not build"}},
		{"vet", count{failed: 1}, []string{"wrong type string"}},
		{"setup", count{failed: 1}, []string{"no required module provides package"}},
		{"panic", count{passed: 1, failed: 1}, []string{"assignment to entry in nil map", "panic_test.go:4"}},
		{"exit", count{passed: 1, failed: 1}, []string{"leaked goroutines"}},
		{"timeout", count{failed: 2}, []string{"test timed out after 1s", "TestA started and never ended"}},
		{"race", count{failed: 1}, []string{"WARNING: DATA RACE"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := load(t, tt.name)
			if got := s.count(); got != tt.want {
				t.Errorf("count %+v, want %+v", got, tt.want)
			}
			var out strings.Builder
			s.report(&out)
			for _, want := range tt.shown {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the report lacks %q:\n%s", want, out.String())
				}
			}
			if len(tt.shown) == 0 && out.Len() > 0 {
				t.Errorf("a run without failures reports:\n%s", out.String())
			}
			if strings.Contains(out.String(), "not shown") || strings.Contains(out.String(), "=== RUN") {
				t.Errorf("the report shows passed tests or progress:\n%s", out.String())
			}
		})
	}
}

func TestSkipReasons(t *testing.T) {
	t.Parallel()
	s := load(t, "skip")
	var out strings.Builder
	s.reportSkips(&out)
	if got, want := out.String(), "skipped 1: no network\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	var none strings.Builder
	load(t, "fail").reportSkips(&none)
	if none.Len() > 0 {
		t.Errorf("without skipped tests it prints %q", none.String())
	}
}

func TestStreamCutShort(t *testing.T) {
	s := newStream()
	cut := `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Te`
	if err := s.read(strings.NewReader(cut)); err != nil {
		t.Fatal(err)
	}
	if got, want := s.count(), (count{failed: 1}); got != want {
		t.Errorf("count %+v, want %+v", got, want)
	}
	if len(s.noise) != 1 {
		t.Errorf("noise %q, want the cut line", s.noise)
	}
}

// A subtest's own name may hold slashes: what stands between them is no test.
func TestSlashesInNames(t *testing.T) {
	t.Parallel()
	s := newStream()
	for _, line := range []string{
		`{"Action":"run","Package":"p","Test":"T"}`,
		`{"Action":"run","Package":"p","Test":"T/a/b"}`,
		`{"Action":"pass","Package":"p","Test":"T/a/b"}`,
		`{"Action":"pass","Package":"p","Test":"T"}`,
		`{"Action":"pass","Package":"p"}`,
	} {
		s.line(line)
	}
	if got, want := s.count(), (count{passed: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
