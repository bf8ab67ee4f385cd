package token

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// LoadFlow replaces the flow rules of a namespace by those of the list that are in cluster mode. A blank name means
// DefaultNamespace. Rules without cluster mode and those switched off are reported as disabled, invalid ones as
// refused. Of rules with one flow id the last counts. An empty list removes the namespace's flow rules; one in which
// every rule is refused changes nothing. A removed rule takes its window, counters and tokens with it; one that stays
// keeps them, and a changed window goes on with what the old one counted, as far as it reaches.
func (s *Service) LoadFlow(ns string, rules []flow.Rule) chain.Report {
	return load(s, ns, rules, loading[flow.Rule, *flowRule]{
		kind: chain.KindFlow,
		candidate: func(r flow.Rule) candidate {
			return candidate{head: r.Head(), clustered: r.ClusterMode, config: r.ClusterConfig, validate: r.Validate, warnings: flowWarnings(r)}
		},
		of:   func(sp *space) (*[]*flowRule, *int64) { return &sp.flows, &sp.flowLoad },
		made: func(sp *space, r flow.Rule, old *flowRule) *flowRule { return s.newFlow(sp, r.Clone(), old, nil) },
		gone: s.free,
	})
}

// LoadParam is LoadFlow for the parameter rules of a namespace. Their flow ids are apart from those of flow rules.
func (s *Service) LoadParam(ns string, rules []hotspot.Rule) chain.Report {
	return load(s, ns, rules, loading[hotspot.Rule, *paramRule]{
		kind: chain.KindParam,
		candidate: func(r hotspot.Rule) candidate {
			return candidate{head: r.Head(), clustered: r.ClusterMode, config: r.ClusterConfig, validate: r.Validate, warnings: paramWarnings(r)}
		},
		of:   func(sp *space) (*[]*paramRule, *int64) { return &sp.params, &sp.paramLoad },
		made: func(sp *space, r hotspot.Rule, old *paramRule) *paramRule { return s.newParam(sp, r.Clone(), old, nil) },
		gone: func([]*paramRule, map[int64]*paramRule) {},
	})
}

// loading is what differs between the kinds of rules when a list is loaded. V are the rules in force. All but candidate
// are called with mu held.
type loading[R any, V ruled] struct {
	kind      chain.Kind
	candidate func(R) candidate
	of        func(*space) (rules *[]V, load *int64)
	made      func(sp *space, r R, old V) V // old is the one of the same id before, or nil
	gone      func(before []V, now map[int64]V)
}

func load[R any, V ruled](s *Service, ns string, rules []R, of loading[R, V]) chain.Report {
	list := make([]candidate, len(rules))
	for i, r := range rules {
		list[i] = of.candidate(r)
	}
	if s.none() {
		return vet(of.kind, ns, list)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ns = namespace(ns)
	report := vet(of.kind, ns, list)
	if allRefused(report) {
		return report
	}
	sp := s.space(ns)
	s.warnShared(report, list, sp, func(other *space) []int64 { loaded, _ := of.of(other); return ids(*loaded) })
	inUse, number := of.of(sp)
	before, old := *inUse, byID(*inUse)
	*inUse = nil
	for i, r := range rules {
		if inForce(report.Rules[i]) {
			*inUse = append(*inUse, of.made(sp, r, old[list[i].config.FlowID]))
		}
	}
	s.loads++
	*number = s.loads
	s.publish()
	of.gone(before, byID(*inUse))
	s.drop(sp)
	return report
}

// A candidate is a rule of a list to load, whatever its kind.
type candidate struct {
	head      chain.Head
	clustered bool
	config    *chain.ClusterConfig
	validate  func() error
	warnings  []string
}

// vet says what becomes of each rule of a list.
func vet(kind chain.Kind, ns string, list []candidate) chain.Report {
	report := chain.Report{Rules: make([]chain.RuleReport, len(list))}
	last := map[int64]int{}
	for i := range list {
		report.Rules[i] = list[i].verdict(kind, ns, i)
		if !inForce(report.Rules[i]) {
			continue
		}
		id := list[i].config.FlowID
		if before, twice := last[id]; twice {
			report.Rules[before].Verdict = chain.Duplicate
			report.Rules[before].Reason = fmt.Sprintf("rule %d has the same clusterConfig.flowId, %d", i, id)
		}
		last[id] = i
	}
	return report
}

func (c *candidate) verdict(kind chain.Kind, ns string, i int) chain.RuleReport {
	r := chain.RuleReport{Kind: kind, Source: ns, Index: i, Resource: c.head.Resource}
	if !c.clustered {
		r.Verdict, r.Reason = chain.Disabled, "clusterMode is not set: a rule for the clients alone"
		return r
	}
	r.Warnings = c.warnings
	if err := c.check(); err != nil {
		r.Verdict, r.Reason = chain.Refused, err.Error()
		if member, ok := errors.AsType[*chain.MemberError](err); ok {
			r.Member, r.Reason = member.Member, member.Reason
		}
		return r
	}
	switch {
	case c.head.Disabled || c.head.Mode == chain.ModeOff:
		r.Verdict = chain.Disabled
	case c.head.Mode == chain.ModeObserve:
		r.Verdict = chain.Observed
	}
	return r
}

// check validates the rule, and the bounds that a server has beyond it.
func (c *candidate) check() error {
	if err := c.validate(); err != nil {
		return err
	}
	if c.config.WindowIntervalMs > mostIntervalMs {
		return chain.Refuse("clusterConfig.windowIntervalMs", "must be at most %d, not %d", mostIntervalMs, c.config.WindowIntervalMs)
	}
	return nil
}

func inForce(r chain.RuleReport) bool {
	return r.Verdict == chain.Loaded || r.Verdict == chain.Observed
}

func allRefused(r chain.Report) bool {
	return len(r.Rules) > 0 && r.Count(chain.Refused) == len(r.Rules)
}

// warnShared adds a warning to rules whose flow id another namespace uses too. The caller holds mu.
func (s *Service) warnShared(report chain.Report, list []candidate, own *space, idsOf func(*space) []int64) {
	owners := map[int64]string{}
	for _, other := range s.spaces {
		if other == own {
			continue
		}
		for _, id := range idsOf(other) {
			if name, ok := owners[id]; !ok || other.name < name {
				owners[id] = other.name
			}
		}
	}
	for i := range report.Rules {
		r := &report.Rules[i]
		if !inForce(*r) {
			continue
		}
		if name, shared := owners[list[i].config.FlowID]; shared {
			r.Warnings = append(slices.Clip(r.Warnings), s.sharedText(list[i].config.FlowID, name))
		}
	}
}

func (s *Service) sharedText(id int64, name string) string {
	if s.compatible {
		return fmt.Sprintf("clusterConfig.flowId %d replaces that of namespace %q, which has it too", id, name)
	}
	return fmt.Sprintf("clusterConfig.flowId %d is that of a rule of namespace %q too: clients of other namespaces get no rule", id, name)
}

func flowWarnings(r flow.Rule) []string {
	list := r.Warnings()
	if r.ClusterMode && r.MemoryAdaptive() {
		list = append(list, "the memory marks have no effect in cluster mode: count is the threshold")
	}
	return append(list, bucketWarning(r.ClusterConfig, mostBuckets)...)
}

func paramWarnings(r hotspot.Rule) []string {
	return append(r.Warnings(), bucketWarning(r.ClusterConfig, mostValueBuckets)...)
}

func bucketWarning(c *chain.ClusterConfig, most int64) []string {
	if int64(c.Samples()) <= most {
		return nil
	}
	return []string{fmt.Sprintf("clusterConfig.sampleCount %d is more than %d: the window has fewer, longer buckets", c.SampleCount, most)}
}

// A ruled is a rule in force of either kind.
type ruled interface {
	key() (ns string, id int64)
}

// ids returns the flow ids of rules.
func ids[R ruled](rules []R) []int64 {
	list := make([]int64, len(rules))
	for i, r := range rules {
		_, list[i] = r.key()
	}
	return list
}

func byID[R ruled](rules []R) map[int64]R {
	m := make(map[int64]R, len(rules))
	for _, r := range rules {
		_, id := r.key()
		m[id] = r
	}
	return m
}
