package flow

import (
	"encoding/json"

	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// Parse reads a rule from Sentinel's JSON. Absent members and null mean the default. Unknown members are
// ignored and named in the warnings. Where a member cannot be read, err is a *chain.MemberError
// that names it and the rule holds what could be read. Parse does not validate beyond that.
func Parse(text []byte) (rule Rule, warnings []string, err error) {
	o := rulejson.Parse(text)
	c := o.Named()
	r := Rule{
		ID: c.ID, Resource: c.Resource, LimitApp: c.LimitApp, Regex: c.Regex, Disabled: c.Disabled(),
		Mode: c.Mode, Description: c.Description, Tags: c.Tags,
	}
	rulejson.Enum(o, "grade", &r.Grade, GradeConcurrency, GradeQPS)
	o.Float("count", &r.Count)
	rulejson.Enum(o, "strategy", &r.Strategy, StrategyDirect, StrategyRelate, StrategyChain)
	o.String("refResource", &r.RefResource)
	rulejson.OpenEnum(o, "controlBehavior", &r.ControlBehavior, Reject, WarmUp, Throttling, WarmUpThrottling)
	o.Int("warmUpPeriodSec", &r.WarmUpPeriodSec)
	if r.Grade == GradeQPS && (r.ControlBehavior == WarmUp || r.ControlBehavior == WarmUpThrottling) {
		o.Set("warmUpPeriodSec", int64(r.WarmUpPeriodSec), 10)
	}
	o.OptionalInt64("maxQueueingTimeMs", &r.MaxQueueingTimeMs)
	o.Int64("statIntervalInMs", &r.StatIntervalInMs)
	o.Int("statBucketCount", &r.StatBucketCount)
	o.Set("statBucketCount", int64(r.StatBucketCount), 2)
	r.ClusterConfig = o.Cluster(&r.ClusterMode)
	o.Int64("lowMemUsageThreshold", &r.LowMemUsageThreshold)
	o.Int64("highMemUsageThreshold", &r.HighMemUsageThreshold)
	o.Int64("memLowWaterMarkBytes", &r.MemLowWaterMarkBytes)
	o.Int64("memHighWaterMarkBytes", &r.MemHighWaterMarkBytes)
	return r, o.Warnings(), o.Err()
}

// UnmarshalJSON is Parse without the warnings; on error the rule is unchanged.
func (r *Rule) UnmarshalJSON(text []byte) error {
	rule, _, err := Parse(text)
	if err == nil {
		*r = rule
	}
	return err
}

type wire struct {
	rulejson.Common
	Grade             int               `json:"grade"`
	Count             rulejson.Number   `json:"count"`
	Strategy          int               `json:"strategy"`
	RefResource       string            `json:"refResource,omitempty"`
	ControlBehavior   int               `json:"controlBehavior"`
	WarmUpPeriodSec   int               `json:"warmUpPeriodSec"`
	MaxQueueingTimeMs int64             `json:"maxQueueingTimeMs"`
	StatIntervalInMs  int64             `json:"statIntervalInMs,omitempty"`
	StatBucketCount   int               `json:"statBucketCount,omitempty"`
	ClusterMode       bool              `json:"clusterMode"`
	ClusterConfig     *rulejson.Cluster `json:"clusterConfig,omitempty"`
	LowMem            int64             `json:"lowMemUsageThreshold,omitempty"`
	HighMem           int64             `json:"highMemUsageThreshold,omitempty"`
	LowMark           int64             `json:"memLowWaterMarkBytes,omitempty"`
	HighMark          int64             `json:"memHighWaterMarkBytes,omitempty"`
}

// MarshalJSON writes Sentinel's members with their effective values, and this project's own where they are set.
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{
		Common: rulejson.Common{
			ID: r.ID, Resource: r.Resource, LimitApp: r.Origin(), Regex: r.Regex, Enabled: rulejson.Off(r.Disabled),
			Mode: r.Mode, Description: r.Description, Tags: r.Tags,
		},
		Grade: r.Grade.Number(), Count: rulejson.Number(r.Count), Strategy: r.Strategy.Number(), RefResource: r.RefResource,
		ControlBehavior: r.ControlBehavior.Number(), WarmUpPeriodSec: rulejson.Or(r.WarmUpPeriodSec, 10),
		MaxQueueingTimeMs: rulejson.Deref(r.MaxQueueingTimeMs, 500),
		StatIntervalInMs:  r.StatIntervalInMs, StatBucketCount: r.StatBucketCount,
		ClusterMode: r.ClusterMode, ClusterConfig: rulejson.ClusterJSON(r.ClusterConfig),
		LowMem: r.LowMemUsageThreshold, HighMem: r.HighMemUsageThreshold, LowMark: r.MemLowWaterMarkBytes, HighMark: r.MemHighWaterMarkBytes,
	})
}
