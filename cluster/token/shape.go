package token

import (
	"github.com/tidegate-go/tidegate/chain"
)

// Bounds of a window, for the memory that it takes: of a rule, and of each value of a parameter rule.
const (
	mostBuckets      = 1000
	mostValueBuckets = 100
	mostCompatible   = 10_000
	mostIntervalMs   = 1<<31 - 1
)

// A shape is a window's length in ms and its number of buckets, which divides it.
type shape struct{ interval, buckets int64 }

// shapeOf returns the window of a rule: what the rule does not say is from the config.
func shapeOf(c *chain.ClusterConfig, defaults Config) shape {
	sh := shape{int64(c.Window()), int64(c.Samples())}
	if c.WindowIntervalMs == 0 {
		sh.interval = int64(defaults.IntervalMs)
	}
	if c.SampleCount == 0 {
		sh.buckets = int64(defaults.SampleCount)
	}
	if sh.interval%sh.buckets != 0 { // one of them is the rule's, and does not fit to the other
		return shape{int64(c.Window()), int64(c.Samples())}
	}
	return sh
}

// within returns the shape with fewer buckets if it has more than most.
func (sh shape) within(most int64) shape {
	if sh.buckets <= most {
		return sh
	}
	for n := most; n > 1; n-- {
		if sh.buckets%n == 0 {
			return shape{sh.interval, n}
		}
	}
	return shape{sh.interval, 1}
}

const nsPerMs = 1_000_000

// length returns the length of a bucket in ns.
func (sh shape) length() int64 { return sh.interval / sh.buckets * nsPerMs }

// seconds returns the window's length in seconds.
func (sh shape) seconds() float64 { return float64(sh.interval) / 1000 }
