package tidegate

import (
	"context"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/stat"
)

// refusers returns the checks at the plan's beginning that can tell by themselves whether they refuse.
func refusers(checks []chain.Check) []chain.Refuser {
	var can []chain.Refuser
	for _, k := range checks {
		refuser, ok := k.(chain.Refuser)
		if !ok || !refuser.Plain() {
			break
		}
		can = append(can, refuser)
	}
	return can
}

// refused notes that one of the plan's checks refused: if it is one that can tell so by itself, the next call asks it
// before anything else.
func (p *plan) refused(now int64, err *BlockError) {
	if len(p.refusers) > 0 && !p.refusing.Load() && p.ask(now) == err {
		p.refusing.Store(true)
	}
}

// ask returns the error of the first check that would refuse a plain call at that time.
func (p *plan) ask(now int64) *BlockError {
	for _, k := range p.refusers {
		if err := k.Refuses(now); err != nil {
			return err
		}
	}
	return nil
}

// refuseAgain refuses and counts a plain call whose resource refused the latest one and still does, or returns nil.
// Floods of calls end here, so it does nothing that only calls let in need: a record stays as it is. The resource
// remembered as flooded needs none at all (r is nil), which spares a fifth of the instructions.
func (e *Engine) refuseAgain(ctx context.Context, owner *resource, r *record, now int64, call *Call) *BlockError {
	p := owner.plan.Load()
	if !p.refusing.Load() || owner.gone.Load() {
		e.flooded.CompareAndSwap(owner, nil)
		return nil
	}
	if uint(call.Count) > 1 || call.Free || call.Prioritized || call.Origin != "" || call.Entrance != "" ||
		len(e.config.callbacks) > 0 || e.borrowing.Load() || scopeOf(ctx) != nil {
		return nil
	}
	err := p.ask(now)
	if err == nil {
		p.refusing.Store(false)
		return nil
	}
	if r != nil && e.flooded.Load() == nil {
		e.flooded.CompareAndSwap(nil, owner)
	}
	n := owner.Common()
	if n == nil {
		n = owner.Node("", nil)
	}
	hint := e.hintOf(r, n, call.Inbound)
	n.Block(hint, now, 1)
	if call.Inbound {
		e.inbound.Block(hint, now, 1)
	}
	return err
}

// hintOf returns the record's hint. Without a record one is needed only where callers on several cores met.
func (e *Engine) hintOf(r *record, n *stat.ContextNode, inbound bool) uint32 {
	if r == nil {
		if !n.Spread() && (!inbound || !e.inbound.Spread()) {
			return 0
		}
		r = e.records.Get().(*record)
		e.records.Put(r)
	}
	return r.call.Hint
}
