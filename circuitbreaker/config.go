package circuitbreaker

import (
	"math"
	"time"
)

// config is a rule with its defaults filled in and its times in nanoseconds.
type config struct {
	grade       Grade
	threshold   float64 // ratio or number of bad calls; see trips
	maxRT       int64   // SlowRatio: a call that took longer is slow
	minRequests int64
	recovery    int64 // how long the breaker stays open
	lease       int64 // how long a probe may take before its permit is given to another call
	probes      int   // permits while half-open, and successes that close
	bucket      int64 // length of a bucket of the window
	buckets     int
}

// configOf expects a valid rule.
func configOf(r Rule) config {
	interval, buckets := r.Window()
	c := config{
		grade:       r.Grade,
		threshold:   r.Count,
		minRequests: int64(r.MinRequests()),
		recovery:    int64(r.RecoveryTime()),
		lease:       int64(r.ProbeTimeout()),
		probes:      max(1, r.Probes()),
		buckets:     max(1, buckets),
	}
	c.bucket = max(1, int64(interval)/int64(c.buckets))
	if r.Grade == SlowRatio {
		c.maxRT = longest(r.Count)
		c.threshold = r.SlowRatio()
	}
	return c
}

// bad says whether the outcome counts against the resource.
func (c *config) bad(rt time.Duration, failed bool) bool {
	if c.grade == SlowRatio {
		return int64(rt) > c.maxRT
	}
	return failed
}

// trips says whether a closed breaker opens at these counts, and the ratio or number that decided it.
// All comparisons are strict, except that a ratio of 1 trips a threshold of 1.
func (c *config) trips(bad, total int64) (value float64, ok bool) {
	if bad == 0 || total < c.minRequests {
		return 0, false
	}
	if c.grade == ErrorCount {
		value = float64(bad)
		return value, value > c.threshold
	}
	value = float64(bad) / float64(total)
	return value, value > c.threshold || (value == 1 && c.threshold == 1)
}

// longest returns floor(ms + 0.5) milliseconds in nanoseconds, at most math.MaxInt64.
func longest(ms float64) int64 {
	if ms = math.Floor(ms + 0.5); ms < math.MaxInt64/float64(time.Millisecond) {
		return int64(ms) * int64(time.Millisecond)
	}
	return math.MaxInt64
}

// later returns now + d, at most math.MaxInt64 and at least 1.
func later(now, d int64) int64 {
	if now > math.MaxInt64-d {
		return math.MaxInt64
	}
	return max(1, now+d)
}
