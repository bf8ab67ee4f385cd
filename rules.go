package tidegate

import (
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/stat"
	"github.com/tidegate-go/tidegate/system"
)

// Item is one element of a rule list that was decoded element by element: a rule, or the error that decoding gave.
type Item[R any] = ruleset.Item[R]

// loader is the part of a rule set that does not depend on its controllers.
type loader[R any] interface {
	Load(source string, rules []R) chain.Report
	LoadItems(source string, items []Item[R]) chain.Report
	LoadResource(resource string, rules []R) chain.Report
	Rules() []R
	Status() chain.Report
	Subscribe(f func([]R)) (cancel func())
}

// RuleSet is an engine's rules of one kind. Several sources may supply rules; they are merged in the order of the
// sources' names, and each source replaces only its own. The source "" is code. Rules equal to loaded ones keep
// their controller and its state. A rule that is refused never takes others with it. Safe for concurrent use.
// One that no engine returned refuses rules.
type RuleSet[R any] struct{ set loader[R] }

func (s *RuleSet[R]) rules() loader[R] {
	if s == nil || s.set == nil {
		return noRules[R]{}
	}
	return s.set
}

// Load replaces the rules that code loaded before. The error names each refused rule by index and reason; the
// others are in force. No rules at all removes those of code; a list in which every rule is refused changes nothing.
func (s *RuleSet[R]) Load(rules ...R) (Report, error) {
	report := s.rules().Load("", rules)
	return report, report.Err()
}

// LoadFrom replaces the rules that the source of that name supplied before.
func (s *RuleSet[R]) LoadFrom(source string, items []Item[R]) Report {
	return s.rules().LoadItems(source, items)
}

// LoadResource replaces the rules of one resource, whichever source they came from, by rules of code. A source
// that loads again brings its own back.
func (s *RuleSet[R]) LoadResource(resource string, rules ...R) (Report, error) {
	report := s.rules().LoadResource(resource, rules)
	return report, report.Err()
}

// Rules returns a copy of the rules in force.
func (s *RuleSet[R]) Rules() []R { return s.rules().Rules() }

// Status tells what became of every rule of every source.
func (s *RuleSet[R]) Status() Report { return s.rules().Status() }

// Subscribe calls f with the rules in force after every change, until cancel is called. f runs inside the load,
// must be quick, and must not load rules of this kind.
func (s *RuleSet[R]) Subscribe(f func([]R)) (cancel func()) { return s.rules().Subscribe(f) }

// ruleSetOf wraps a set of the engine; one that New did not make has none and refuses rules.
func ruleSetOf[R any](e *Engine, set func() loader[R]) *RuleSet[R] {
	if !e.made() {
		return &RuleSet[R]{set: noRules[R]{}}
	}
	return &RuleSet[R]{set: set()}
}

// FlowRules returns the rules that limit flow.
func (e *Engine) FlowRules() *RuleSet[flow.Rule] {
	return ruleSetOf(e, func() loader[flow.Rule] { return e.flow.Set() })
}

// IsolationRules returns the rules that limit calls in flight.
func (e *Engine) IsolationRules() *RuleSet[isolation.Rule] {
	return ruleSetOf(e, func() loader[isolation.Rule] { return e.isolation.Set() })
}

// DegradeRules returns the rules of circuit breakers. Rules whose resource is exactly "*" make default breakers for
// resources without any of their own.
func (e *Engine) DegradeRules() *RuleSet[circuitbreaker.Rule] {
	return ruleSetOf(e, func() loader[circuitbreaker.Rule] { return e.breakers.Set() })
}

// ParamRules returns the rules about hot parameters.
func (e *Engine) ParamRules() *RuleSet[hotspot.Rule] {
	return ruleSetOf(e, func() loader[hotspot.Rule] { return e.param.Set() })
}

// AuthorityRules returns the rules about who may call.
func (e *Engine) AuthorityRules() *RuleSet[authority.Rule] {
	return ruleSetOf(e, func() loader[authority.Rule] { return e.authority.Set() })
}

// SystemRules returns the rules that limit all inbound calls together.
func (e *Engine) SystemRules() *RuleSet[system.Rule] {
	return ruleSetOf(e, func() loader[system.Rule] { return e.system.Set() })
}

// GatewayRules returns the rules about requests of routes and API groups.
func (e *Engine) GatewayRules() *RuleSet[gateway.Rule] {
	return ruleSetOf(e, func() loader[gateway.Rule] { return e.gateway.Set() })
}

// APIDefinitions returns the named groups of paths that gateway rules may limit.
func (e *Engine) APIDefinitions() *RuleSet[gateway.API] {
	return ruleSetOf(e, func() loader[gateway.API] { return e.groups.Set() })
}

// APIGroups returns the names of the API groups that the path belongs to.
func (e *Engine) APIGroups(path string) []string {
	if !e.made() {
		return nil
	}
	return e.groups.Of(path)
}

// HasGatewayRules says whether a gateway rule or an API definition is in force. Adapters ask it for every request, to
// describe requests only where somebody looks at them.
func (e *Engine) HasGatewayRules() bool {
	return e.made() && (len(e.gateway.Set().Table().All()) > 0 || len(e.groups.Set().Table().All()) > 0)
}

// ParamStats tells what each hot-parameter rule of the resource knows, with its top most frequent values.
func (e *Engine) ParamStats(resource string, top int) []hotspot.Status {
	if r := e.find(resource); r != nil {
		return e.param.Status(&r.Resource, e.clock.now(), top)
	}
	return nil
}

// ExcludeFromDefaultBreakers names the resources that get no default breaker, instead of those named before.
func (e *Engine) ExcludeFromDefaultBreakers(resources ...string) {
	if e.made() {
		e.breakers.Exclude(resources)
		e.compileAll()
		e.breakers.Flush()
	}
}

// SetKindEnabled puts the rules of a kind in force or, keeping them and their state, out of force.
func (e *Engine) SetKindEnabled(which Kind, on bool) {
	if !e.made() {
		return
	}
	for _, k := range e.kinds {
		if k.kind == which {
			k.setOff(!on)
		}
	}
}

// makeKinds makes the slot of each kind, in the order of their checks.
func (e *Engine) makeKinds() {
	now := e.clock.now
	e.flow = flow.NewSlot(flow.Settings{
		Scope: e.scope, ColdFactor: e.config.coldFactor, OccupyTimeout: &e.occupy, Now: now, Related: e.related,
		Memory: e.memory, MemoryTotal: e.memoryTotal(), Behaviors: e.config.behaviors, Failed: e.failed,
		Tokens: &e.tokens, Log: e.config.logger,
	})
	e.authority = authority.NewSlot()
	e.system = system.NewSlot(e.inbound, now, e.systemReadings)
	e.gateway = gateway.NewSlot(now, &e.tokens)
	e.groups = gateway.NewGroups()
	e.param = hotspot.NewSlot(now, e.config.logger, &e.tokens)
	e.isolation = isolation.NewSlot()
	e.breakers = circuitbreaker.NewSlot(now, e.notify)
	e.kinds = []kind{
		kindOf(e, chain.OrderAuthority, e.authority.Set(), e.authority.Checks),
		kindOf(e, chain.OrderSystem, e.system.Set(), e.system.Checks),
		kindOf(e, chain.OrderGateway, e.gateway.Set(), e.gateway.Checks),
		kindOf(e, chain.OrderParam, e.param.Set(), e.param.Checks),
		kindOf(e, chain.OrderFlow, e.flow.Set(), e.flow.Checks),
		kindOf(e, chain.OrderIsolation, e.isolation.Set(), e.isolation.Checks),
		kindOf(e, chain.OrderBreaker, e.breakers.Set(), e.breakers.Checks),
	}
}

func (e *Engine) related(name string) *stat.Resource {
	if r, ok := e.resources.Get(name); ok {
		return &r.Resource
	}
	return nil
}

// everywhere says whether rules of that resource string apply to any resource: default breakers and system rules.
func everywhere(resource string) bool {
	return resource == circuitbreaker.DefaultResource || resource == ""
}

// kindOf makes the engine's view of a rule set and recompiles plans when it changes.
func kindOf[R ruleset.Rule[R], C any](e *Engine, order int, set *ruleset.Set[R, C], checks func(*stat.Resource) []chain.Bound) kind {
	set.OnChange(func(c ruleset.Change) {
		e.noteRules()
		e.sampleIfNeeded()
		if c.All || slices.ContainsFunc(c.Resources, everywhere) {
			e.compileAll()
		} else {
			e.compileNamed(c.Resources)
		}
	})
	set.After(func() { e.breakers.Flush() })
	return kind{
		kind: set.Kind(), order: order, checks: checks, setOff: set.SetOff, off: set.Off,
		any:      func() bool { return len(set.Known().All()) > 0 },
		patterns: func() bool { return set.Table().HasPatterns() },
		plain:    func(resource string) bool { return len(set.Known().Plain(resource)) > 0 },
		match: func(resource string) string {
			if !set.Table().HasPatterns() {
				return ""
			}
			var patterns []string
			for _, b := range set.Table().Matching(resource) {
				patterns = append(patterns, b.Rule.Head().Resource)
			}
			return strings.Join(patterns, "|")
		},
	}
}
