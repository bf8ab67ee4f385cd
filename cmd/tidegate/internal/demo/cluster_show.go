package demo

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// errShared says that the demonstration showed what must not be.
var errShared = errors.New("the shared limit was exceeded")

// view returns what shows the latest second.
func (c *cluster) view() func(*cluster) {
	if !c.options.Terminal {
		return (*cluster).lines
	}
	screen := &canvas{to: c.options.Out, size: c.options.Size}
	return func(c *cluster) { screen.draw(c.table()) }
}

func (c *cluster) latest() clusterSecond { return c.seconds[len(c.seconds)-1] }

// lines writes key=value pairs: a line for each instance and one for all.
func (c *cluster) lines() {
	s := c.latest()
	for _, r := range s.rows {
		fmt.Fprintf(c.options.Out, "second=%d instance=%s passed=%d blocked=%d decided=%s\n", s.start.Unix(), r.instance, r.passed, r.blocked, r.decided)
	}
	passed, blocked := s.sum()
	fmt.Fprintf(c.options.Out, "second=%d instance=sum passed=%d blocked=%d limit=%d server=%s\n", s.start.Unix(), passed, blocked, clusterLimit, c.state(s))
}

// state says what the server was like in a second.
func (c *cluster) state(s clusterSecond) string {
	end := s.start.Add(time.Second)
	switch {
	case c.killed.IsZero() || end.Before(c.killed):
		return "up"
	case c.back.IsZero() || end.Before(c.back):
		return "down"
	}
	return "back"
}

// table returns the table of the latest second, with all seconds before as a curve.
func (c *cluster) table() string {
	var b strings.Builder
	s := c.latest()
	fmt.Fprintf(&b, "tidegate demo -cluster, second %d of %d: %d calls per second for all instances together\n\n", len(c.seconds), c.options.Seconds, clusterLimit)
	fmt.Fprintf(&b, "%-10s %4s %5s %-8s %s\n", "instance", "pass", "block", "by", "passed")
	for n, r := range s.rows {
		fmt.Fprintf(&b, "%-10s %4d %5d %-8s %s\n", r.instance, r.passed, r.blocked, r.decided, c.curve(func(s clusterSecond) int64 { return s.rows[n].passed }))
	}
	passed, blocked := s.sum()
	fmt.Fprintf(&b, "%-10s %4d %5d %-8s %s\n\n", "sum", passed, blocked, c.state(s), c.curve(func(s clusterSecond) int64 { n, _ := s.sum(); return n }))
	for _, e := range c.events[max(0, len(c.events)-shownEvents):] {
		fmt.Fprintf(&b, "%s  %s\n", e.at.Format("15:04:05.000"), e.text)
	}
	return b.String()
}

// curve draws a figure over the last seconds.
func (c *cluster) curve(of func(clusterSecond) int64) string {
	var rows []row
	for _, s := range c.seconds[max(0, len(c.seconds)-3*historyLength):] {
		rows = append(rows, row{passed: of(s)})
	}
	return spark(rows)
}

// most returns the most that certainly passed in a second of that kind, and how many there were.
func (c *cluster) most(is func(clusterSecond) bool) (most int64, seconds int) {
	for _, s := range c.seconds {
		if is(s) {
			most = max(most, s.sure())
			seconds++
		}
	}
	return most, seconds
}

// turns says whether the server was killed or came back in a second or just before it, when two windows meet: what the
// one admitted the other does not know.
func (c *cluster) turns(s clusterSecond) bool {
	for _, at := range []time.Time{c.killed, c.back, c.recovered} {
		if !at.IsZero() && s.start.Before(at.Add(time.Second)) && s.start.Add(time.Second).After(at) {
			return true
		}
	}
	return false
}

// summarize writes what was to be seen.
func (c *cluster) summarize(to io.Writer) error {
	fmt.Fprintf(to, "\nsummary of %d seconds, %d calls per second for %d instances\n", len(c.seconds), clusterLimit, len(c.instances))
	for _, e := range c.events {
		fmt.Fprintf(to, "  %s  %s\n", e.at.Format("15:04:05.000"), e.text)
	}
	held := true
	for _, phase := range []struct {
		name  string
		limit int64
		is    func(clusterSecond) bool
	}{
		{"the server decided", clusterLimit, func(s clusterSecond) bool { return !c.turns(s) && c.state(s) != "down" }},
		{"each decided by its share", clusterLimit, func(s clusterSecond) bool { return !c.turns(s) && c.state(s) == "down" }},
		{"the server left or came back", 2 * clusterLimit, c.turns},
	} {
		most, seconds := c.most(phase.is)
		if seconds == 0 {
			continue
		}
		ok := most <= phase.limit
		held = held && ok
		fmt.Fprintf(to, "  while %-28s %2d seconds, at most %3d of %d passed together: %s\n", phase.name+":", seconds, most, phase.limit, clusterVerdict(ok))
	}
	if !held {
		return errShared
	}
	return nil
}

func clusterVerdict(held bool) string {
	if held {
		return "held"
	}
	return "EXCEEDED"
}
