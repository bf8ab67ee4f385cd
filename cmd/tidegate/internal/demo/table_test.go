package demo

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// widest are rows with the longest figures there are.
func widest() []row {
	var rows []row
	for _, resource := range resources() {
		rows = append(rows, row{
			second: time.Unix(1, 0), resource: resource, passed: 9999, blocked: 99999, rule: "flow#2(40/s),flow#2(10/s)",
			errors: 9999, rt: 2 * time.Second, inflight: 999999, breaker: "HALF_OPEN",
		})
	}
	return rows
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	screen := newTable(&out, 2, nil)
	rows := []row{{second: time.Unix(1, 0), resource: fast, passed: 20, blocked: 40, rule: "flow#1(20/s)", rt: 2500 * time.Microsecond, breaker: "-"}}
	screen.second(rows, []event{{time.Unix(1, 0), "something happened"}})
	before := out.String()
	for _, want := range []string{"second 1 of 2", "GET:/fast    20    40 flow#1(20/s)      0    2.5      0 -", "█", "something happened"} {
		if !strings.Contains(before, want) {
			t.Errorf("no %q in\n%s", want, before)
		}
	}
	screen.second(rows, nil)
	if again := strings.TrimPrefix(out.String(), before); !strings.HasPrefix(again, "\x1b[6A\x1b[J") || !strings.Contains(again, "██") {
		t.Errorf("the table is not drawn in its place: %q", again)
	}
}

// Whatever the terminal's size, no line reaches its edge, and the cursor goes up by what was written.
func TestTableFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns, lines int
		widest, drawn  int
		whole          bool // the rows are
	}{
		{1, 24, 0, 14, false},
		{60, 24, 59, 14, false},
		{80, 24, 79, 14, true},
		{80, 10, 79, 9, true},
		{120, 50, 79, 14, true},
		{0, 0, 79, 14, true},
	} {
		t.Run(fmt.Sprintf("%dx%d", c.columns, c.lines), func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			screen := newTable(&out, 99, func() (columns, lines int) { return c.columns, c.lines })
			events := slices.Repeat([]event{{time.Unix(1, 0), "breaker of GET:/flaky: HALF_OPEN -> CLOSED"}}, 20)
			for range historyLength + 1 {
				out.Reset()
				screen.second(widest(), events)
			}
			text, up := strings.CutPrefix(out.String(), fmt.Sprintf("\x1b[%dA\x1b[J", c.drawn))
			if !up || strings.Count(text, "\n") != c.drawn {
				t.Errorf("want %d lines drawn over as many: %q", c.drawn, out.String())
			}
			most := 0
			for line := range strings.Lines(text) {
				most = max(most, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
			}
			if most != c.widest {
				t.Errorf("%d columns, want %d:\n%s", most, c.widest, text)
			}
			if strings.Contains(text, strings.Repeat("█", historyLength)+"\n") != c.whole {
				t.Errorf("whole rows: want %v\n%s", c.whole, text)
			}
		})
	}
}
