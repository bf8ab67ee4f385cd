package hotspot

import (
	"encoding/json"

	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// Parse reads a rule from Sentinel's JSON. Absent members and null mean the default. Unknown members are
// ignored, items that cannot be read are left out, and the warnings name both. Where a member cannot be read, err is
// a *chain.MemberError that names it and the rule holds what could be read. Parse does not validate beyond that.
func Parse(text []byte) (rule Rule, warnings []string, err error) {
	o := rulejson.Parse(text)
	c := o.Named()
	r := Rule{
		ID: c.ID, Resource: c.Resource, LimitApp: c.LimitApp, Regex: c.Regex, Disabled: c.Disabled(),
		Mode: c.Mode, Description: c.Description, Tags: c.Tags,
	}
	o.OptionalInt("paramIdx", &r.ParamIdx)
	o.String("paramKey", &r.ParamKey)
	rulejson.Enum(o, "grade", &r.Grade, GradeConcurrency, GradeQPS)
	o.Float("count", &r.Count)
	rulejson.Enum(o, "controlBehavior", &r.ControlBehavior, Reject, Throttling)
	o.Int64("maxQueueingTimeMs", &r.MaxQueueingTimeMs)
	o.Int64("burstCount", &r.BurstCount)
	o.Int64("durationInSec", &r.DurationInSec)
	o.Set("durationInSec", r.DurationInSec, 1)
	o.Int64("paramsMaxCapacity", &r.ParamsMaxCapacity)
	for at, element := range o.Array("paramFlowItemList") {
		parseItem(o, at, element, &r.Items)
	}
	r.ClusterConfig = o.Cluster(&r.ClusterMode)
	return r, o.Warnings(), o.Err()
}

func parseItem(o *rulejson.Object, at int, text []byte, to *[]Item) {
	in := o.Apart("paramFlowItemList", at, text)
	var item Item
	var object bool
	var count *int64
	item.Object, object = in.Text("object")
	in.OptionalInt64("count", &count)
	in.String("classType", &item.ClassType)
	for _, warning := range in.Warnings() {
		o.Warn("%s", warning)
	}
	switch {
	case in.Err() != nil:
		o.Warn("paramFlowItemList[%d] is left out: %v", at, in.Err())
	case !object:
		o.Warn("paramFlowItemList[%d] is left out: it has no object", at)
	case count == nil:
		o.Warn("paramFlowItemList[%d] is left out: it has no count", at)
	default:
		item.Count = *count
		*to = append(*to, item)
	}
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
	ParamIdx          *int              `json:"paramIdx,omitempty"`
	ParamKey          string            `json:"paramKey,omitempty"`
	Grade             int               `json:"grade"`
	Count             rulejson.Number   `json:"count"`
	ControlBehavior   int               `json:"controlBehavior"`
	MaxQueueingTimeMs int64             `json:"maxQueueingTimeMs"`
	BurstCount        int64             `json:"burstCount"`
	DurationInSec     int64             `json:"durationInSec"`
	ParamsMaxCapacity int64             `json:"paramsMaxCapacity,omitempty"`
	Items             []wireItem        `json:"paramFlowItemList"`
	ClusterMode       bool              `json:"clusterMode"`
	ClusterConfig     *rulejson.Cluster `json:"clusterConfig,omitempty"`
}

type wireItem struct {
	Object    string `json:"object"`
	Count     int64  `json:"count"`
	ClassType string `json:"classType,omitempty"`
}

// MarshalJSON writes Sentinel's members with their effective values, and this project's own where they are set.
func (r Rule) MarshalJSON() ([]byte, error) {
	items := make([]wireItem, len(r.Items))
	for i, item := range r.Items {
		items[i] = wireItem(item)
	}
	return json.Marshal(wire{
		Common: rulejson.Common{
			ID: r.ID, Resource: r.Resource, LimitApp: rulejson.App(r.LimitApp), Regex: r.Regex, Enabled: rulejson.Off(r.Disabled),
			Mode: r.Mode, Description: r.Description, Tags: r.Tags,
		},
		ParamIdx: r.ParamIdx, ParamKey: r.ParamKey, Grade: r.Grade.Number(), Count: rulejson.Number(r.Count),
		ControlBehavior: r.ControlBehavior.Number(), MaxQueueingTimeMs: r.MaxQueueingTimeMs, BurstCount: r.BurstCount,
		DurationInSec: rulejson.Or(r.DurationInSec, 1), ParamsMaxCapacity: r.ParamsMaxCapacity, Items: items,
		ClusterMode: r.ClusterMode, ClusterConfig: rulejson.ClusterJSON(r.ClusterConfig),
	})
}
