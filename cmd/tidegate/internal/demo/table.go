package demo

import (
	"fmt"
	"io"
	"strings"
)

const (
	historyLength = 13 // seconds in the last column, which make a row 79 columns wide
	shownEvents   = 6
	ruleWidth     = 14
)

// table redraws a table in a terminal.
type table struct {
	canvas
	history map[string][]row // the last seconds
	shown   int              // seconds
	length  int              // seconds in all
}

// newTable returns a table; size tells the terminal's size, 0 where it is not known, nil if it never is.
func newTable(to io.Writer, length int, size func() (columns, lines int)) *table {
	return &table{canvas: canvas{to: to, size: size}, length: length, history: map[string][]row{}}
}

func (t *table) second(rows []row, events []event) {
	t.shown++
	t.draw(t.text(rows, events))
}

// text returns the table and the last events, as wide as they come.
func (t *table) text(rows []row, events []event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tidegate demo, second %d of %d\n\n", t.shown, t.length)
	fmt.Fprintf(&b, "%-10s %4s %5s %-*s %4s %6s %6s %-9s %s\n", "resource", "pass", "block", ruleWidth, "by rule", "err", "rt ms", "active", "breaker", "passed")
	for _, r := range rows {
		t.remember(r)
		fmt.Fprintf(&b, "%-10s %4d %5d %-*s %4d %6.1f %6d %-9s %s\n",
			r.resource, r.passed, r.blocked, ruleWidth, cut(r.rule, ruleWidth), r.errors, milliseconds(r.rt), r.inflight, r.breaker, spark(t.history[r.resource]))
	}
	b.WriteByte('\n')
	for _, e := range events[max(0, len(events)-shownEvents):] {
		fmt.Fprintf(&b, "%s  %s\n", e.at.Format("15:04:05.000"), e.text)
	}
	return b.String()
}

func (t *table) remember(r row) {
	list := append(t.history[r.resource], r)
	t.history[r.resource] = list[max(0, len(list)-historyLength):]
}

// spark draws how many passed in each second.
func spark(rows []row) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	var most int64 = 1
	for _, r := range rows {
		most = max(most, r.passed)
	}
	var b strings.Builder
	for _, r := range rows {
		b.WriteRune(levels[int(r.passed*int64(len(levels)-1)/most)])
	}
	return b.String()
}
