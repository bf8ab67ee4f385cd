package main

import (
	"fmt"
	"io"
	"strings"
)

// count counts the tests without subtests. A package that failed although none of its tests did (it did not build,
// TestMain failed, it ran into the timeout) counts as one failed test.
func (s *stream) count() count {
	var c count
	for _, p := range s.order {
		c.add(p.count())
	}
	return c
}

func (p *packageRun) count() count {
	var c count
	for _, t := range p.order {
		switch {
		case p.failed(t):
			if !t.parent || !p.failedBelow(t) {
				c.failed++
			}
		case t.parent:
		case t.result == "skip":
			c.skipped++
		default:
			c.passed++
		}
	}
	if p.broken() && c.failed == 0 {
		c.failed++
	}
	return c
}

// failed tells whether t failed or never ended, as every test does that runs when another panics.
func (p *packageRun) failed(t *testRun) bool {
	return t.result == "fail" || t.result == ""
}

func (p *packageRun) failedBelow(t *testRun) bool {
	for _, u := range p.order {
		if strings.HasPrefix(u.name, t.name+"/") && p.failed(u) {
			return true
		}
	}
	return false
}

// broken tells whether the package as a whole failed, or never ended.
func (p *packageRun) broken() bool { return p.result == "fail" || p.result == "" }

// report prints what failed with its output and nothing else.
func (s *stream) report(w io.Writer) {
	for _, p := range s.order {
		p.report(w, s.builds[p.failedBuild])
	}
}

func (p *packageRun) report(w io.Writer, build string) {
	if p.count().failed == 0 {
		return
	}
	fmt.Fprintf(w, "--- failed: %s\n", p.name)
	if p.failedBuild != "" {
		fmt.Fprintf(w, "%s did not build:\n%s", p.failedBuild, build)
	}
	for _, t := range p.order {
		if !p.failed(t) {
			continue
		}
		io.WriteString(w, t.output.String())
		if t.result == "" {
			fmt.Fprintf(w, "    %s started and never ended\n", t.name)
		}
	}
	io.WriteString(w, p.output.String())
}
