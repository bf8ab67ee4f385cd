package tidegate

import (
	"context"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// clock gives engine time: nanoseconds since the Unix epoch that never decrease.
type clock interface {
	now() int64
	wait(ctx context.Context, d time.Duration) error
}

// systemClock is the machine's monotonic clock, anchored to wall time when it was made. Steps of the wall clock
// afterwards do not touch it.
type systemClock struct {
	start time.Time
	base  int64
}

func newSystemClock() *systemClock {
	start := time.Now()
	return &systemClock{start: start, base: start.UnixNano()}
}

func (c *systemClock) now() int64 { return c.base + int64(time.Since(c.start)) }

func (c *systemClock) wait(ctx context.Context, d time.Duration) error {
	switch err := ctx.Err(); {
	case err != nil:
		return err
	case d <= shortWait && c.passes(d):
		return nil
	case ctx.Done() == nil:
		time.Sleep(d) // which, unlike a timer, allocates nothing
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shortWait is less than parking a goroutine takes.
const shortWait = time.Microsecond

// passes looks at the clock until d has gone by. It gives up where time does not pass, as in a bubble of testing/synctest.
func (c *systemClock) passes(d time.Duration) bool {
	start := time.Now()
	for range 100 {
		if time.Since(start) >= d {
			return true
		}
	}
	return false
}

// steadyClock makes an injected clock steady: a step back of less than a second is waited out, a longer one is
// bridged, so that engine time goes on from where it stood.
type steadyClock struct {
	source chain.Clock

	mu    sync.Mutex
	last  int64 // latest engine time; guarded by mu
	ahead int64 // of the source; guarded by mu
}

func (c *steadyClock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.source.Now().UnixNano() + c.ahead
	if behind := c.last - t; behind >= int64(time.Second) {
		c.ahead += behind
	}
	c.last = max(c.last, t)
	return c.last
}

func (c *steadyClock) wait(ctx context.Context, d time.Duration) error { return c.source.Wait(ctx, d) }
