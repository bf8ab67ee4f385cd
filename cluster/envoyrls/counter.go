package envoyrls

import "math"

// counter counts the hits of one descriptor in a fixed window, aligned to multiples of its length since the epoch. It
// is guarded by its shard's mutex.
type counter struct {
	key        string
	start      int64 // of the window, ns
	length     int64 // ns
	used       int64 // hits; above the limit only where refused hits count or a rule does not refuse
	class      uint8 // of the list it is in
	prev, next *counter
}

// roll goes on to the window of time now. A clock that was set back by less than a window does not open the window anew.
func (c *counter) roll(now int64) {
	if c.ended(now, 0) {
		c.start, c.used = now-now%c.length, 0
	}
}

// ended says whether what the counter holds has meant nothing for so many ns. A window more than its length ahead was
// begun by a clock that was wrong.
func (c *counter) ended(now, ago int64) bool {
	return now-c.length-ago >= c.start || now < c.start-c.length
}

// reset returns when the window ends, in ns from now.
func (c *counter) reset(now int64) int64 { return min(c.start+c.length-now, c.length) }

// charge counts what an item asks for, if there is room, and notes in the item what it added.
func (c *counter) charge(it *item, now int64, anyway bool) {
	c.roll(now)
	room := it.most - c.used
	switch {
	case it.refund:
		it.added = -min(it.hits, c.used)
	case it.hits == 0: // only looks
		it.over = room <= 0
	case it.hits <= room:
		it.added = it.hits
	default:
		it.over = true
		if anyway || it.rule.soft() {
			it.added = min(it.hits, math.MaxInt64-c.used)
		}
	}
	c.used += it.added
}

// list is a ring of counters of which the first was used last; its head counts nothing.
type list struct{ head counter }

func (l *list) oldest() *counter {
	if c := l.head.prev; c != nil && c != &l.head {
		return c
	}
	return nil
}

func (l *list) push(c *counter) {
	if l.head.next == nil {
		l.head.next, l.head.prev = &l.head, &l.head
	}
	c.prev, c.next = &l.head, l.head.next
	c.prev.next, c.next.prev = c, c
}

func (c *counter) unlink() {
	if c.next != nil {
		c.prev.next, c.next.prev = c.next, c.prev
		c.prev, c.next = nil, nil
	}
}
