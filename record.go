package tidegate

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// record is what an engine keeps of one call. It is pooled: a pool hands a record back to the core that returned
// it, so its hint spreads cores over counters. When two cores meet all the same, the record takes another hint.
//
// state is generation<<1 | locked. An Entry holds the generation that the record had when it was handed out; the
// exit raises it, so a stale copy finds another one and does nothing, and entering writes nothing.
//
// What a call without reservations uses comes first, in three cache lines: with the allocator's header before it, the
// record's own fields fill one and the call's first fields the next.
type record struct {
	state  atomic.Uint64
	engine *Engine
	owner  *resource // of the latest call
	plain  bool      // that call was a usual one, of one unit, neither prioritized nor of an API group
	usual  bool      // that call was without context, origin and parent of its own: see locate
	found  bool      // its nodes are those of its entrance and origin, not of names beyond a cap
	waited int64     // ns
	err    error     // set by SetError; guarded by the lock bit
	call   chain.Context
}

const lockBit = 1

func (e *Engine) newRecord() any {
	r := &record{engine: e}
	r.call.Hint = e.stripes.Add(1)
	return r
}

func (r *record) open() Entry { return Entry{record: r, generation: r.state.Load() >> 1} }

// take moves the record from free of this entry's generation to next; false if the entry is stale.
func (en Entry) take(next uint64) bool {
	r := en.record
	if r == nil {
		return false
	}
	free := en.generation << 1
	for {
		if r.state.CompareAndSwap(free, next) {
			return true
		}
		if r.state.Load()|lockBit != free|lockBit {
			return false
		}
		runtime.Gosched()
	}
}

// lock keeps the record from being closed while f runs; false if the entry is stale.
func (en Entry) lock(f func(r *record)) bool {
	free := en.generation << 1
	if !en.take(free | lockBit) {
		return false
	}
	f(en.record)
	en.record.state.Store(free)
	return true
}

// claim closes the record; exactly one caller of an entry gets true.
func (en Entry) claim() bool { return en.take((en.generation + 1) << 1) }

// free returns a closed record to the pool.
func (r *record) free() {
	r.call.Clear()
	if r.err != nil {
		r.err = nil
	}
	r.engine.records.Put(r)
}

// Entry is a call that was let in. The zero value, which a refused call returns, is safe: its methods do
// nothing. An entry may be copied and exited from any goroutine, in any order; only the first exit counts.
type Entry struct {
	record     *record
	generation uint64
}

// Exit ends the call; err is its outcome, nil for success. The engine's classifier judges the error.
func (en Entry) Exit(err error) { en.exit(-1, err) }

// ExitN is Exit for a call that turned out to be of n units, which its success or failure is counted with.
// A negative n stands for the count at entry.
func (en Entry) ExitN(n int, err error) { en.exit(min(int64(n), chain.MostUnits), err) }

// SetError notes an error before the exit. The last one counts, once; refusals by rules are not noted. An error
// given to Exit wins.
func (en Entry) SetError(err error) {
	if err == nil || en.record == nil || en.record.engine.refusal(err) {
		return
	}
	en.lock(func(r *record) { r.err = err })
}

// Waited returns how long rules made the call wait, 0 once it has exited.
func (en Entry) Waited() time.Duration {
	var d int64
	en.lock(func(r *record) { d = r.waited })
	return time.Duration(d)
}

// Open says whether the call was let in by a rule check and has not exited.
func (en Entry) Open() bool { return en.lock(func(*record) {}) }

// scope returns what calls inside this one inherit.
func (en Entry) scope() (s callScope, ok bool) {
	ok = en.lock(func(r *record) {
		s = callScope{entrance: r.call.Entrance, origin: r.call.Origin, parent: r.call.Node}
	})
	return s, ok
}

func (en Entry) exit(n int64, err error) {
	r := en.record
	if r == nil || !r.state.CompareAndSwap(en.generation<<1, (en.generation+1)<<1) && !en.claim() {
		return
	}
	e, c := r.engine, &r.call
	var now int64
	if e.machine != nil {
		now = e.machine.now()
	} else {
		now = e.clock.now()
	}
	rt := max(0, now-c.Now)
	if err == nil {
		err = r.err
	}
	outcome := Success
	if err != nil {
		outcome = e.judge(err)
	}
	if p := r.owner.plan.Load(); c.Holding() || len(p.completers) > 0 {
		p.complete(c, chain.Done{Now: now, RT: time.Duration(rt), Outcome: outcome})
	}
	if n < 0 {
		n = c.Units()
	}
	c.Node.Complete(c.Hint, now, n, rt, outcome == Failure)
	if c.OriginNode != nil || c.Inbound {
		e.completeBeside(c, now, n, rt, outcome == Failure)
	}
	if e.borrowing.Load() {
		e.settle(c, now)
	}
	if len(e.config.callbacks) > 0 {
		e.tellComplete(c, err, chain.Done{Now: now, RT: time.Duration(rt), Outcome: outcome})
	}
	r.free()
}

// completeBeside counts the end of a call in the nodes that it has beside its context's.
func (e *Engine) completeBeside(c *chain.Context, now, n, rt int64, failed bool) {
	if c.OriginNode != nil {
		c.OriginNode.Complete(c.Hint, now, n, rt, failed)
	}
	if c.Inbound {
		e.inbound.Complete(c.Hint, now, n, rt, failed)
	}
}

// refusal says whether the error is that of a rule. An error whose own methods panic is not.
func (e *Engine) refusal(err error) (is bool) {
	e.guard("error", func() { is = errors.Is(err, ErrBlocked) })
	return is
}

// judge asks the classifier; one that panics counts as an internal error and the call as failed.
func (e *Engine) judge(err error) (o Outcome) {
	o = Failure
	e.guard("classifier", func() { o = e.config.classify(err) })
	return o
}
