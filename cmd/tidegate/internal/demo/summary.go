package demo

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// total sums up a resource's seconds.
type total struct {
	passed, blocked, errors int64
	most                    int64 // passed in one second
}

func (d *demo) total(resource string) total {
	var t total
	for _, r := range d.rows {
		if r.resource != resource {
			continue
		}
		t.passed += r.passed
		t.blocked += r.blocked
		t.errors += r.errors
		t.most = max(t.most, r.passed)
	}
	return t
}

// summarize writes what was to be seen.
func (d *demo) summarize(to io.Writer) error {
	seconds := len(d.rows) / len(resources())
	fmt.Fprintf(to, "\nsummary of %d seconds\n", seconds)
	for _, resource := range resources() {
		t := d.total(resource)
		fmt.Fprintf(to, "  %-10s %5d passed, %5d blocked, %4d errors, at most %d passed a second\n",
			resource, t.passed, t.blocked, t.errors, t.most)
	}
	for _, e := range d.meter.noted() {
		fmt.Fprintf(to, "  %s  %s\n", e.at.Format("15:04:05.000"), e.text)
	}
	if gap := d.upstream.smallestGap(); gap > 0 {
		fmt.Fprintf(to, "  bursts of %d requests to %s reached the upstream at least %v apart\n", pacedBurst, paced, gap.Round(time.Millisecond))
	}
	fmt.Fprintf(to, "  reject limit of %d per second on %s: %s\n", fastLimit, fast, verdict(d.held(fast)))
	fmt.Fprintf(to, "  reject limit of %d, then %d per second on %s: %s\n", slowLimit, slowLowered, slow, verdict(d.held(slow)))
	if !d.held(fast) || !d.held(slow) {
		return errExceeded
	}
	return nil
}

// held says whether no second passed more than the limit at its beginning.
func (d *demo) held(resource string) bool {
	return !slices.ContainsFunc(d.rows, func(r row) bool { return r.resource == resource && r.passed > r.limit })
}

func verdict(held bool) string {
	if held {
		return "held in every second"
	}
	return "EXCEEDED"
}
