package outlier

import (
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// longStep is the step back of an injected clock that is bridged rather than waited out.
const longStep = time.Second

// engineTime is time in nanoseconds since the epoch that never decreases. The zero value reads real time,
// whose wall clock may be stepped: newEngineTime anchors it.
type engineTime struct {
	clock chain.Clock
	base  time.Time // of the monotonic clock, without an injected one

	mu    sync.Mutex
	last  int64 // guarded by mu
	ahead int64 // guarded by mu; how far engine time is ahead of the clock
}

func newEngineTime(clock chain.Clock) *engineTime {
	return &engineTime{clock: clock, base: time.Now()}
}

func (e *engineTime) now() int64 {
	if e == nil {
		return time.Now().UnixNano()
	}
	if e.clock == nil {
		return e.base.Add(time.Since(e.base)).UnixNano()
	}
	return e.forward(e.clock.Now().UnixNano())
}

// forward stands still at a step back: a short one until the clock has caught up, a long one only this once.
func (e *engineTime) forward(reading int64) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := reading + e.ahead
	if back := e.last - t; back > 0 {
		if back >= int64(longStep) {
			e.ahead += back
		}
		return e.last
	}
	e.last = t
	return t
}
