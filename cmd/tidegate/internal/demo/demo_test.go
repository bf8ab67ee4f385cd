package demo

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/flow"
)

// The figures of a short demonstration show what they are meant to.
func TestRun(t *testing.T) {
	t.Parallel()
	const seconds = 5
	var out bytes.Buffer
	if err := Run(t.Context(), Options{Seconds: seconds, Out: &out}); err != nil {
		t.Fatal(err)
	}
	rows := parse(t, out.String())
	if len(rows) != seconds*len(resources()) {
		t.Fatalf("%d lines, want one for each of %d seconds and %d resources:\n%s", len(rows), seconds, len(resources()), out.String())
	}
	var first, breakers, slowPassed, slowRules []string
	for i, r := range rows {
		if len(first) == 0 || first[len(first)-1] != r["second"] {
			first = append(first, r["second"])
		}
		if want := resources()[i%len(resources())]; r["resource"] != want {
			t.Errorf("line %d is about %s, want %s", i, r["resource"], want)
		}
		switch r["resource"] {
		case fast:
			if number(t, r["passed"]) > fastLimit {
				t.Errorf("%s passed %s in a second, want at most %d", fast, r["passed"], fastLimit)
			}
			if r["blocked"] != "0" && !strings.HasPrefix(r["rule"], "flow#1") {
				t.Errorf("%s was blocked by %q, want flow#1", fast, r["rule"])
			}
		case flaky:
			breakers = append(breakers, r["breaker"])
		case slow:
			slowPassed = append(slowPassed, r["passed"])
			slowRules = append(slowRules, r["rule"])
			if limit, ok := strings.CutPrefix(r["rule"], "flow#2("); ok && number(t, r["passed"]) > number(t, strings.TrimSuffix(limit, "/s)")) {
				t.Errorf("%s passed %s under %s", slow, r["passed"], r["rule"])
			}
		}
	}
	for i := 1; i < len(first); i++ {
		if number(t, first[i]) != number(t, first[i-1])+1 {
			t.Errorf("seconds %q do not follow each other", first)
		}
	}
	if states := strings.Join(breakers, " "); !strings.Contains(states, "OPEN") || breakers[len(breakers)-1] != "CLOSED" {
		t.Errorf("breaker states %q, want that it opens and is closed in the end", states)
	}
	if n := number(t, slowPassed[len(slowPassed)-1]); n > slowLowered {
		t.Errorf("%s passed %d in the last second, want at most %d by the edited rule", slow, n, slowLowered)
	}
	if last := slowRules[len(slowRules)-1]; last != "flow#2(10/s)" {
		t.Errorf("%s was blocked by %q in the last second, want flow#2(10/s)", slow, last)
	}
	if !strings.Contains(out.String(), "summary of 5 seconds") {
		t.Errorf("there is no summary:\n%s", out.String())
	}
}

func parse(t *testing.T, text string) []map[string]string {
	t.Helper()
	var rows []map[string]string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "second=") {
			continue
		}
		row := map[string]string{}
		for pair := range strings.FieldsSeq(line) {
			key, value, _ := strings.Cut(pair, "=")
			row[key] = value
		}
		for key := range strings.FieldsSeq("second resource passed blocked rule errors rt inflight breaker") {
			if row[key] == "" {
				t.Errorf("no %s in %q", key, line)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

// A demonstration that is told to stop ends at once, with a summary.
func TestRunEndsEarly(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := Run(ctx, Options{Seconds: 60, Out: &out}); err != nil && !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
}

// A limit counts for a second if it was in force when the second began.
func TestLimits(t *testing.T) {
	t.Parallel()
	var l limits
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	l.set(flow.Rule{Resource: slow, Count: 40}, at(990))
	l.set(flow.Rule{Resource: slow, Count: 40}, at(1500))
	l.set(flow.Rule{Resource: slow, Count: 10}, at(2300))
	l.set(flow.Rule{Resource: slow, Count: 20}, at(3990))
	for second, want := range map[int64]float64{1: 40, 2: 40, 3: 10, 4: 10, 5: 20} {
		if got := l.of(slow, time.Unix(second, 0), 0); got != want {
			t.Errorf("second %d: limit %v, want %v", second, got, want)
		}
	}
	if got := l.of(fast, at(0), 7); got != 7 {
		t.Errorf("limit %v of no rule, want 7", got)
	}
}
