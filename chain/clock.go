package chain

import (
	"context"
	"time"
)

// Clock is a source of time for an engine, for replays and tests. Without one an engine uses the
// machine's monotonic clock anchored to wall time at its start.
//
// An engine's time never decreases: a step back of less than a second is waited out, a longer one is bridged.
type Clock interface {
	// Now returns the current time. It is called at least twice per guarded call, from many goroutines.
	Now() time.Time
	// Wait returns after d, or earlier with the context's error. Whether it moves Now is the clock's affair.
	Wait(ctx context.Context, d time.Duration) error
}
