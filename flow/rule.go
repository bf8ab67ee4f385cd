package flow

import (
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// ClusterConfig is a rule's cluster part.
type ClusterConfig = chain.ClusterConfig

// Rule limits the calls of a resource by rate or by concurrency. A field's zero value means Sentinel's default:
// Rule{Resource: "r", Count: 10} refuses what exceeds ten calls per second. Rules are values; nobody changes one that was loaded.
type Rule struct {
	ID          int64  // for people and logs
	Resource    string // name, or pattern if Regex; must not be blank
	LimitApp    string // origin the rule is for; "" or "default": all together; "other": those without a rule of their own
	Regex       bool   // Resource is a regular expression for the whole name; needs Reject and no cluster mode
	Disabled    bool   // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	Grade             Grade
	Count             float64 // threshold, per second or per StatIntervalInMs; 0 refuses all, infinity none
	Strategy          Strategy
	RefResource       string // for StrategyRelate the resource, for StrategyChain the entrance
	ControlBehavior   ControlBehavior
	WarmUpPeriodSec   int    // seconds; 0 means 10
	MaxQueueingTimeMs *int64 // milliseconds; nil means 500, 0 no queueing

	StatIntervalInMs int64 // a window of the rule's own, in milliseconds; 0: the resource's window, count per second
	StatBucketCount  int   // buckets of that window, must divide it; 0 means 2

	ClusterMode   bool           // the engine's token service decides; where none does, the fallback in ClusterConfig
	ClusterConfig *ClusterConfig // needed in cluster mode

	// With these four the threshold follows the memory in use, from LowMemUsageThreshold at MemLowWaterMarkBytes and
	// below to HighMemUsageThreshold at MemHighWaterMarkBytes and above; Count is not used. All or none are set.
	LowMemUsageThreshold  int64
	HighMemUsageThreshold int64
	MemLowWaterMarkBytes  int64
	MemHighWaterMarkBytes int64
}

// Head returns what the rule has in common with all kinds.
func (r Rule) Head() chain.Head {
	return chain.Head{ID: r.ID, Resource: r.Resource, Regex: r.Regex, Disabled: r.Disabled, Mode: r.Mode}
}

// Origin returns the effective LimitApp: "default" where it is blank.
func (r Rule) Origin() string { return rulejson.App(r.LimitApp) }

// WarmUpPeriod returns the effective warm-up period in seconds.
func (r Rule) WarmUpPeriod() int { return rulejson.Or(r.WarmUpPeriodSec, 10) }

// MaxQueueing returns the longest time that a call waits under a throttling rule.
func (r Rule) MaxQueueing() time.Duration {
	return time.Duration(rulejson.Deref(r.MaxQueueingTimeMs, 500)) * time.Millisecond
}

// Window returns the rule's own window and its number of buckets; 0 means that it uses the resource's.
func (r Rule) Window() (interval time.Duration, buckets int) {
	if r.StatIntervalInMs == 0 {
		return 0, 0
	}
	return time.Duration(r.StatIntervalInMs) * time.Millisecond, rulejson.Or(r.StatBucketCount, 2)
}

// MemoryAdaptive says whether the threshold follows the memory in use.
func (r Rule) MemoryAdaptive() bool {
	return r.LowMemUsageThreshold != 0 || r.HighMemUsageThreshold != 0 || r.MemLowWaterMarkBytes != 0 || r.MemHighWaterMarkBytes != 0
}

// Equal says whether the rules behave alike: all but id, mode, enabled, description and tags is the same.
func (r Rule) Equal(o Rule) bool {
	interval, buckets := r.Window()
	otherInterval, otherBuckets := o.Window()
	return r.Resource == o.Resource && r.Regex == o.Regex && r.Origin() == o.Origin() &&
		r.Grade == o.Grade && r.Count == o.Count && r.Strategy == o.Strategy && r.RefResource == o.RefResource &&
		r.ControlBehavior == o.ControlBehavior && r.WarmUpPeriod() == o.WarmUpPeriod() && r.MaxQueueing() == o.MaxQueueing() &&
		interval == otherInterval && buckets == otherBuckets &&
		r.ClusterMode == o.ClusterMode && rulejson.SameCluster(r.ClusterConfig, o.ClusterConfig) &&
		r.LowMemUsageThreshold == o.LowMemUsageThreshold && r.HighMemUsageThreshold == o.HighMemUsageThreshold &&
		r.MemLowWaterMarkBytes == o.MemLowWaterMarkBytes && r.MemHighWaterMarkBytes == o.MemHighWaterMarkBytes
}

// Clone returns a copy that shares nothing with the rule.
func (r Rule) Clone() Rule {
	r.Tags = slices.Clone(r.Tags)
	r.MaxQueueingTimeMs = rulejson.Copy(r.MaxQueueingTimeMs)
	r.ClusterConfig = rulejson.CopyCluster(r.ClusterConfig)
	return r
}

// Warnings returns remarks on a valid rule that probably does not do what was meant.
func (r Rule) Warnings() []string {
	var list []string
	if r.StatBucketCount != 0 && r.StatIntervalInMs == 0 {
		list = append(list, "statBucketCount has no effect without statIntervalInMs")
	}
	if r.RefResource != "" && r.Strategy == StrategyDirect {
		list = append(list, "refResource has no effect with strategy 0")
	}
	if r.Grade == GradeConcurrency && r.ControlBehavior != Reject {
		list = append(list, "controlBehavior has no effect with grade 0")
	}
	return list
}
