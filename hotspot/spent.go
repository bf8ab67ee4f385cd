package hotspot

// Under a bucket that is refilled by the second, no pass needs a count of its own: the tokens that a value has spent
// since its last refill are its passes, so a call writes one word and not two. stat then has what the window before the
// last refill passed (32 bits) and how long before the refill that window began, in ms (32 bits); a window is the second
// after a refill, since a call that comes later refills.
//
// That holds for thresholds of at least 1 per second that nobody divides, and their exception items.

// spentPeriod is the period of such buckets, in ms.
const spentPeriod = 1000

const historyMax = 1<<32 - 1

// spend takes n tokens of v if that is all there is to do, which is almost always: half the instructions of reserveOf.
// If not ok nothing is reserved, and reserveOf finds out why.
func (c *Controller) spend(now int64, v *value, f form, n int64) (g grant, ok bool) {
	if !c.spent || f&ownForm != 0 || n <= 0 {
		return grant{}, false
	}
	left, since, price := v.state.Load(), v.since.Load(), c.base.units(n)
	if left < price || now/nsPerMs-since > spentPeriod || !v.state.CompareAndSwap(left, left-price) || !v.is(f) {
		return grant{}, false
	}
	v.touch()
	return grant{v, f, since, noPrior}, true
}

// history returns what stat has of a window that began gap ms before the refill.
func history(passes, gap int64) uint64 {
	if gap >= 2*spentPeriod || passes <= 0 {
		return 0
	}
	return uint64(min(passes, historyMax))<<32 | uint64(gap)
}

// spentOf returns what v has passed since its last refill if left units are left. Caller holds the shard's mu.
func (c *Controller) spentOf(v *value, l *limit, left int64) int64 {
	if left < 0 {
		return 0
	}
	room := int64(0)
	if c.table.burst {
		if x := c.table.extraOf(v); x != nil {
			room = x.room
		}
	}
	return max(0, l.capacity-room-left) / l.scale
}

// forget takes a hold that was undone after a refill out of the window before it. Caller holds the shard's mu.
func (c *Controller) forget(h *Hold, since int64) {
	if !c.spent {
		return
	}
	began := h.a
	if h.b != noPrior {
		began = h.at / nsPerMs
	}
	w := h.v.stat.Load()
	passes, gap := int64(w>>32), int64(w&historyMax)
	if since-gap == began && passes > 0 {
		h.v.stat.Store(history(passes-min(passes, h.n), gap))
	}
}

// spentRate returns the passes of the last second: of the current window and of the one before, the shares that are not
// yet a second ago. Caller holds the shard's mu.
func (c *Controller) spentRate(v *value, now int64) float64 {
	l, w := c.limitOf(v, v.form.Load()), v.stat.Load()
	age := now/nsPerMs - v.since.Load()
	current := c.spentOf(v, l, v.state.Load())
	return float64(current)*share(age) + float64(w>>32)*share(age+int64(w&historyMax))
}

// share returns which part of a window that began age ms ago lies within the last second.
func share(age int64) float64 {
	return min(1, max(0, float64(2*spentPeriod-age)/spentPeriod))
}
