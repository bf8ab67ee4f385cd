package hotspot

// The token bucket of a value: state holds the units left, since the time of the last refill in ms. Tokens are refilled
// only when more than a whole period has passed, in proportion to the time, rounded down, up to the capacity; between
// refills calls only take tokens. So a caller may see up to twice the capacity around a refill, as in Sentinel.
//
// Taking tokens is one compare-and-swap and never misses an update. A refill changes both words, so it is done under
// the shard's lock, state before since: whoever still sees the old since knows that a refill is due and waits for the
// lock, so nobody is refused while tokens are being added.

const nsPerMs = 1_000_000

// noPrior marks a hold that only took tokens.
const noPrior = -1

// take reserves n tokens of v.
func (c *Controller) take(now int64, v *value, f form, l *limit, n int64) (grant, result) {
	price, ms := l.units(n), now/nsPerMs
	if price > l.capacity {
		return grant{}, refused
	}
	for {
		left := v.state.Load()
		since := v.since.Load()
		switch {
		case left >= price && left <= l.capacity && ms-since <= l.period:
			if v.state.CompareAndSwap(left, left-price) {
				return grant{v, f, since, noPrior}, passed
			}
		case left == stateDead:
			return grant{}, lost
		case left == stateFresh || ms-since > l.period:
			if g, r := c.fill(now, v, f, l, n); r != again {
				return g, r
			}
		case left < price:
			return grant{}, refused
		default: // the limit has been divided further
			v.state.CompareAndSwap(left, l.capacity)
		}
	}
}

// fill refills v, or gives a new one its first tokens, and reserves n of them. If another call has just done so it
// returns again.
func (c *Controller) fill(now int64, v *value, f form, l *limit, n int64) (grant, result) {
	s := c.table.lock(v, f)
	if s == nil {
		return grant{}, lost
	}
	defer s.mu.Unlock()
	price, ms, since := l.units(n), now/nsPerMs, v.since.Load()
	for {
		left := v.state.Load()
		full := l.capacity
		switch {
		case left == stateDead:
			return grant{}, lost
		case left == stateFresh:
			v.since.Store(ms)
		case ms-since <= l.period:
			return grant{}, again
		default:
			full = min(full, satAdd(left, l.earned(ms-since)))
		}
		if full < price {
			return grant{}, refused
		}
		if v.state.CompareAndSwap(left, full-price) {
			if c.spent {
				v.stat.Store(history(c.spentOf(v, l, left), ms-since))
			}
			c.setRoom(v, l.capacity-full)
			v.since.Store(ms)
			return grant{v, f, since, left}, passed
		}
	}
}

// giveBack undoes a reservation. If nothing else happened to v it is as before, refill included; else the tokens are
// given back, as many as a refill since then has not given back already.
func (c *Controller) giveBack(h *Hold, l *limit) {
	v := h.v
	s := c.table.lock(v, h.form)
	if s == nil {
		return
	}
	defer s.mu.Unlock()
	price, since := l.units(h.n), v.since.Load()
	if h.b == noPrior && since == h.a {
		v.addTokens(price, l.capacity)
		return
	}
	if h.b == noPrior || since != h.at/nsPerMs { // there was a refill
		c.forget(h, since)
		v.addTokens(c.takeRoom(v, price), l.capacity)
		return
	}
	full := l.capacity
	if h.b != stateFresh {
		full = min(full, satAdd(h.b, l.earned(since-h.a)))
	}
	v.since.Store(h.a) // sends callers to the lock until it is clear whether the refill is undone
	if v.state.CompareAndSwap(full-price, h.b) {
		c.setRoom(v, 0)
		if c.spent { // what was before the refill before is over a second ago
			v.stat.Store(0)
		}
		return
	}
	v.since.Store(since)
	v.addTokens(price, l.capacity)
}

// takeRoom returns how much of price the last refill would have kept had it been there. Caller holds the shard's mu.
func (c *Controller) takeRoom(v *value, price int64) int64 {
	x := c.table.extraOf(v)
	if x == nil { // no burst, so every refill fills the bucket
		return 0
	}
	price = min(price, x.room)
	x.room -= price
	return price
}

// setRoom notes what a refill has left unfilled. Caller holds the shard's mu.
func (c *Controller) setRoom(v *value, units int64) {
	if x := c.table.extraOf(v); x != nil {
		x.room = units
	}
}

// addTokens adds up to the capacity. Caller holds the shard's mu.
func (v *value) addTokens(units, capacity int64) {
	for {
		left := v.state.Load()
		if left < 0 { // dead or without calls
			return
		}
		if v.state.CompareAndSwap(left, min(capacity, satAdd(left, units))) {
			return
		}
	}
}

// bucketUse says that a bucket which the next call would fill is as good as a new one.
func (c *Controller) bucketUse(v *value, left, now int64) use {
	if left < 0 {
		return useIdle
	}
	l, elapsed := c.limitOf(v, v.form.Load()), now/nsPerMs-v.since.Load()
	if elapsed > l.period && satAdd(left, l.earned(elapsed)) >= l.capacity {
		return useIdle
	}
	return useRecent
}
