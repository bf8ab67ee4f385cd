package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// An event is one line of go test -json (see go doc test2json; build events since Go 1.24).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	FailedBuild string // of a package's fail: the ImportPath that did not build
	Test        string
	Output      string
}

// A count is what the last line prints.
type count struct {
	passed, failed, skipped int
}

func (c *count) add(d count) {
	c.passed += d.passed
	c.failed += d.failed
	c.skipped += d.skipped
}

func (c count) executed() int { return c.passed + c.failed + c.skipped }

// A stream reads what one go test -json run prints.
type stream struct {
	packages map[string]*packageRun
	order    []*packageRun
	builds   map[string]string // output of the compiler by import path
	noise    []string          // lines that are no events, such as errors of the go command
}

// A packageRun is what one package's tests did so far.
type packageRun struct {
	name        string
	tests       map[string]*testRun
	order       []*testRun
	output      strings.Builder // printed outside any test
	result      string          // pass, fail or skip; "" before the end
	failedBuild string
}

// A testRun is one test, subtest, fuzz target or example.
type testRun struct {
	name   string
	output strings.Builder
	result string // pass, fail or skip; "" when it never ended
	parent bool   // it has subtests
}

func newStream() *stream {
	return &stream{packages: map[string]*packageRun{}, builds: map[string]string{}}
}

// read takes the whole output of a run.
func (s *stream) read(r io.Reader) error {
	br := bufio.NewReader(r)
	for {
		line, err := br.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			s.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the output of go test: %w", err)
		}
	}
}

func (s *stream) line(line string) {
	var e event
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		s.noise = append(s.noise, line)
		return
	}
	switch e.Action {
	case "build-output":
		s.builds[e.ImportPath] += e.Output
		return
	case "build-fail":
		return
	}
	p := s.pkg(e.Package)
	if e.Test == "" {
		p.event(e)
		return
	}
	p.test(e.Test).event(e)
}

func (s *stream) pkg(name string) *packageRun {
	p := s.packages[name]
	if p == nil {
		p = &packageRun{name: name, tests: map[string]*testRun{}}
		s.packages[name] = p
		s.order = append(s.order, p)
	}
	return p
}

func (p *packageRun) event(e event) {
	switch e.Action {
	case "pass", "fail", "skip":
		p.result, p.failedBuild = e.Action, e.FailedBuild
	case "output":
		p.output.WriteString(e.Output)
	}
}

func (p *packageRun) test(name string) *testRun {
	t := p.tests[name]
	if t == nil {
		t = &testRun{name: name}
		p.tests[name] = t
		p.order = append(p.order, t)
		p.markParent(name)
	}
	return t
}

// markParent marks the test that the named one is a subtest of: the nearest that has run, since a subtest's own name
// may hold slashes.
func (p *packageRun) markParent(name string) {
	for i := strings.LastIndex(name, "/"); i >= 0; i = strings.LastIndex(name[:i], "/") {
		if above := p.tests[name[:i]]; above != nil {
			above.parent = true
			return
		}
	}
}

func (t *testRun) event(e event) {
	switch e.Action {
	case "pass":
		t.result = e.Action
		t.output.Reset()
	case "fail", "skip":
		t.result = e.Action
	case "output":
		if !isProgress(e.Output) {
			t.output.WriteString(e.Output)
		}
	}
}

// isProgress tells the lines that only say which test runs now.
func isProgress(line string) bool {
	return strings.HasPrefix(line, "=== ")
}
