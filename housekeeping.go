package tidegate

import (
	"context"
	"time"
)

const (
	tendEvery   = 10 * time.Second
	pressedIdle = 10 * time.Second // names idle for so long make room when the cap is reached
)

// startHousekeeping starts the engine's goroutine. It runs on real time, whatever the engine's clock.
func (e *Engine) startHousekeeping() {
	ctx, stop := context.WithCancel(context.Background())
	e.stop, e.stopped = stop, make(chan struct{})
	go func() {
		defer close(e.stopped)
		ticker := time.NewTicker(tendEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				e.Maintain()
			}
		}
	}()
}

// Maintain does one pass of housekeeping at the clock's now: it forgets resources, origins and contexts that were
// idle for too long and frees what idle ones do not need. The engine does it by itself every 10 seconds.
func (e *Engine) Maintain() {
	if !e.made() {
		return
	}
	now := e.clock.now()
	idle := int64(e.config.idleTimeout)
	e.crowded.Store(false)
	e.flooded.Store(nil) // the next flood sets it again; the resource may be forgotten below
	if e.pressed.Swap(false) {
		idle = min(idle, int64(pressedIdle))
	}
	e.resources.Range(func(name string, r *resource) bool {
		e.tend(name, r, now, idle)
		return true
	})
	e.overflow.Range(func(_ string, r *resource) bool {
		r.Tend(now, int64(e.config.idleTimeout))
		return true
	})
	e.tree.Tend()
	e.inbound.Tend(now)
}

func (e *Engine) tend(name string, r *resource, now, idle int64) {
	used, active := r.Tend(now, int64(e.config.idleTimeout))
	idle = max(idle, e.param.Memory(&r.Resource), e.gateway.Memory(&r.Resource))
	if now-max(used, r.created) <= idle || active > 0 || e.named(name) || !e.quiet(r, now) {
		return
	}
	if e.resources.Delete(name, func(have *resource) bool { return have == r }) {
		r.gone.Store(true)
		r.Detach()
	}
}

// quiet says whether the resource has no state worth keeping: nothing that a limit counts, and breakers that are
// closed and have counted nothing in their windows.
func (e *Engine) quiet(r *resource, now int64) bool {
	return !r.Busy(now) && !e.breakers.Busy(&r.Resource, now)
}
