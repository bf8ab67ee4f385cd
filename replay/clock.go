package replay

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is a scenario's time. Only steps and, if advances, waits move it.
type clock struct {
	ns       atomic.Int64
	advances bool
	step     int64 // time of the step before
}

// Now returns the scenario's time.
func (c *clock) Now() time.Time { return time.Unix(0, c.ns.Load()) }

// Wait returns at once.
func (c *clock) Wait(_ context.Context, d time.Duration) error {
	if c.advances {
		c.advance(int64(d))
	}
	return nil
}

// advance moves the clock forward, not beyond latestMs.
func (c *clock) advance(d int64) {
	now := c.ns.Load()
	if most := latestMs*1e6 - now; d > most {
		d = max(0, most)
	}
	c.ns.Store(now + d)
}

// set moves the clock to the time of a step. It goes back only with the steps: not because a call waited
// longer than recorded.
func (c *clock) set(at int64) {
	if at < c.step {
		c.ns.Store(at)
	} else {
		c.ns.Store(max(c.ns.Load(), at))
	}
	c.step = at
}
