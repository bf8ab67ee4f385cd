package envoyrls

import (
	"cmp"
	"slices"
	"time"
)

// A Status tells how a Service is doing, for people and programs; it is meant to be written as JSON.
type Status struct {
	Domains     []DomainStatus `json:"domains"`   // in the order of their names
	Files       []FileStatus   `json:"files"`     // in the order of their paths
	Requests    uint64         `json:"requests"`  // all that were asked
	OverLimit   uint64         `json:"overLimit"` // requests refused
	Invalid     uint64         `json:"invalid"`   // requests that could not be decided
	Counters    int            `json:"counters"`  // descriptors being counted
	MaxCounters int            `json:"maxCounters"`
	Forgotten   uint64         `json:"forgotten"` // counters dropped for others while their window went on
	Overflow    uint64         `json:"overflow"`  // decisions by a shared counter, because all counters were used up
}

// A DomainStatus tells about one domain.
type DomainStatus struct {
	Domain    string       `json:"domain"`
	Format    string       `json:"format"` // "sentinel" or "envoyproxy/ratelimit"
	Rules     []RuleStatus `json:"rules"`  // in the order of the file
	Overrides HitCounts    `json:"overrides"`
}

// A RuleStatus tells about one rule: what it says, and the hits it decided since it came into force first. Several
// descriptors can be counted by one rule, each by itself.
type RuleStatus struct {
	Rule            string  `json:"rule"` // domain and entries, such as "domain.key_value.key"
	Name            string  `json:"name,omitempty"`
	Entries         []Entry `json:"entries"`
	RequestsPerUnit uint32  `json:"requestsPerUnit"`
	Unit            string  `json:"unit,omitempty"` // "second" to "year"; "" for an unlimited rule
	UnitMultiplier  uint32  `json:"unitMultiplier,omitempty"`
	Unlimited       bool    `json:"unlimited,omitempty"`
	ShadowMode      bool    `json:"shadowMode,omitempty"`
	QuotaMode       bool    `json:"quotaMode,omitempty"`
	Line            int     `json:"line"`                 // in the file
	Identifier      string  `json:"identifier,omitempty"` // of a rule without wildcards, see Identifier
	FlowID          *int64  `json:"flowId,omitempty"`     // of a rule without wildcards, see FlowID
	HitCounts
}

// HitCounts are the hits that one rule decided.
type HitCounts struct {
	TotalHits   uint64 `json:"totalHits"`
	WithinLimit uint64 `json:"withinLimit"` // counted
	NearLimit   uint64 `json:"nearLimit"`   // of those within, the ones above four fifths of the limit
	OverLimit   uint64 `json:"overLimit"`
	ShadowMode  uint64 `json:"shadowModeHits"` // of those over, the ones that were let pass
}

// A FileStatus tells about one rule file.
type FileStatus struct {
	Path        string    `json:"path"`
	Domain      string    `json:"domain,omitempty"`   // that it gave
	Error       string    `json:"error,omitempty"`    // what is wrong with it now
	Warnings    []string  `json:"warnings,omitempty"` // about what is in force
	Stale       bool      `json:"stale,omitempty"`    // what is in force is not what the file says now
	Deleted     bool      `json:"deleted,omitempty"`
	Revision    string    `json:"revision,omitempty"` // SHA-256 of the content in force, in hex
	LastUpdate  time.Time `json:"lastUpdate,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
}

// Status returns how the service is doing.
func (s *Service) Status() Status {
	status := Status{Domains: []DomainStatus{}, Files: []FileStatus{}}
	if s == nil || s.table == nil {
		return status
	}
	status.Requests, status.OverLimit, status.Invalid = s.requests.Load(), s.refused.Load(), s.invalid.Load()
	status.Counters, status.MaxCounters = s.table.size(), s.maxCounters
	status.Forgotten, status.Overflow = s.table.forgotten.Load(), s.table.overflow.Load()
	if rules := s.rules.Load(); rules != nil {
		for _, d := range *rules {
			status.Domains = append(status.Domains, d.status())
		}
	}
	slices.SortFunc(status.Domains, func(a, b DomainStatus) int { return cmp.Compare(a.Domain, b.Domain) })
	s.mu.Lock()
	in := s.library
	s.mu.Unlock()
	if in != nil {
		status.Files = in.status()
	}
	return status
}

func (d *domain) status() DomainStatus {
	status := DomainStatus{
		Domain: d.name, Format: d.format, Rules: make([]RuleStatus, 0, len(d.rules)), Overrides: d.overrides.tally.counts(),
	}
	for _, r := range d.rules {
		one := RuleStatus{
			Rule: r.path, Name: r.current.GetName(), Entries: slices.Clone(r.entries), Line: r.line,
			RequestsPerUnit: r.current.GetRequestsPerUnit(), UnitMultiplier: r.current.GetUnitMultiplier().GetValue(),
			Unlimited: r.unlimited, ShadowMode: r.shadow, QuotaMode: r.quota, HitCounts: r.tally.counts(),
		}
		if !r.unlimited {
			one.Unit = unitName(r.unit)
		}
		if r.exact {
			one.Identifier = Identifier(d.name, r.entries...)
			id := FlowID(one.Identifier)
			one.FlowID = &id
		}
		status.Rules = append(status.Rules, one)
	}
	return status
}

func (t *tally) counts() HitCounts {
	return HitCounts{
		TotalHits: t.total.Load(), WithinLimit: t.within.Load(), NearLimit: t.near.Load(), OverLimit: t.over.Load(),
		ShadowMode: t.shadow.Load(),
	}
}

func (l *library) status() []FileStatus {
	files := l.watched()
	all := make([]FileStatus, 0, len(files))
	for _, f := range files {
		state := f.State()
		l.mu.Lock()
		given := l.books[f.Name()]
		l.mu.Unlock()
		one := FileStatus{
			Path: f.Name(), Warnings: given.warnings, Stale: state.Stale, Deleted: state.Deleted,
			Revision: state.Revision, LastUpdate: state.LastUpdate, LastSuccess: state.LastSuccess,
		}
		if given.domain != nil {
			one.Domain = given.domain.name
		}
		if state.LastError != nil {
			one.Error = state.LastError.Error()
		}
		all = append(all, one)
	}
	return all
}
