package hotspot

import "sync/atomic"

// A divider lets a controller enforce one client's share of a rule's thresholds. All state of values means the same
// under every divisor: buckets count in millionths of a token, queues in time.
type divider struct {
	rule   Rule
	shares atomic.Pointer[shares]
}

// shares are the limits under one divisor. They are never changed.
type shares struct {
	clients int
	base    limit
	items   []limit // by place
}

// newDivided makes a controller whose thresholds Divide can divide.
func newDivided(rule Rule) *Controller {
	c := New(rule)
	c.divider, c.spent = &divider{rule: rule}, false
	c.Divide(1)
	return c
}

// Divide makes every threshold, and the burst, one part of n. It does nothing to a controller that New made. A value
// that has more left than its part of the burst and the threshold loses the rest with its next call.
func (c *Controller) Divide(n int) {
	if c.divider == nil {
		return
	}
	if s := c.divider.shares.Load(); s == nil || s.clients != n {
		c.divider.shares.Store(c.sharesOf(max(1, n)))
	}
}

func (c *Controller) sharesOf(clients int) *shares {
	rule := c.divider.rule
	rule.BurstCount /= int64(clients)
	part := func(count float64) limit {
		l := newLimit(count/float64(clients), &rule)
		l.refine()
		return l
	}
	s := &shares{clients: clients, base: part(c.base.count), items: make([]limit, len(c.items))}
	for _, l := range c.items {
		s.items[l.place] = part(l.count)
	}
	return s
}

// refine makes a bucket count in millionths of a token.
func (l *limit) refine() {
	if l.scale == 1 {
		l.scale, l.refill, l.capacity = tokenScale, satMul(l.refill, tokenScale), satMul(l.capacity, tokenScale)
	}
}

// of returns the share of a limit, which is an item's or the base's.
func (d *divider) of(item *limit) *limit {
	s := d.shares.Load()
	if item == nil {
		return &s.base
	}
	return &s.items[item.place]
}
