package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// A runner runs go test in one module after the other.
type runner struct {
	out     io.Writer
	timeout time.Duration
	// goTest runs the go command in dir; its standard output goes to stdout, its standard error to stderr.
	goTest func(dir string, stdout, stderr io.Writer, args ...string) error
}

// testAll runs every module's tests, then the allocation tests without the race detector, and prints the last line.
// noRace says why the race detector cannot be used; it is empty where it can. It returns false if anything failed.
func (r *runner) testAll(mods []*module, noRace string) bool {
	flags := []string{"-race"}
	if noRace != "" {
		flags = nil
		fmt.Fprintf(r.out, "tests run WITHOUT the race detector: %s\n", noRace)
	} else {
		fmt.Fprintln(r.out, "tests run with the race detector")
	}
	var total count
	for _, m := range mods {
		if m.tests == 0 {
			fmt.Fprintf(r.out, "-    %s: no test files with tests\n", m.name)
			continue
		}
		total.add(r.testModule(m, "", append(flags, "./...")))
	}
	fmt.Fprintln(r.out, "allocation tests once more, without the race detector")
	for _, m := range mods {
		if len(m.alloc) > 0 {
			total.add(r.testModule(m, " (allocations)", append([]string{"-run", allocPattern}, m.alloc...)))
		}
	}
	if total.executed() == 0 {
		fmt.Fprintln(r.out, "no test was executed")
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
	return total.failed == 0 && total.executed() > 0
}

// testModule runs one module's tests and prints one line, before it what failed.
func (r *runner) testModule(m *module, label string, args []string) count {
	start := time.Now()
	args = append([]string{"test", "-json", "-count=1", "-timeout", r.timeout.String()}, args...)
	pr, pw := io.Pipe()
	s, read := newStream(), make(chan error, 1)
	go func() { read <- s.read(pr) }()
	var stderr bytes.Buffer
	runErr := r.goTest(m.dir, pw, &stderr, args...)
	pw.Close()
	readErr := <-read

	c := s.count()
	s.report(r.out)
	s.reportSkips(r.out)
	if problem := outside(c, runErr, readErr); problem != "" {
		c.failed++
		fmt.Fprintf(r.out, "--- failed: module %s: go %s: %s\n%s%s", m.name, strings.Join(args, " "), problem,
			strings.Join(s.noise, ""), stderr.String())
	}
	verdict := "ok  "
	if c.failed > 0 {
		verdict = "FAIL"
	}
	fmt.Fprintf(r.out, "%s %s%s: %d tests passed, %d failed, %d skipped in %.1fs\n", verdict, m.name, label,
		c.passed, c.failed, c.skipped, time.Since(start).Seconds())
	return c
}

// outside says what went wrong in a run beside its failed tests, which have been counted; "" if nothing did.
func outside(c count, runErr, readErr error) string {
	switch {
	case readErr != nil:
		return readErr.Error()
	case runErr != nil && c.failed == 0:
		return runErr.Error()
	case c.executed() == 0:
		return "it has tests but none was executed"
	}
	return ""
}

// fuzzAll runs every fuzz target for the given time and says at the end how many found something.
func (r *runner) fuzzAll(mods []*module, each time.Duration) bool {
	var passed, failed int
	for _, m := range mods {
		for _, t := range m.fuzz {
			fmt.Fprintf(r.out, "fuzz %s %s %s for %v\n", m.name, t.pkg, t.name, each)
			var out bytes.Buffer
			err := r.goTest(m.dir, &out, &out, "test", "-run", "^$", "-fuzz", "^"+t.name+"$",
				"-fuzztime", each.String(), "-timeout", "0", t.pkg)
			if err != nil {
				failed++
				fmt.Fprintf(r.out, "FAIL %s %s: %v\n%s", t.pkg, t.name, err, out.String())
				continue
			}
			passed++
		}
	}
	fmt.Fprintf(r.out, "%d fuzz targets ran without a finding, %d failed\n", passed, failed)
	return failed == 0
}
