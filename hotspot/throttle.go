package hotspot

// Throttling: state holds the time, in ns, of the place in the queue that was given last. A call's place is its own
// cost (n times the duration divided by the threshold) after the last one, now at the earliest; the first call of a
// value is free. It may wait strictly less than the queueing time; a wait of nothing is always allowed. One
// compare-and-swap gives the place, so callers at one instant queue up behind each other and none is refused because
// another one tried in vain.

// queue reserves a place for a call that counts n.
func (c *Controller) queue(now int64, v *value, f form, l *limit, n int64, h *Hold) (wait int64, r result) {
	cost := l.cost(n)
	for {
		last := v.state.Load()
		if last == stateDead {
			return 0, lost
		}
		place := now
		if last != stateFresh {
			place = max(now, satAdd(last, cost))
		}
		wait = place - now
		if wait > 0 && wait >= c.queueing {
			return 0, refused
		}
		if v.state.CompareAndSwap(last, place) {
			*h = Hold{v: v, form: f, n: n, at: now, a: place, b: last}
			return wait, passed
		}
	}
}

// leave gives a place back if it is still the last one. Those behind it keep the times they were told.
func (h *Hold) leave() {
	if h.v.is(h.form) {
		h.v.state.CompareAndSwap(h.a, h.b)
	}
}

// queueUse: a value without a call for a whole duration is as good as a new one.
func (c *Controller) queueUse(_ *value, last, now int64) use {
	switch {
	case last <= stateFresh:
		return useIdle
	case last > now:
		return useQueued
	case now-last >= int64(min(far, c.base.second)):
		return useIdle
	}
	return useRecent
}
