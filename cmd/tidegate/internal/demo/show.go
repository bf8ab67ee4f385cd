package demo

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// show shows the rows of one second, and what has happened so far.
type show interface {
	second(rows []row, events []event)
}

// lines writes key=value pairs.
type lines struct{ to io.Writer }

func (l lines) second(rows []row, _ []event) {
	for _, r := range rows {
		fmt.Fprintf(l.to, "second=%d resource=%s passed=%d blocked=%d rule=%s errors=%d rt=%.1f inflight=%d breaker=%s\n",
			r.second.Unix(), r.resource, r.passed, r.blocked, r.rule, r.errors, milliseconds(r.rt), r.inflight, r.breaker)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

const (
	historyLength = 20
	shownEvents   = 6
)

// table redraws a table in a terminal.
type table struct {
	to      io.Writer
	drawn   int              // lines on the screen
	history map[string][]row // the last seconds
	shown   int              // seconds
	length  int              // seconds in all
}

func newTable(to io.Writer, length int) *table {
	return &table{to: to, length: length, history: map[string][]row{}}
}

func (t *table) second(rows []row, events []event) {
	t.shown++
	var b strings.Builder
	if t.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.drawn) // up, and clear what is below
	}
	fmt.Fprintf(&b, "tidegate demo, second %d of %d\n\n", t.shown, t.length)
	fmt.Fprintf(&b, "%-12s %7s %8s %-16s %7s %9s %9s %-10s %s\n", "resource", "passed", "blocked", "by rule", "errors", "rt", "in flight", "breaker", "passed per second")
	for _, r := range rows {
		t.remember(r)
		fmt.Fprintf(&b, "%-12s %7d %8d %-16s %7d %7.1fms %9d %-10s %s\n",
			r.resource, r.passed, r.blocked, r.rule, r.errors, milliseconds(r.rt), r.inflight, r.breaker, spark(t.history[r.resource]))
	}
	b.WriteByte('\n')
	for _, e := range events[max(0, len(events)-shownEvents):] {
		fmt.Fprintf(&b, "%s  %s\n", e.at.Format("15:04:05.000"), e.text)
	}
	text := b.String()
	t.drawn = strings.Count(text, "\n")
	_, _ = io.WriteString(t.to, text)
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
