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
	if p == nil || !p.refusing.Load() || owner.gone.Load() {
		e.flooded.CompareAndSwap(owner, nil)
		return nil
	}
	if uint(call.Count) > 1 || call.Free || call.Prioritized || call.Origin != "" || call.Entrance != "" ||
		scopeOf(ctx) != nil || len(e.config.callbacks) > 0 || e.borrowing.Load() {
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
	e.countRefused(owner.Node("", nil), r, call.Inbound, now)
	return err
}

// countRefused counts a plain call that was refused. Only where callers on several cores met does it need a record,
// for its hint.
func (e *Engine) countRefused(n *stat.ContextNode, r *record, inbound bool, now int64) {
	var hint uint32
	switch {
	case r != nil:
		hint = r.call.Hint
	case n.Spread() || inbound && e.inbound.Spread():
		r = e.records.Get().(*record)
		hint = r.call.Hint
		e.records.Put(r)
	}
	n.Block(hint, now, 1)
	if inbound {
		e.inbound.Block(hint, now, 1)
	}
}
