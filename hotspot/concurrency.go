package hotspot

// Concurrency: state holds the calls in flight, and above them the record's form, so that a call is never counted for
// another value. A call passes if the calls in flight plus one are not above the threshold; how
// much the call counts for makes no difference. A value with calls in flight is never evicted.

const (
	flightBits = 32
	flightMask = 1<<flightBits - 1
)

// flight returns the state of a record of that form without calls in flight.
func flight(f form) int64 { return int64(f/nextForm) << flightBits }

// inFlight returns the calls in flight of a state; none if dead.
func inFlight(state int64) int64 {
	if state < 0 {
		return 0
	}
	return state & flightMask
}

// hold reserves one of the calls in flight. own of them are the asking call's and do not count against it.
func (c *Controller) hold(v *value, f form, l *limit, own int64) (grant, result) {
	for {
		state := v.state.Load()
		switch {
		case state == stateDead || state&^flightMask != flight(f):
			return grant{}, lost
		case inFlight(state)-own >= l.most:
			return grant{}, refused
		case v.state.CompareAndSwap(state, state+1):
			return grant{v: v, form: f}, passed
		}
	}
}

// drop ends one call in flight; it never goes below zero.
func (c *Controller) drop(v *value, f form) {
	for {
		state := v.state.Load()
		flying := inFlight(state)
		if flying == 0 {
			return
		}
		if v.state.CompareAndSwap(state, state-1) {
			if flying == 1 {
				c.table.released(v, f)
			}
			return
		}
	}
}

// flightUse: without calls in flight there is nothing to forget but the statistics, which go by use.
func flightUse(_ *value, state, _ int64) use {
	if inFlight(state) > 0 {
		return useFlight
	}
	return useRecent
}
