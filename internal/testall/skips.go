package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// reportSkips prints for each reason how many tests were skipped for it, in the order of the reasons' first tests.
func (s *stream) reportSkips(w io.Writer) {
	var reasons []string
	counts := map[string]int{}
	for _, p := range s.order {
		for _, t := range p.order {
			if t.result != "skip" || t.parent {
				continue
			}
			reason := t.skipReason()
			if counts[reason] == 0 {
				reasons = append(reasons, reason)
			}
			counts[reason]++
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(w, "skipped %d: %s\n", counts[reason], reason)
	}
}

// skipReason returns the last line that the test printed, without the place in the source.
func (t *testRun) skipReason() string {
	reason := ""
	for line := range strings.Lines(t.output.String()) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--- SKIP") {
			reason = line
		}
	}
	place := regexp.MustCompile(`^[^ :]+\.go:\d+: *`)
	if reason = place.ReplaceAllString(reason, ""); reason == "" {
		return "no reason given by " + t.name
	}
	return reason
}
