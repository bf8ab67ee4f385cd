package hotspot

// Throttling: state holds the time, in ns, of the place in the queue that was given last. A call's place is its own
// cost (n times the duration divided by the threshold) after the last one, now at the earliest; the first call of a
// value is free. It may wait strictly less than the queueing time; a wait of nothing is always allowed. One
// compare-and-swap gives the place, so callers at one instant queue up behind each other and none is refused because
// another one tried in vain.

// queue reserves a place for a call that counts n.
func (c *Controller) queue(now int64, v *value, f form, l *limit, n int64) (g grant, wait int64, r result) {
	cost := l.cost(n)
	for {
		last := v.state.Load()
		if last == stateDead {
			return grant{}, 0, lost
		}
		place := now
		if last != stateFresh {
			place = max(now, satAdd(last, cost))
		}
		wait = place - now
		if wait > 0 && wait >= c.queueing {
			return grant{}, 0, refused
		}
		if v.state.CompareAndSwap(last, place) {
			return grant{v, f, place, last}, wait, passed
		}
	}
}

// leave gives a place back if it is still the last one. Those behind it keep the times they were told.
func (h *Hold) leave() {
	if h.v.is(h.form) {
		h.v.state.CompareAndSwap(h.a, h.b)
	}
}

// queueUse: a value without a call for a whole duration is as good as a new one, if its next call would not wait. At a
// threshold below 1 it would.
func (c *Controller) queueUse(v *value, last, now int64) use {
	if last <= stateFresh {
		return useIdle
	}
	if last > now {
		return useQueued
	}
	l := c.limitOf(v, v.form.Load())
	if now-last >= max(int64(min(far, l.second)), l.cost(1)) {
		return useIdle
	}
	return useRecent
}
