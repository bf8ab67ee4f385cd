package circuitbreaker

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
	rulejson.Enum(o, "grade", &r.Grade, SlowRatio, ErrorRatio, ErrorCount)
	o.Float("count", &r.Count)
	o.Int("timeWindow", &r.TimeWindow)
	o.Int("minRequestAmount", &r.MinRequestAmount)
	o.Set("minRequestAmount", int64(r.MinRequestAmount), 5)
	o.OptionalFloat("slowRatioThreshold", &r.SlowRatioThreshold)
	o.Int64("statIntervalMs", &r.StatIntervalMs)
	o.Set("statIntervalMs", r.StatIntervalMs, 1000)
	o.Int("statBucketCount", &r.StatBucketCount)
	o.Set("statBucketCount", int64(r.StatBucketCount), 1)
	o.Int("probeNum", &r.ProbeNum)
	o.Set("probeNum", int64(r.ProbeNum), 1)
	o.Int64("probeTimeoutMs", &r.ProbeTimeoutMs)
	o.Set("probeTimeoutMs", r.ProbeTimeoutMs, r.RecoveryTime().Milliseconds())
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
	Grade              int             `json:"grade"`
	Count              rulejson.Number `json:"count"`
	TimeWindow         int             `json:"timeWindow"`
	MinRequestAmount   int             `json:"minRequestAmount"`
	SlowRatioThreshold rulejson.Number `json:"slowRatioThreshold"`
	StatIntervalMs     int64           `json:"statIntervalMs"`
	StatBucketCount    int             `json:"statBucketCount,omitempty"`
	ProbeNum           int             `json:"probeNum,omitempty"`
	ProbeTimeoutMs     int64           `json:"probeTimeoutMs,omitempty"`
}

// MarshalJSON writes Sentinel's members with their effective values, and this project's own where they are set.
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(wire{
		Common: rulejson.Common{
			ID: r.ID, Resource: r.Resource, LimitApp: rulejson.App(r.LimitApp), Regex: r.Regex, Enabled: rulejson.Off(r.Disabled),
			Mode: r.Mode, Description: r.Description, Tags: r.Tags,
		},
		Grade: r.Grade.Number(), Count: rulejson.Number(r.Count), TimeWindow: r.TimeWindow, MinRequestAmount: r.MinRequests(),
		SlowRatioThreshold: rulejson.Number(r.SlowRatio()), StatIntervalMs: rulejson.Or(r.StatIntervalMs, 1000),
		StatBucketCount: r.StatBucketCount, ProbeNum: r.ProbeNum, ProbeTimeoutMs: r.ProbeTimeoutMs,
	})
}
