package hotspot

import (
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// A Controller decides for one rule on one resource. It is safe for concurrent use.
// Times are engine times in ns: they never decrease but for the small differences between goroutines.
type Controller struct {
	base     limit
	items    map[Key]*limit // never changed
	way      way
	spent    bool     // passes are counted by the tokens spent: see spent.go
	queueing int64    // ns; throttling: a wait must be below it
	duration int64    // ns; what the count is for
	divider  *divider // nil: nothing is divided
	table    table
	skipped  atomic.Uint64 // behind the table's padding: not beside what every call reads
}

// way is how a rule decides.
type way uint8

const (
	wayBucket way = iota
	wayQueue
	wayConcurrency
)

// result is what became of an attempt to reserve.
type result uint8

const (
	passed result = iota
	refused
	lost  // the value was evicted meanwhile: look it up again
	again // the state has changed: try again
)

// A Hold is what a passed call has reserved, to be handed to Undo or Release once. Its zero value holds nothing.
type Hold struct {
	grant
	n  int64
	at int64 // when it was reserved
}

// A grant is what is reserved of a value. It refers to the value's record, so that giving it back needs no look-up. It
// travels in registers.
type grant struct {
	v    *value
	form form  // that v had
	a    int64 // bucket: time of the last refill before, in ms; queue: the place given
	b    int64 // bucket: units left before, or noPrior; queue: the place given before
}

// New makes the controller of a valid rule, with all values as new. Exception items that do not parse are left out;
// Rule.Warnings says which.
func New(rule Rule) *Controller {
	c := &Controller{
		base:     newLimit(rule.Count, &rule),
		items:    itemLimits(&rule),
		queueing: satMul(max(0, rule.MaxQueueingTimeMs), nsPerMs),
		duration: int64(rule.Duration()),
	}
	capacity := rule.Capacity()
	switch {
	case rule.Grade == GradeConcurrency:
		c.way = wayConcurrency
		c.table.init(capacity, true, true, false, flightUse)
	case rule.ControlBehavior == Throttling:
		c.way = wayQueue
		c.table.init(capacity, true, false, false, c.queueUse)
	default:
		c.spent = c.base.period == spentPeriod && !c.base.closed()
		c.table.init(capacity, false, false, rule.BurstCount > 0, c.bucketUse)
	}
	return c
}

// Threshold returns the threshold of a value: its exception item's count, or the rule's.
func (c *Controller) Threshold(key Key) float64 {
	return c.inForce(c.items[key]).count
}

// inForce returns the limit that counts now for an exception item, or for values without one if nil.
func (c *Controller) inForce(item *limit) *limit {
	switch {
	case c.divider != nil:
		return c.divider.of(item)
	case item != nil:
		return item
	}
	return &c.base
}

// Memory returns for how long after a value's last call, in ns, its state may still refuse one; 0 without any value.
func (c *Controller) Memory() int64 {
	if c.Len() == 0 {
		return 0
	}
	memory := satAdd(c.duration, c.queueing)
	if count := c.inForce(nil).count; count > 0 && count < 1 { // one call per duration/count
		memory = satAdd(memory, clampInt(float64(c.duration)/count))
	}
	return memory
}

// Capacity returns how many values the controller keeps at most, not counting values in flight.
func (c *Controller) Capacity() int { return int(c.table.capacity) }

// Len returns how many values it keeps.
func (c *Controller) Len() int { return int(c.table.count.Load()) }

// Evicted returns how many values have been evicted to make room for others.
func (c *Controller) Evicted() uint64 { return c.table.evicted() }

// Skipped returns how many values could not be compared, so that the rule did not apply to them.
func (c *Controller) Skipped() uint64 { return c.skipped.Load() }

// Keys is KeysOf; what is skipped is added to Skipped.
func (c *Controller) Keys(arg chain.Arg, yield func(Key) bool) {
	if skipped := KeysOf(arg, yield); skipped > 0 {
		c.skipped.Add(uint64(skipped))
	}
}

// Reserve asks whether a call that counts n passes with this value. If ok, the call has to wait for wait ns, and h
// holds what it has reserved: hand it to Undo if the call is refused after all, and under a concurrency rule to
// Release when the call ends. If not ok nothing is reserved.
//
// A threshold of 0 refuses every call. Otherwise n = 0 passes and counts nothing; under a concurrency rule every call
// counts as one, whatever its n. Under throttling a call charges its own cost.
// It allocates nothing for a value that is in the table.
func (c *Controller) Reserve(now int64, key Key, n int64) (h Hold, wait int64, ok bool) {
	var p probe
	c.table.hasher.prepare(&p, &key)
	v, f := c.table.find(&p)
	g, wait, ok := c.reserve(now, &p, v, f, n)
	return c.holdOf(g, now, n), wait, ok
}

// holdOf returns the hold of what a call at now that counts n was granted.
func (c *Controller) holdOf(g grant, now, n int64) Hold {
	switch {
	case g.v == nil:
		return Hold{}
	case c.way == wayConcurrency:
		n = 1
	}
	return Hold{grant: g, n: n, at: now}
}

// reserve is Reserve for a probe that has found v, or nil.
func (c *Controller) reserve(now int64, p *probe, v *value, f form, n int64) (g grant, wait int64, ok bool) {
	if v != nil {
		if g, ok := c.spend(now, v, f, n); ok {
			return g, 0, true
		}
		v.touch()
		if g, wait, r := c.reserveOf(now, v, f, n); r != lost && v.is(f) {
			return g, wait, r == passed
		}
	}
	return c.reserveNew(now, p, n)
}

// reserveNew is reserve for a value that was not found, or evicted just then. The first call of a value passes unless
// every one is refused, so the value comes into the table with that call counted, under one lock.
func (c *Controller) reserveNew(now int64, p *probe, n int64) (g grant, wait int64, ok bool) {
	own := c.itemOf(p)
	for {
		l := c.inForce(own)
		if c.never(l, n) {
			return grant{}, 0, false
		}
		if n == 0 && c.way != wayConcurrency {
			return grant{}, 0, true
		}
		b := birth{own: own}
		g = c.first(now, l, n, &b)
		v, f, added := c.table.put(now, p, &b)
		if added {
			g.v, g.form = v, f
			return g, 0, true
		}
		if g, wait, r := c.reserveOf(now, v, f, n); r != lost && v.is(f) {
			return g, wait, r == passed
		}
	}
}

// first returns what a value's first call holds, as take, queue and hold would, and sets what the value begins with.
func (c *Controller) first(now int64, l *limit, n int64, b *birth) (g grant) {
	switch c.way {
	case wayBucket:
		b.state, b.since = l.capacity-l.units(n), now/nsPerMs
		g.b = stateFresh
	case wayQueue:
		b.state = now
		g.a, g.b = now, stateFresh
	case wayConcurrency:
		b.state, n = 1, 1
	}
	if !c.spent {
		b.stat = firstStat(now, n)
	}
	return g
}

func (c *Controller) reserveOf(now int64, v *value, f form, n int64) (g grant, wait int64, r result) {
	l := c.limitOf(v, f)
	switch {
	case l.closed():
		return grant{}, 0, refused
	case c.way == wayConcurrency:
		g, r = c.hold(v, f, l, 0)
		n = 1
	case n == 0:
		return grant{}, 0, passed
	case c.way == wayBucket:
		g, r = c.take(now, v, f, l, n)
	default:
		g, wait, r = c.queue(now, v, f, l, n)
	}
	if r == passed && !c.spent {
		v.noted(now, n)
	}
	return g, wait, r
}

// never says that a call is refused whatever happened before, so that its value need not be kept.
func (c *Controller) never(l *limit, n int64) bool {
	switch c.way {
	case wayBucket:
		return l.closed() || l.units(n) > l.capacity
	case wayConcurrency:
		return l.most < 1
	case wayQueue:
	}
	return l.closed()
}

// itemOf returns the limit of a value's exception item, or nil.
func (c *Controller) itemOf(p *probe) *limit {
	if c.items == nil {
		return nil
	}
	return c.items[p.key()]
}

// limitOf returns the limit of a value in the table.
func (c *Controller) limitOf(v *value, f form) *limit {
	if f&ownForm != 0 || c.divider != nil {
		return c.limitOfOwn(v, f)
	}
	return &c.base
}

func (c *Controller) limitOfOwn(v *value, f form) *limit {
	if f&ownForm != 0 {
		if x := c.table.extraOf(v); x != nil { // else the record has just become another value's
			return c.inForce(x.limit)
		}
	}
	return c.inForce(nil)
}

// Undo gives back exactly what Reserve has reserved for a call that was refused or cancelled later. A call with several
// holds undoes them in reverse order. A place in a queue is given back if it is still the last one.
func (c *Controller) Undo(h Hold) {
	if h.v == nil {
		return
	}
	if !h.v.is(h.form) {
		return // evicted: there is nothing left to give back
	}
	if !c.spent {
		h.v.unnoted(h.at, h.n)
	}
	switch c.way {
	case wayBucket:
		c.giveBack(&h, c.limitOf(h.v, h.form))
	case wayQueue:
		h.leave()
	case wayConcurrency:
		c.drop(h.v, h.form)
	}
}

// Release ends a call: under a concurrency rule it frees its place, else it does nothing.
func (c *Controller) Release(h Hold) {
	if h.v != nil && c.way == wayConcurrency {
		c.drop(h.v, h.form)
	}
}

// Holds says whether calls must hand their holds to Release when they end: under concurrency rules.
func (c *Controller) Holds() bool { return c.way == wayConcurrency }

// Explain returns what a refused call would have measured at now, for messages: the tokens spent, the wait in seconds
// a call of one would need, or the calls in flight; the limit it is compared with in the same unit; and when a call of
// one could pass, 0 if at once or unknown. It changes nothing.
func (c *Controller) Explain(now int64, key Key) (measured, most float64, retry time.Duration) {
	l := c.inForce(c.items[key])
	state := int64(stateFresh)
	var since int64
	var p probe
	c.table.hasher.prepare(&p, &key)
	if v, _ := c.table.find(&p); v != nil {
		state, since = v.state.Load(), v.since.Load()
	}
	switch c.way {
	case wayConcurrency:
		return float64(inFlight(state)), float64(l.most), 0
	case wayQueue:
		return c.explainQueue(now, l, state)
	case wayBucket:
	}
	if l.closed() {
		return 0, 0, 0
	}
	scale := float64(l.scale)
	if state < 0 {
		return 0, float64(l.capacity) / scale, 0
	}
	if state < l.scale {
		retry = time.Duration(max(0, satMul(since+l.period+1, nsPerMs)-now))
	}
	return float64(l.capacity-state) / scale, float64(l.capacity) / scale, retry
}

func (c *Controller) explainQueue(now int64, l *limit, last int64) (measured, most float64, retry time.Duration) {
	most = time.Duration(c.queueing).Seconds()
	if l.closed() || last <= stateFresh {
		return 0, most, 0
	}
	wait := max(0, satAdd(last, l.cost(1))-now)
	return time.Duration(wait).Seconds(), most, time.Duration(max(0, wait-max(0, c.queueing-1)))
}
