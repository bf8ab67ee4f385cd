package gateway

import (
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/stat"
)

// Slot holds the gateway rules of an engine and makes the checks of each resource. They concern only calls that carry
// a request. A rule counts as a hot-parameter rule whose value is a part of the request, or one value for all.
type Slot struct {
	set    *ruleset.Set[Rule, *definition]
	now    func() int64
	tokens *chain.Tokens
}

// definition stands for a rule for as long as equal rules stay loaded.
type definition struct{ _ byte }

type bound = ruleset.Bound[Rule, *definition]

// NewSlot makes a slot without rules. now returns engine time in ns; tokens decide rules in cluster mode, with nil their
// fallback does.
func NewSlot(now func() int64, tokens *chain.Tokens) *Slot {
	build := func(Rule) (*definition, error) { return &definition{}, nil }
	return &Slot{now: now, tokens: tokens, set: ruleset.New(chain.KindGateway, build, ruleset.Options[Rule]{Warn: Rule.Warnings})}
}

// Set returns the rules.
func (s *Slot) Set() *ruleset.Set[Rule, *definition] { return s.set }

// controllers are what rules know of a resource; the lock of the resource's plan guards them.
type controllers map[*definition]*hotspot.Controller

// Checks returns a check for each rule that applies to the resource.
func (s *Slot) Checks(resource *stat.Resource) []chain.Bound {
	table, known := s.set.Tables()
	kept, _ := resource.Attachment(s).(controllers)
	next, _ := ruleset.Keep(kept, known.Applying(resource.RuleName, resource.Shared), func(b *bound) *hotspot.Controller {
		return hotspot.NewLocal(asParam(b.Rule))
	})
	if len(next) == 0 {
		resource.Attach(s, nil)
		return nil
	}
	resource.Attach(s, controllers(next))
	var checks []chain.Bound
	for _, b := range table.Applying(resource.RuleName, resource.Shared) {
		k := &check{Limiter: hotspot.NewLimiter(next[b.Controller]), slot: s, rule: b.Rule}
		k.matches = matcherOf(b.Rule.ParamItem)
		k.err = chain.NewBlockError(chain.KindGateway, resource.Name, b.Rule, chain.ErrGateway, k)
		if b.Rule.ClusterMode {
			checks = append(checks, k.cluster().bound(b.Observed))
		} else {
			checks = append(checks, chain.Bound{Check: k, Observed: b.Observed})
		}
	}
	return checks
}

// Memory returns for how long after its last call, in ns, what rules know of the resource may still refuse one.
func (s *Slot) Memory(resource *stat.Resource) (longest int64) {
	kept, _ := resource.Attachment(s).(controllers)
	for _, c := range kept {
		longest = max(longest, c.Memory())
	}
	return longest
}

// asParam is the conversion of Sentinel's GatewayRuleConverter.
func asParam(r Rule) hotspot.Rule {
	position := 0
	p := hotspot.Rule{
		Resource: r.Resource, ParamIdx: &position, Count: r.Count, DurationInSec: int64(r.Interval() / time.Second),
		BurstCount: r.Burst, MaxQueueingTimeMs: r.MaxQueueing().Milliseconds(),
		ClusterMode: r.ClusterMode, ClusterConfig: r.tokenConfig(),
	}
	if r.Grade == GradeConcurrency {
		p.Grade = hotspot.GradeConcurrency
	}
	if r.ControlBehavior == Throttling {
		p.ControlBehavior = hotspot.Throttling
	}
	return p
}

// everyone is the value of rules that count all requests together.
const everyone = "$D"

// check decides by one rule about the requests of one resource.
type check struct {
	hotspot.Limiter
	slot    *Slot
	rule    Rule
	matches func(value string) bool // nil: any value
	err     *chain.BlockError
}

// Check decides about a request of the kind of resource that the rule is for. A request without the rule's part, or
// with a value that the pattern does not match, passes.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	value, ok := k.concerned(c)
	if !ok {
		return nil
	}
	return k.decide(c, value)
}

// concerned returns the value that the request counts for; ok is false if the rule is not about the request.
func (k *check) concerned(c *chain.Context) (value string, ok bool) {
	if c.Request == nil || c.Group != (k.rule.ResourceMode == APIGroup) {
		return "", false
	}
	value, ok = k.value(c.Request)
	return value, ok && (k.matches == nil || k.matches(value))
}

func (k *check) decide(c *chain.Context, value string) *chain.BlockError {
	if k.Reserve(c, hotspot.TextKey(value)) {
		return nil
	}
	return k.err
}

func (k *check) value(r chain.Request) (string, bool) {
	p := k.rule.ParamItem
	if p == nil {
		return everyone, true
	}
	switch p.ParseStrategy {
	case ClientIP:
		return r.ClientIP()
	case Host:
		return r.Host()
	case HeaderField:
		return r.Header(p.FieldName)
	case URLParam:
		return r.URLParam(p.FieldName)
	case CookieField:
		return r.Cookie(p.FieldName)
	}
	return "", false
}

// matcherOf returns how the parameter's pattern is compared, nil without a pattern.
func matcherOf(p *ParamItem) func(string) bool {
	if p == nil || p.Pattern == "" {
		return nil
	}
	switch p.MatchStrategy {
	case Prefix:
		return func(value string) bool { return strings.HasPrefix(value, p.Pattern) }
	case Contains:
		return func(value string) bool { return strings.Contains(value, p.Pattern) }
	case Regex:
		if pattern, err := ruleset.CompilePattern(p.Pattern); err == nil { // validated when the rule was loaded
			return pattern.MatchString
		}
	case Exact:
	}
	return func(value string) bool { return value == p.Pattern }
}

// Explain tells the rule's limit and, for rules that count all requests together, what was measured.
func (k *check) Explain() chain.Explanation {
	e := chain.Explanation{Limit: k.rule.Count, Unit: "requests", Window: k.rule.Interval()}
	var measured, most float64
	if k.rule.ParamItem == nil {
		measured, most, e.RetryAfter = k.Controller().Explain(k.slot.now(), hotspot.TextKey(everyone))
		e.Measured, e.Limit = measured, most
	}
	switch {
	case k.rule.Grade == GradeConcurrency:
		e.Unit, e.Window = "requests in flight", 0
	case k.rule.ControlBehavior == Throttling:
		const ms = 1000
		e.Unit, e.Measured, e.Limit = "ms in queue", measured*ms, float64(k.rule.MaxQueueing().Milliseconds())
	}
	return e
}
