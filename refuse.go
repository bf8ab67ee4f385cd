package tidegate

import (
	"context"

	"github.com/tidegate-go/tidegate/chain"
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
// Floods of calls end here, so it does nothing that only calls let in need: the record stays as it is.
func (e *Engine) refuseAgain(ctx context.Context, r *record, owner *resource, p *plan, now int64, call *Call) *BlockError {
	if uint(call.Count) > 1 || call.Free || call.Prioritized || call.Origin != "" || call.Entrance != "" ||
		scopeOf(ctx) != nil || len(e.config.callbacks) > 0 || e.borrowing.Load() {
		return nil
	}
	err := p.ask(now)
	if err == nil {
		p.refusing.Store(false)
		return nil
	}
	owner.Node("", nil).Block(r.call.Hint, now, 1)
	if call.Inbound {
		e.inbound.Block(r.call.Hint, now, 1)
	}
	return err
}
