package hotspot

import "github.com/tidegate-go/tidegate/chain"

// Admit asks whether a call that counts n passes with every value of an argument: Reserve for each of them, all or
// nothing. What it reserves is appended to holds; a call refused later hands it to Undo in reverse order. wait is the
// longest of the values' waits. If not ok, holds is as before, nothing is reserved, and refused is the value at fault.
//
// An argument without keys (nil, an empty collection, a value that cannot be compared) passes. A value that occurs
// twice is charged twice; a concurrency rule compares it with the threshold without what this call has reserved, so
// that a call with a list of three equal values passes at a threshold of one, as in Sentinel.
//
// It allocates nothing for values in the table if holds has room.
func (c *Controller) Admit(now int64, arg chain.Arg, n int64, holds []Hold) (held []Hold, wait int64, refused Key, ok bool) {
	if key, scalar := ScalarKey(arg); scalar {
		h, wait, ok := c.Reserve(now, key, n)
		switch {
		case !ok:
			return holds, 0, key, false
		case h.v != nil:
			holds = append(holds, h)
		}
		return holds, wait, Key{}, true
	}
	if arg.Kind() == chain.ArgNil {
		return holds, 0, Key{}, true
	}
	return c.admitAll(now, arg, n, holds)
}

func (c *Controller) admitAll(now int64, arg chain.Arg, n int64, holds []Hold) (held []Hold, wait int64, refused Key, ok bool) {
	held, ok = holds, true
	c.Keys(arg, func(key Key) bool {
		h, w, passed := c.Reserve(now, key, n)
		if !passed && c.way == wayConcurrency {
			h, passed = c.holdAgain(now, key, held[len(holds):])
		}
		if !passed {
			refused, ok = key, false
			return false
		}
		if h.v != nil {
			held = append(held, h)
		}
		wait = max(wait, w)
		return true
	})
	if ok {
		return held, wait, Key{}, true
	}
	for i := len(held) - 1; i >= len(holds); i-- {
		c.Undo(held[i])
	}
	return holds, 0, refused, false
}

// holdAgain reserves one more call in flight of a value that the same call already holds, if others alone leave room.
func (c *Controller) holdAgain(now int64, key Key, mine []Hold) (h Hold, ok bool) {
	own := int64(0)
	var g grant
	var p probe
	c.table.hasher.prepare(&p, &key)
	for i := range mine {
		if h := &mine[i]; p.matches(h.v, h.form) && !p.isOther(h.v, &c.table.store.Load().slab) {
			g, own = h.grant, own+1
		}
	}
	if g.v == nil {
		return Hold{}, false
	}
	g, r := c.hold(g.v, g.form, c.limitOf(g.v, g.form), own)
	if r != passed {
		return Hold{}, false
	}
	g.v.noted(now, 1)
	return c.holdOf(g, now, 1), true
}
