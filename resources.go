package tidegate

import (
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/stat"
)

// resourceOf returns the resource of that name, made if need be. Beyond the cap, names that no rule names share
// one resource for each set of patterns that match them.
func (e *Engine) resourceOf(name string, kind chain.ResourceType) *resource {
	r, ok := e.resources.Get(name)
	if !ok {
		r = e.makeResource(name, kind)
	}
	if r.plan.Load() == nil {
		e.compile(r)
	}
	return r
}

func (e *Engine) makeResource(name string, kind chain.ResourceType) *resource {
	full := func() bool { return e.resources.Len() >= e.config.maxResources && !e.named(name) }
	if full() {
		return e.overflowOf(name)
	}
	r, ok := e.resources.GetOrAdd(name, func(name string) (*resource, bool) {
		if full() { // others were faster
			return nil, false
		}
		return e.newResource(name, name, kind), true
	})
	if !ok {
		return e.overflowOf(name)
	}
	return r
}

func (e *Engine) newResource(name, ruleName string, kind chain.ResourceType) *resource {
	e.grown.Add(1)
	r := &resource{created: e.clock.now()}
	stat.InitResource(&r.Resource, e.tree, name, ruleName, uint8(kind))
	return r
}

// overflowOf returns the resource that stands for names beyond the cap to which the same patterns apply.
func (e *Engine) overflowOf(name string) *resource {
	e.counters.resourceOverflow.Add(1)
	if !e.pressed.Load() && !e.pressed.Swap(true) {
		e.log.warn("too many resources; further names without a rule of their own share one", "cap", e.config.maxResources)
	}
	if r := e.general.Load(); r != nil && !r.gone.Load() && !e.patterned.Load() { // the usual case: no second look-up
		return r
	}
	for {
		key := e.overflowKey(name)
		if r, ok := e.overflow.Get(key); ok {
			if key == stat.Overflow {
				e.general.Store(r)
			}
			return r
		}
		r, _ := e.overflow.GetOrAdd(key, func(key string) (*resource, bool) {
			return e.newResource(key, strings.Clone(name), chain.TypeCommon), true
		})
		if e.overflowKey(name) == key {
			return r
		}
		e.overflow.Delete(key, func(have *resource) bool { return have == r }) // the patterns have just changed
	}
}

// overflowKey names the resource that stands for the name beyond the cap: by the patterns that match it.
func (e *Engine) overflowKey(name string) string {
	key := stat.Overflow
	if !e.patterned.Load() {
		return key
	}
	var parts []string
	for _, k := range e.kinds {
		if matched := k.match(name); matched != "" {
			parts = append(parts, k.kind.String(), matched)
		}
	}
	if len(parts) == 0 {
		return key
	}
	return key + " " + strings.Join(parts, " ")
}

// named says whether a rule names the resource itself, so that it is never refused nor evicted.
func (e *Engine) named(name string) bool {
	return e.naming.Load() && slices.ContainsFunc(e.kinds, func(k kind) bool { return k.plain(name) })
}

// noteRules notes what kinds of rules there are at all, so that names beyond the cap need not ask each kind. It is
// called when a rule set has changed; of simultaneous loads the last one to come here has seen the rules of all.
func (e *Engine) noteRules() {
	e.noting.Lock()
	defer e.noting.Unlock()
	e.naming.Store(slices.ContainsFunc(e.kinds, func(k kind) bool { return k.any() }))
	e.patterned.Store(slices.ContainsFunc(e.kinds, func(k kind) bool { return k.patterns() }))
}

// find returns the resource of that name, nil if nobody called it.
func (e *Engine) find(name string) *resource {
	if !e.made() {
		return nil
	}
	if r, ok := e.resources.Get(name); ok {
		return r
	}
	r, _ := e.overflow.Get(name)
	return r
}
