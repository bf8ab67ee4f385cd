package gateway

import (
	"slices"
	"strings"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Rule limits the requests of a route or of an API group, all together or for each value of one part of the
// request. A field's zero value means Sentinel's default. Rules are values; nobody changes one that was loaded.
type Rule struct {
	ID          int64  // for people and logs
	Resource    string // id of the route or name of the API definition; must not be blank
	Disabled    bool   // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	ResourceMode         ResourceMode
	Grade                Grade
	Count                float64 // threshold per IntervalSec; 0 refuses all, infinity none
	IntervalSec          int64   // seconds; 0 means 1
	ControlBehavior      ControlBehavior
	Burst                int64      // Reject only: requests above the count that may come at once
	MaxQueueingTimeoutMs *int64     // Throttling only, in milliseconds; nil means 500, 0 no queueing
	ParamItem            *ParamItem // nil: all requests together

	// ClusterMode lets a token server decide, except under GradeConcurrency: there the fallback decides. The server's
	// window is the interval, whatever ClusterConfig says of it, and it knows no burst and no queueing.
	ClusterMode   bool
	ClusterConfig *ClusterConfig // needed in cluster mode
}

// ClusterConfig is a rule's cluster part.
type ClusterConfig = chain.ClusterConfig

// ParamItem says for which part of a request a rule counts separately.
type ParamItem struct {
	ParseStrategy ParseStrategy
	FieldName     string // of the header, URL parameter or cookie
	Pattern       string // requests with another value do not concern the rule; "": all values
	MatchStrategy Match  // how Pattern is compared
}

// Head returns what the rule has in common with all kinds.
func (r Rule) Head() chain.Head {
	return chain.Head{ID: r.ID, Resource: r.Resource, Disabled: r.Disabled, Mode: r.Mode}
}

// Interval returns the effective time that the count is for.
func (r Rule) Interval() time.Duration {
	return time.Duration(rulejson.Or(r.IntervalSec, 1)) * time.Second
}

// MaxQueueing returns the limit of the time that a request waits under a throttling rule.
func (r Rule) MaxQueueing() time.Duration {
	return time.Duration(rulejson.Deref(r.MaxQueueingTimeoutMs, 500)) * time.Millisecond
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (r Rule) Validate() error {
	return rulejson.First(
		ruleset.CheckHead(r.Head()),
		rulejson.CheckEnum("resourceMode", r.ResourceMode, Route, APIGroup),
		rulejson.CheckEnum("grade", r.Grade, GradeQPS, GradeConcurrency),
		rulejson.CheckCount("count", r.Count),
		rulejson.CheckRange("intervalSec", r.IntervalSec),
		rulejson.CheckEnum("controlBehavior", r.ControlBehavior, Reject, Throttling),
		rulejson.CheckRange("burst", r.Burst),
		rulejson.CheckRange("maxQueueingTimeoutMs", rulejson.Deref(r.MaxQueueingTimeoutMs, 500)),
		r.ParamItem.validate(),
		r.checkCluster(),
	)
}

func (p *ParamItem) validate() error {
	if p == nil {
		return nil
	}
	err := rulejson.First(
		rulejson.CheckEnum("paramItem.parseStrategy", p.ParseStrategy, ClientIP, Host, HeaderField, URLParam, CookieField),
		rulejson.CheckEnum("paramItem.matchStrategy", p.MatchStrategy, Exact, Prefix, Regex, Contains),
	)
	if err != nil {
		return err
	}
	if p.ParseStrategy >= HeaderField && strings.TrimSpace(p.FieldName) == "" {
		return chain.Refuse("paramItem.fieldName", "is needed for parseStrategy %d (%v)", p.ParseStrategy.Number(), p.ParseStrategy)
	}
	if p.MatchStrategy == Regex && p.Pattern != "" {
		return checkPattern("paramItem.pattern", p.Pattern)
	}
	return nil
}

func checkPattern(member, pattern string) error {
	if _, err := ruleset.CompilePattern(pattern); err != nil {
		return chain.Refuse(member, "not a regular expression: %v", err)
	}
	return nil
}

// Equal says whether the rules behave alike: all but id, mode, enabled, description and tags is the same.
func (r Rule) Equal(o Rule) bool {
	return r.Resource == o.Resource && r.ResourceMode == o.ResourceMode && r.Grade == o.Grade && r.Count == o.Count &&
		r.Interval() == o.Interval() && r.ControlBehavior == o.ControlBehavior && r.Burst == o.Burst &&
		r.MaxQueueing() == o.MaxQueueing() && rulejson.SameValue(r.ParamItem, o.ParamItem) &&
		r.ClusterMode == o.ClusterMode && rulejson.SameCluster(r.ClusterConfig, o.ClusterConfig)
}

// Clone returns a copy that shares nothing with the rule.
func (r Rule) Clone() Rule {
	r.Tags = slices.Clone(r.Tags)
	r.MaxQueueingTimeoutMs = rulejson.Copy(r.MaxQueueingTimeoutMs)
	r.ParamItem = rulejson.Copy(r.ParamItem)
	r.ClusterConfig = rulejson.CopyCluster(r.ClusterConfig)
	return r
}

// Warnings returns remarks on a valid rule that probably does not do what was meant.
func (r Rule) Warnings() []string {
	var list []string
	if r.Burst != 0 && r.ControlBehavior == Throttling {
		list = append(list, "burst has no effect with controlBehavior 2")
	}
	if p := r.ParamItem; p != nil && p.Pattern == "" && p.MatchStrategy != Exact {
		list = append(list, "paramItem.matchStrategy has no effect without a pattern")
	}
	return append(list, r.clusterWarnings()...)
}
