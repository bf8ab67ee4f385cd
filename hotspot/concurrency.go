package hotspot

// Concurrency: state holds the calls in flight. A call passes if the state plus one is not above the threshold; how
// much the call counts for makes no difference. A value with calls in flight is never evicted.

// hold reserves one of the calls in flight. own of them are the asking call's and do not count against it.
func (c *Controller) hold(now int64, v *value, l *limit, own int64, h *Hold) result {
	for {
		flying := v.state.Load()
		switch {
		case flying == stateDead:
			return lost
		case flying-own >= l.most:
			return refused
		case v.state.CompareAndSwap(flying, flying+1):
			*h = Hold{v: v, n: 1, at: now}
			return passed
		}
	}
}

// drop ends one call in flight; it never goes below zero.
func (c *Controller) drop(v *value) {
	for {
		flying := v.state.Load()
		if flying <= 0 {
			return
		}
		if v.state.CompareAndSwap(flying, flying-1) {
			if flying == 1 {
				c.table.released(v)
			}
			return
		}
	}
}

// flightUse: without calls in flight there is nothing to forget but the statistics, which go by use.
func flightUse(_ *value, flying, _ int64) use {
	if flying > 0 {
		return useFlight
	}
	return useRecent
}
