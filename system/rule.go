package system

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// Rule limits all inbound calls of the process together. A member that is nil or negative is not set.
// Of several rules the smallest value of each member counts. Rules are values; nobody changes one that was loaded.
type Rule struct {
	ID          int64 // for people and logs
	Disabled    bool  // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	HighestSystemLoad *float64 // one-minute load average
	HighestCpuUsage   *float64 //nolint:revive // named like its JSON member; 0 to 1, above 1 it is ignored
	QPS               *float64 // inbound calls per second, 0 refuses all
	AvgRT             *int64   // average response time of inbound calls, in milliseconds
	MaxThread         *int64   // inbound calls in flight
}

// Head returns what the rule has in common with all kinds. It has no resource.
func (r Rule) Head() chain.Head { return chain.Head{ID: r.ID, Disabled: r.Disabled, Mode: r.Mode} }

// Load returns the highest load average, if it is set.
func (r Rule) Load() (limit float64, set bool) { return float(r.HighestSystemLoad) }

// CPU returns the highest CPU usage, if it is set and at most 1.
func (r Rule) CPU() (limit float64, set bool) {
	if limit, set = float(r.HighestCpuUsage); limit > 1 {
		return -1, false
	}
	return limit, set
}

// Rate returns the highest number of inbound calls per second, if it is set.
func (r Rule) Rate() (limit float64, set bool) { return float(r.QPS) }

// ResponseTime returns the highest average response time in milliseconds, if it is set.
func (r Rule) ResponseTime() (limit int64, set bool) { return whole(r.AvgRT) }

// Concurrency returns the highest number of inbound calls in flight, if it is set.
func (r Rule) Concurrency() (limit int64, set bool) { return whole(r.MaxThread) }

func float(value *float64) (float64, bool) {
	if value == nil || *value < 0 {
		return -1, false
	}
	return *value, true
}

func whole(value *int64) (int64, bool) {
	if value == nil || *value < 0 {
		return -1, false
	}
	return *value, true
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (r Rule) Validate() error {
	if r.Mode > chain.ModeOff {
		return chain.Refuse("mode", "%v is not one of enforce, observe, off", r.Mode)
	}
	for _, part := range []struct {
		name  string
		value *float64
	}{{"highestSystemLoad", r.HighestSystemLoad}, {"highestCpuUsage", r.HighestCpuUsage}, {"qps", r.QPS}} {
		if part.value != nil && math.IsNaN(*part.value) {
			return chain.Refuse(part.name, "is not a number")
		}
	}
	return nil
}

// Equal says whether the rules behave alike: all but id, mode, enabled, description and tags is the same.
func (r Rule) Equal(o Rule) bool {
	return sameFloat(r.HighestSystemLoad, o.HighestSystemLoad) && sameFloat(r.HighestCpuUsage, o.HighestCpuUsage) &&
		sameFloat(r.QPS, o.QPS) && sameWhole(r.AvgRT, o.AvgRT) && sameWhole(r.MaxThread, o.MaxThread)
}

func sameFloat(a, b *float64) bool {
	x, set := float(a)
	y, otherSet := float(b)
	return x == y && set == otherSet
}

func sameWhole(a, b *int64) bool {
	x, set := whole(a)
	y, otherSet := whole(b)
	return x == y && set == otherSet
}

// Clone returns a copy that shares nothing with the rule.
func (r Rule) Clone() Rule {
	r.Tags = slices.Clone(r.Tags)
	r.HighestSystemLoad = rulejson.Copy(r.HighestSystemLoad)
	r.HighestCpuUsage = rulejson.Copy(r.HighestCpuUsage)
	r.QPS = rulejson.Copy(r.QPS)
	r.AvgRT = rulejson.Copy(r.AvgRT)
	r.MaxThread = rulejson.Copy(r.MaxThread)
	return r
}

// Warnings returns remarks on a valid rule that probably does not do what was meant.
func (r Rule) Warnings() []string {
	if value, set := float(r.HighestCpuUsage); set && value > 1 {
		return []string{"highestCpuUsage is above 1 and is ignored; 0.8 is 80 percent"}
	}
	_, load := r.Load()
	_, cpu := r.CPU()
	_, rate := r.Rate()
	_, rt := r.ResponseTime()
	_, concurrency := r.Concurrency()
	if !load && !cpu && !rate && !rt && !concurrency {
		return []string{"no member is set, so the rule does nothing"}
	}
	return nil
}

// Parse reads a rule from Sentinel's JSON. Absent members and null mean the default. Unknown members are
// ignored and named in the warnings. Where a member cannot be read, err is a *chain.MemberError
// that names it and the rule holds what could be read. Parse does not validate beyond that.
func Parse(text []byte) (rule Rule, warnings []string, err error) {
	o := rulejson.Parse(text)
	c := o.Remarks()
	r := Rule{ID: c.ID, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags}
	o.Ignore("resource", "limitApp", "regex") // written by the reference, without meaning here
	o.OptionalFloat("highestSystemLoad", &r.HighestSystemLoad)
	o.OptionalFloat("highestCpuUsage", &r.HighestCpuUsage)
	o.OptionalFloat("qps", &r.QPS)
	o.OptionalInt64("avgRt", &r.AvgRT)
	o.OptionalInt64("maxThread", &r.MaxThread)
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

// MarshalJSON writes Sentinel's members, -1 for those that are not set, and this project's own where they are set.
func (r Rule) MarshalJSON() ([]byte, error) {
	load, _ := r.Load()
	cpu, _ := float(r.HighestCpuUsage)
	rate, _ := r.Rate()
	rt, _ := r.ResponseTime()
	concurrency, _ := r.Concurrency()
	return json.Marshal(struct {
		rulejson.Common
		HighestSystemLoad rulejson.Number `json:"highestSystemLoad"`
		HighestCPUUsage   rulejson.Number `json:"highestCpuUsage"`
		QPS               rulejson.Number `json:"qps"`
		AvgRT             int64           `json:"avgRt"`
		MaxThread         int64           `json:"maxThread"`
	}{
		rulejson.Common{ID: r.ID, Enabled: rulejson.Off(r.Disabled), Mode: r.Mode, Description: r.Description, Tags: r.Tags},
		rulejson.Number(load), rulejson.Number(cpu), rulejson.Number(rate), rt, concurrency,
	})
}
