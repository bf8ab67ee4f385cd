package gateway

import (
	"encoding/json"

	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// Parse reads a rule from Sentinel's JSON. Absent members and null mean the default. Unknown members are
// ignored and named in the warnings. Where a member cannot be read, err is a *chain.MemberError
// that names it and the rule holds what could be read. Parse does not validate beyond that.
func Parse(text []byte) (rule Rule, warnings []string, err error) {
	o := rulejson.Parse(text)
	c := o.Remarks()
	r := Rule{ID: c.ID, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags}
	o.String("resource", &r.Resource)
	rulejson.Enum(o, "resourceMode", &r.ResourceMode, Route, APIGroup)
	rulejson.Enum(o, "grade", &r.Grade, GradeConcurrency, GradeQPS)
	o.Float("count", &r.Count)
	o.Int64("intervalSec", &r.IntervalSec)
	o.Set("intervalSec", r.IntervalSec, 1)
	rulejson.Enum(o, "controlBehavior", &r.ControlBehavior, Reject, Throttling)
	o.Int64("burst", &r.Burst)
	o.OptionalInt64("maxQueueingTimeoutMs", &r.MaxQueueingTimeoutMs)
	r.ParamItem = parseParam(o)
	r.ClusterConfig = o.Cluster(&r.ClusterMode)
	return r, o.Warnings(), o.Err()
}

func parseParam(o *rulejson.Object) *ParamItem {
	in, done, ok := o.Object("paramItem")
	if !ok {
		return nil
	}
	defer done()
	p := &ParamItem{}
	in.Ignore("index") // written by the reference for itself
	rulejson.Enum(in, "parseStrategy", &p.ParseStrategy, ClientIP, Host, HeaderField, URLParam, CookieField)
	in.String("fieldName", &p.FieldName)
	in.String("pattern", &p.Pattern)
	rulejson.Enum(in, "matchStrategy", &p.MatchStrategy, Exact, Prefix, Regex, Contains)
	return p
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
	ResourceMode         int             `json:"resourceMode"`
	Grade                int             `json:"grade"`
	Count                rulejson.Number `json:"count"`
	IntervalSec          int64           `json:"intervalSec"`
	ControlBehavior      int             `json:"controlBehavior"`
	Burst                int64           `json:"burst"`
	MaxQueueingTimeoutMs int64           `json:"maxQueueingTimeoutMs"`
	ParamItem            *wireParam      `json:"paramItem,omitempty"`

	ClusterMode   bool              `json:"clusterMode,omitempty"`
	ClusterConfig *rulejson.Cluster `json:"clusterConfig,omitempty"`
}

type wireParam struct {
	ParseStrategy int    `json:"parseStrategy"`
	FieldName     string `json:"fieldName,omitempty"`
	Pattern       string `json:"pattern,omitempty"`
	MatchStrategy int    `json:"matchStrategy"`
}

// MarshalJSON writes Sentinel's members with their effective values, and this project's own where they are set.
func (r Rule) MarshalJSON() ([]byte, error) {
	w := wire{
		Common: rulejson.Common{
			ID: r.ID, Resource: r.Resource, Enabled: rulejson.Off(r.Disabled),
			Mode: r.Mode, Description: r.Description, Tags: r.Tags,
		},
		ResourceMode: r.ResourceMode.Number(), Grade: r.Grade.Number(), Count: rulejson.Number(r.Count),
		IntervalSec: rulejson.Or(r.IntervalSec, 1), ControlBehavior: r.ControlBehavior.Number(), Burst: r.Burst,
		MaxQueueingTimeoutMs: rulejson.Deref(r.MaxQueueingTimeoutMs, 500),
		ClusterMode:          r.ClusterMode, ClusterConfig: rulejson.ClusterJSON(r.ClusterConfig),
	}
	if p := r.ParamItem; p != nil {
		w.ParamItem = &wireParam{p.ParseStrategy.Number(), p.FieldName, p.Pattern, p.MatchStrategy.Number()}
	}
	return json.Marshal(w)
}
