package hotspot

import (
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// ClusterConfig is a rule's cluster part.
type ClusterConfig = chain.ClusterConfig

// Rule limits the calls of a resource separately for each value of one of their arguments. A field's zero value
// means Sentinel's default. Rules are values; nobody changes one that was loaded.
type Rule struct {
	ID          int64  // for people and logs
	Resource    string // name, or pattern if Regex; must not be blank
	LimitApp    string // kept, without effect
	Regex       bool   // Resource is a regular expression for the whole name; needs Reject and no cluster mode
	Disabled    bool   // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	ParamIdx          *int   // position of the argument from 0, negative from the end; nil if ParamKey names it
	ParamKey          string // name of the argument
	Grade             Grade
	Count             float64 // threshold per value and DurationInSec; 0 refuses all, infinity none
	ControlBehavior   ControlBehavior
	MaxQueueingTimeMs int64 // Throttling only, in milliseconds
	BurstCount        int64 // Reject only: calls above the count that may come at once
	DurationInSec     int64 // seconds; 0 means 1
	ParamsMaxCapacity int64 // values to keep; 0 means 20,000 per second of DurationInSec, at most 200,000
	Items             []Item

	ClusterMode   bool           // as of a flow rule, but for GradeConcurrency: there the fallback decides
	ClusterConfig *ClusterConfig // needed in cluster mode
}

// Head returns what the rule has in common with all kinds.
func (r Rule) Head() chain.Head {
	return chain.Head{ID: r.ID, Resource: r.Resource, Regex: r.Regex, Disabled: r.Disabled, Mode: r.Mode}
}

// Duration returns the effective time that the count is for.
func (r Rule) Duration() time.Duration {
	return time.Duration(rulejson.Or(r.DurationInSec, 1)) * time.Second
}

// MaxQueueing returns the limit of the time that a call waits under a throttling rule.
func (r Rule) MaxQueueing() time.Duration {
	return time.Duration(r.MaxQueueingTimeMs) * time.Millisecond
}

// Capacity returns the effective number of values to keep.
func (r Rule) Capacity() int64 {
	const perSecond, most = 20_000, 200_000
	if r.ParamsMaxCapacity > 0 {
		return r.ParamsMaxCapacity
	}
	return min(perSecond*min(rulejson.Or(r.DurationInSec, 1), most), most)
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
// Broken items do not make a rule invalid: they have no effect, and Warnings names them.
func (r Rule) Validate() error {
	return rulejson.First(
		ruleset.CheckHead(r.Head()),
		r.checkParam(),
		rulejson.CheckEnum("grade", r.Grade, GradeQPS, GradeConcurrency),
		rulejson.CheckCount("count", r.Count),
		rulejson.CheckEnum("controlBehavior", r.ControlBehavior, Reject, Throttling),
		rulejson.CheckRange("maxQueueingTimeMs", r.MaxQueueingTimeMs),
		rulejson.CheckRange("burstCount", r.BurstCount),
		rulejson.CheckRange("durationInSec", r.DurationInSec),
		rulejson.CheckRange("paramsMaxCapacity", r.ParamsMaxCapacity),
		r.checkRegex(),
		r.checkCluster(),
	)
}

func (r Rule) checkParam() error {
	switch {
	case r.ParamIdx == nil && r.ParamKey == "":
		return chain.Refuse("paramIdx", "is needed, or paramKey: which argument the rule is about")
	case r.ParamIdx != nil && r.ParamKey != "":
		return chain.Refuse("paramKey", "names the argument that paramIdx numbers; give one of the two")
	}
	return nil
}

func (r Rule) checkRegex() error {
	if !r.Regex {
		return nil
	}
	if r.ControlBehavior != Reject {
		return chain.Refuse("controlBehavior", "must be 0 with a regex resource, not %d", r.ControlBehavior.Number())
	}
	if r.ClusterMode {
		return chain.Refuse("clusterMode", "is not possible with a regex resource")
	}
	return nil
}

func (r Rule) checkCluster() error {
	if !r.ClusterMode {
		return nil
	}
	return rulejson.CheckCluster(r.ClusterConfig)
}

// Equal says whether the rules behave alike: all but id, mode, enabled, description and tags is the same.
func (r Rule) Equal(o Rule) bool {
	return r.Resource == o.Resource && r.Regex == o.Regex && rulejson.SameApp(r.LimitApp, o.LimitApp) &&
		rulejson.SameValue(r.ParamIdx, o.ParamIdx) && r.ParamKey == o.ParamKey && r.Grade == o.Grade && r.Count == o.Count &&
		r.ControlBehavior == o.ControlBehavior && r.MaxQueueingTimeMs == o.MaxQueueingTimeMs && r.BurstCount == o.BurstCount &&
		r.Duration() == o.Duration() && r.Capacity() == o.Capacity() && slices.Equal(r.Items, o.Items) &&
		r.ClusterMode == o.ClusterMode && rulejson.SameCluster(r.ClusterConfig, o.ClusterConfig)
}

// Clone returns a copy that shares nothing with the rule.
func (r Rule) Clone() Rule {
	r.Tags = slices.Clone(r.Tags)
	r.ParamIdx = rulejson.Copy(r.ParamIdx)
	r.Items = slices.Clone(r.Items)
	r.ClusterConfig = rulejson.CopyCluster(r.ClusterConfig)
	return r
}
