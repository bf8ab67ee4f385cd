package tidegate

import (
	"slices"
	"sync"

	"github.com/tidegate-go/tidegate/chain"
)

// observers are told of breakers' changes of state.
type observers struct {
	mu   sync.Mutex
	list []*func(BreakerEvent) // guarded by mu; copied on change
}

// OnBreakerChange calls f at every change of a breaker's state, until cancel is called. The events of one breaker
// come in order, after the change, inside the call that caused it; f must be quick. A panic ends there.
func (e *Engine) OnBreakerChange(f func(BreakerEvent)) (cancel func()) {
	if !e.made() || f == nil {
		return func() {}
	}
	o := &e.observers
	o.mu.Lock()
	defer o.mu.Unlock()
	own := &f
	o.list = append(slices.Clone(o.list), own)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.list = slices.DeleteFunc(slices.Clone(o.list), func(have *func(BreakerEvent)) bool { return have == own })
	}
}

// notify tells the observers; a panic of one does not keep the event from the others.
func (e *Engine) notify(event BreakerEvent) {
	if event.Time.IsZero() {
		event.Time = e.Now()
	}
	e.observers.mu.Lock()
	list := e.observers.list
	e.observers.mu.Unlock()
	for _, f := range list {
		e.guard("breaker observer", func() { (*f)(event) })
	}
}

// KindEnabled says whether the rules of the kind may be in force.
func (e *Engine) KindEnabled(which chain.Kind) bool {
	if !e.made() {
		return false
	}
	for _, k := range e.kinds {
		if k.kind == which {
			return !k.off()
		}
	}
	return false
}
