package token

import (
	"cmp"
	"math"
	"slices"

	"github.com/tidegate-go/tidegate/flow"
)

// Status is what a service holds and has decided, as of a moment. Counters begin when a rule is loaded and end when
// it is removed.
type Status struct {
	Compatible bool              `json:"compatible"`
	Namespaces []NamespaceStatus `json:"namespaces"`
	Flows      []FlowStatus      `json:"flows"`
	Params     []ParamStatus     `json:"params"`
	BadRequest uint64            `json:"badRequest"` // answers of that status
	NoRule     uint64            `json:"noRule"`     // answers of that status, conflicts included
	Conflicts  uint64            `json:"conflicts"`  // requests whose flow id other namespaces have, more than one
	TokensOut  int               `json:"tokensOut"`  // concurrency tokens
	Expired    uint64            `json:"tokensExpired"`
}

// NamespaceStatus is the status of one namespace.
type NamespaceStatus struct {
	Namespace string `json:"namespace"`
	Connected int    `json:"connected"`
	Flows     int    `json:"flows"`
	Params    int    `json:"params"`
	Config    Config `json:"config"`       // in force
	Own       bool   `json:"ownConfig"`    // the config is the namespace's own
	Requests  int64  `json:"requests"`     // counted by the request limit now; 0 if that is infinite
	Most      int64  `json:"mostRequests"` // that limit, per second
}

// Decisions are requests by answer.
type Decisions struct {
	Granted uint64 `json:"granted"`  // TokenOK
	Waited  uint64 `json:"waited"`   // TokenShouldWait
	Blocked uint64 `json:"blocked"`  // TokenBlocked
	Limited uint64 `json:"limited"`  // TokenTooManyRequest
	Failed  uint64 `json:"failed"`   // TokenFail
	Spared  uint64 `json:"observed"` // TokenOK although above the limit: the rule only observes
}

// FlowStatus is the status of one flow rule.
type FlowStatus struct {
	Namespace   string  `json:"namespace"`
	FlowID      int64   `json:"flowId"`
	Resource    string  `json:"resource"`
	Grade       int     `json:"grade"`
	Count       float64 `json:"count"`
	Global      bool    `json:"global"`
	Threshold   float64 `json:"threshold"` // units per window now; of grade 0: places
	IntervalMs  int64   `json:"intervalMs"`
	SampleCount int64   `json:"sampleCount"`
	Current     int64   `json:"current"` // units in the window
	Units       uint64  `json:"units"`   // granted so far
	Taken       int64   `json:"taken"`   // places, by concurrency tokens
	Acquired    uint64  `json:"acquired"`
	Decisions
}

// ParamStatus is the status of one parameter rule.
type ParamStatus struct {
	Namespace   string  `json:"namespace"`
	FlowID      int64   `json:"flowId"`
	Resource    string  `json:"resource"`
	Count       float64 `json:"count"`
	Global      bool    `json:"global"`
	Threshold   float64 `json:"threshold"` // units per value and window now, without exception items
	IntervalMs  int64   `json:"intervalMs"`
	SampleCount int64   `json:"sampleCount"`
	Values      int64   `json:"values"`   // counted now
	Capacity    int64   `json:"capacity"` // values that can be counted
	Forgotten   uint64  `json:"forgotten"`
	Decisions
}

// Status returns the status as of now.
func (s *Service) Status() Status {
	if s.none() {
		return Status{}
	}
	now := s.Now()
	st := Status{
		Compatible: s.compatible,
		BadRequest: s.odd.bad.Load(), NoRule: s.odd.noRule.Load(), Conflicts: s.odd.conflicts.Load(),
		Namespaces: s.spaceStatus(now), Flows: []FlowStatus{}, Params: []ParamStatus{},
	}
	st.TokensOut, st.Expired = s.tokens.tally()
	flows, params := s.rules()
	for _, f := range flows {
		st.Flows = append(st.Flows, f.status(s, now))
	}
	for _, p := range params {
		st.Params = append(st.Params, p.status())
	}
	return st
}

func (s *Service) spaceStatus(now int64) []NamespaceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]NamespaceStatus, 0, len(s.spaces))
	for _, sp := range s.byName() {
		list = append(list, NamespaceStatus{
			Namespace: sp.name, Connected: int(sp.connected.Load()), Flows: len(sp.flows), Params: len(sp.params),
			Config: s.configOf(sp).finite(), Own: sp.own != nil, Requests: sp.limiter.Total(now), Most: sp.most.Load(),
		})
	}
	return list
}

// byName returns the spaces in order of name. The caller holds mu.
func (s *Service) byName() []*space {
	list := make([]*space, 0, len(s.spaces))
	for _, sp := range s.spaces {
		list = append(list, sp)
	}
	slices.SortFunc(list, func(a, b *space) int { return cmp.Compare(a.name, b.name) })
	return list
}

func (f *flowRule) status(s *Service, now int64) FlowStatus {
	ns, id := f.key()
	st := FlowStatus{
		Namespace: ns, FlowID: id, Resource: f.rule.Resource, Grade: f.rule.Grade.Number(), Count: finite(f.rule.Count),
		Global: f.global, IntervalMs: f.shape.interval, SampleCount: f.shape.buckets,
		Taken: s.tokens.places(id, &f.holders), Acquired: f.acquired.Load(),
		Decisions: Decisions{Blocked: f.blocked.Load(), Limited: f.limited.Load(), Failed: f.failed.Load(), Spared: f.spared.Load()},
	}
	switch {
	case f.compat != nil:
		st.Threshold = finite(f.threshold() * f.shape.seconds())
		f.compat.addTo(&st, now)
	case f.rule.Grade == flow.GradeConcurrency:
		st.Threshold = float64(f.places())
	default:
		st.Threshold = float64(f.terms.most(f.space))
		lent, extra := f.lent.Load(), f.extra.Load() // before the window, which is written before them
		st.Current, st.Units = f.hot.Total(now), uint64(f.hot.Counted(now))
		st.Waited = f.waited.Load()
		st.Granted = uint64(max(0, int64(st.Units)-lent-extra))
	}
	return st
}

func (c *compatFlow) addTo(st *FlowStatus, now int64) {
	pass, counts := c.state(now)
	st.Current, st.Units = pass, counts.units
	st.Granted, st.Waited = counts.granted, counts.waited
	st.Blocked += counts.blocked
}

func (p *paramRule) status() ParamStatus {
	ns, id := p.key()
	st := ParamStatus{
		Namespace: ns, FlowID: id, Resource: p.rule.Resource, Count: finite(p.rule.Count), Global: p.global,
		IntervalMs: p.shape.interval, SampleCount: p.shape.buckets,
		Decisions: Decisions{Limited: p.limited.Load(), Spared: p.spared.Load()},
	}
	if p.compat != nil {
		counts, gone, values := p.compat.tally()
		st.Granted, st.Blocked, st.Forgotten, st.Values = counts.granted, counts.blocked, gone, values
		st.Threshold, st.Capacity = finite(p.threshold(valueKey{})*p.shape.seconds()), compatValues*p.shape.buckets
		return st
	}
	st.Threshold, st.Capacity = float64(p.windowOf(p.rule.Count)), p.values.capacity
	st.Granted, st.Blocked, st.Forgotten, st.Values = p.values.tally()
	if p.observe { // the table refused them, the rule did not
		st.Blocked = 0
	}
	return st
}

// finite returns a number that JSON can carry: infinity is the largest.
func finite(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(f, math.MaxFloat64)
}

func (c Config) finite() Config {
	c.ExceedCount, c.MaxOccupyRatio, c.MaxAllowedQPS = finite(c.ExceedCount), finite(c.MaxOccupyRatio), finite(c.MaxAllowedQPS)
	return c
}
