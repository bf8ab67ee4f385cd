package demo

import (
	"fmt"
	"io"
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
