package tidegate

import (
	"cmp"
	"context"
	"slices"
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
	e.crowded.Store(false)
	e.flooded.Store(nil) // the next flood sets it again; the resource may be forgotten below
	wanted := e.roomWanted(now)
	var spare []spareName
	e.resources.Range(func(name string, r *resource) bool {
		used, gone := e.tend(name, r, now, int64(e.config.idleTimeout))
		if wanted > 0 && !gone && now-used > int64(pressedIdle) {
			spare = append(spare, spareName{name, r, used})
		}
		return true
	})
	e.makeRoom(wanted, spare, now)
	e.overflow.Range(func(_ string, r *resource) bool {
		r.Tend(now, int64(e.config.idleTimeout))
		return true
	})
	e.tree.Tend()
	e.inbound.Tend(now)
}

// tend looks after a resource and forgets it if it was idle for too long. It returns when it was used last.
func (e *Engine) tend(name string, r *resource, now, idle int64) (used int64, gone bool) {
	used, active := r.Tend(now, int64(e.config.idleTimeout))
	used = max(used, r.created)
	if now-used <= idle || active > 0 || e.remembers(r, used, now) || e.named(name) || !e.quiet(r, now) {
		return used, false
	}
	if gone = e.resources.Delete(name, func(have *resource) bool { return have == r }); gone {
		r.gone.Store(true)
		r.Detach()
	}
	return used, gone
}

// remembers says whether rules still know something of the resource's parameters that may refuse a call.
func (e *Engine) remembers(r *resource, used, now int64) bool {
	return now-used <= max(e.param.Memory(&r.Resource), e.gateway.Memory(&r.Resource))
}

// A spareName is a resource that was idle for so long that it may make room.
type spareName struct {
	name string
	r    *resource
	used int64
}

// roomWanted returns how many names there should be room for until the next pass, 0 if it does not matter: as many as
// came since the last one and a quarter more, if they are many or did not all fit, at most half the cap. So a steady flow of
// new names keeps the table at a steady size, and all of them have a resource of their own. A pass that follows another one
// closely leaves that to the next.
func (e *Engine) roomWanted(now int64) int {
	if before := e.roomAt.Load(); now-before < int64(tendEvery)/2 || !e.roomAt.CompareAndSwap(before, now) {
		return 0
	}
	limit, grown := e.config.maxResources, int(e.grown.Swap(0))
	switch pressed := e.pressed.Swap(false); {
	case pressed:
		grown = max(grown, limit/4)
	case grown <= max(1, limit/64):
		return 0
	}
	return max(1, min(grown+grown/4, limit/2))
}

// makeRoom forgets those of the spare names that have been idle for the longest, until there is the room wanted.
func (e *Engine) makeRoom(wanted int, spare []spareName, now int64) {
	missing := wanted - (e.config.maxResources - e.resources.Len())
	if wanted == 0 || missing <= 0 {
		return
	}
	slices.SortFunc(spare, func(a, b spareName) int { return cmp.Compare(a.used, b.used) })
	for _, s := range spare {
		if _, gone := e.tend(s.name, s.r, now, int64(pressedIdle)); gone {
			if missing--; missing == 0 {
				return
			}
		}
	}
}

// quiet says whether the resource has no state worth keeping: nothing that a limit counts, and breakers that are
// closed and have counted nothing in their windows.
func (e *Engine) quiet(r *resource, now int64) bool {
	return !r.Busy(now) && !e.breakers.Busy(&r.Resource, now)
}
