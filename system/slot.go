package system

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/stat"
)

// Readings are the machine's figures. A figure that is not known never refuses a call.
type Readings struct {
	Load      float64 // one-minute load average
	LoadKnown bool
	CPU       float64 // 0 to 1 of what the process may use
	CPUKnown  bool
}

// Slot holds the system rules of an engine and makes the checks of each resource.
type Slot struct {
	set      *ruleset.Set[Rule, struct{}]
	inbound  *stat.Node
	readings func() Readings
	now      func() int64
	enforced atomic.Pointer[limits]
	observed atomic.Pointer[limits]
}

// NewSlot makes a slot without rules. inbound counts all inbound calls, now returns engine time in ns.
func NewSlot(inbound *stat.Node, now func() int64, readings func() Readings) *Slot {
	s := &Slot{inbound: inbound, now: now, readings: readings}
	build := func(Rule) (struct{}, error) { return struct{}{}, nil }
	s.set = ruleset.New(chain.KindSystem, build, ruleset.Options[Rule]{Warn: Rule.Warnings})
	s.set.OnChange(func(ruleset.Change) { s.publish() })
	return s
}

// Set returns the rules.
func (s *Slot) Set() *ruleset.Set[Rule, struct{}] { return s.set }

// publish merges the rules in force into snapshots: the smallest value of each limit.
func (s *Slot) publish() {
	var enforced, observed []Rule
	for _, b := range s.set.Table().All() {
		if b.Observed {
			observed = append(observed, b.Rule)
		} else {
			enforced = append(enforced, b.Rule)
		}
	}
	s.enforced.Store(merge(enforced))
	s.observed.Store(merge(observed))
	l, o := s.enforced.Load(), s.observed.Load()
	s.inbound.Exact().Keep(stat.Need{Window: l.rate() || o.rate(), Gate: l.concurrency() || o.concurrency()})
}

// NeedsReadings says whether a rule in force compares the machine's load or CPU usage.
func (s *Slot) NeedsReadings() bool {
	return s.enforced.Load().needsReadings() || s.observed.Load().needsReadings()
}

// Inactive names the limits in force whose figure is not known, such as "load unavailable".
func (s *Slot) Inactive() []string {
	r := s.readings()
	var list []string
	for _, l := range []*limits{s.enforced.Load(), s.observed.Load()} {
		if l == nil {
			continue
		}
		if l.loadSet && !r.LoadKnown {
			list = append(list, "inactive: load unavailable")
		}
		if l.cpuSet && !r.CPUKnown {
			list = append(list, "inactive: CPU usage unavailable")
		}
	}
	slices.Sort(list)
	return slices.CompactFunc(list, strings.EqualFold)
}

// Checks returns the checks of the rules that refuse and of those that observe.
func (s *Slot) Checks(resource *stat.Resource) []chain.Bound {
	var checks []chain.Bound
	if l := s.enforced.Load(); l != nil {
		checks = append(checks, chain.Bound{Check: newCheck(s, l, resource.Name)})
	}
	if l := s.observed.Load(); l != nil {
		checks = append(checks, chain.Bound{Check: newCheck(s, l, resource.Name), Observed: true})
	}
	return checks
}
