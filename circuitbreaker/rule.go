package circuitbreaker

import (
	"math"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// DefaultResource is the resource of default rules, for resources without a degrade rule of their own.
const DefaultResource = "*"

// Rule opens a circuit when calls are too slow or fail too often. A field's zero value means Sentinel's default.
// Rules are values; nobody changes one that was loaded.
type Rule struct {
	ID          int64  // for people and logs
	Resource    string // name, or pattern if Regex; must not be blank; "*": a default rule
	LimitApp    string // kept, without effect
	Regex       bool   // Resource is a regular expression for the whole name; each resource has breakers of its own
	Disabled    bool   // enabled:false in JSON
	Mode        chain.Mode
	Description string
	Tags        []string

	Grade              Grade
	Count              float64  // SlowRatio: longest good response time in ms; ErrorRatio: ratio up to 1; ErrorCount: number
	TimeWindow         int      // seconds the circuit stays open; must be above 0
	MinRequestAmount   int      // completed calls in the window below which nothing trips; 0 means 5
	SlowRatioThreshold *float64 // SlowRatio only, 0 to 1; nil means 1
	StatIntervalMs     int64    // the window in milliseconds; 0 means 1000
	StatBucketCount    int      // buckets of the window, must divide it; 0 means 1
	ProbeNum           int      // probes in flight at most while half-open, and successes that close; 0 means 1
	ProbeTimeoutMs     int64    // after it a probe that never ended gives its permit back; 0 means TimeWindow
}

// Head returns what the rule has in common with all kinds.
func (r Rule) Head() chain.Head {
	return chain.Head{ID: r.ID, Resource: r.Resource, Regex: r.Regex, Disabled: r.Disabled, Mode: r.Mode}
}

// IsDefault says whether the rule is one for resources without a degrade rule of their own.
func (r Rule) IsDefault() bool { return r.Resource == DefaultResource && !r.Regex }

// RecoveryTime returns how long the circuit stays open.
func (r Rule) RecoveryTime() time.Duration { return time.Duration(r.TimeWindow) * time.Second }

// MinRequests returns the number of completed calls below which nothing trips.
func (r Rule) MinRequests() int { return rulejson.Or(r.MinRequestAmount, 5) }

// SlowRatio returns the effective ratio of slow calls.
func (r Rule) SlowRatio() float64 { return rulejson.Deref(r.SlowRatioThreshold, 1) }

// Window returns the length of the window and its number of buckets.
func (r Rule) Window() (interval time.Duration, buckets int) {
	return time.Duration(rulejson.Or(r.StatIntervalMs, 1000)) * time.Millisecond, rulejson.Or(r.StatBucketCount, 1)
}

// Probes returns the number of probes.
func (r Rule) Probes() int { return rulejson.Or(r.ProbeNum, 1) }

// ProbeTimeout returns after what time a probe that never ended gives its permit back.
func (r Rule) ProbeTimeout() time.Duration {
	if r.ProbeTimeoutMs == 0 {
		return r.RecoveryTime()
	}
	return time.Duration(r.ProbeTimeoutMs) * time.Millisecond
}

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (r Rule) Validate() error {
	return rulejson.First(
		r.checkHead(),
		rulejson.CheckEnum("grade", r.Grade, SlowRatio, ErrorRatio, ErrorCount),
		rulejson.CheckCount("count", r.Count),
		r.checkRatio(),
		rulejson.CheckRange("timeWindow", int64(r.TimeWindow)),
		r.checkOpen(),
		rulejson.CheckRange("minRequestAmount", int64(r.MinRequestAmount)),
		rulejson.CheckRange("statIntervalMs", r.StatIntervalMs),
		rulejson.CheckRange("statBucketCount", int64(r.StatBucketCount)),
		r.checkBuckets(),
		rulejson.CheckRange("probeNum", int64(r.ProbeNum)),
		rulejson.CheckRange("probeTimeoutMs", r.ProbeTimeoutMs),
	)
}

func (r Rule) checkHead() error {
	err := ruleset.CheckHead(r.Head())
	if err != nil && r.Regex && r.Resource == DefaultResource {
		return chain.Refuse("resource", `"*" is not a regular expression; without regex it makes a default rule, ".*" matches every name`)
	}
	return err
}

func (r Rule) checkRatio() error {
	if r.Grade == ErrorRatio && r.Count > 1 {
		return chain.Refuse("count", "is a ratio with grade 1 and must be at most 1, not %v", r.Count)
	}
	if ratio := r.SlowRatio(); r.Grade == SlowRatio && (math.IsNaN(ratio) || ratio < 0 || ratio > 1) {
		return chain.Refuse("slowRatioThreshold", "must be from 0 to 1, not %v", ratio)
	}
	return nil
}

func (r Rule) checkOpen() error {
	if r.TimeWindow == 0 {
		return chain.Refuse("timeWindow", "must be above 0: the seconds the circuit stays open")
	}
	return nil
}

// mostBuckets bounds the memory of a breaker's window and the work of adding it up.
const mostBuckets = 1000

func (r Rule) checkBuckets() error {
	interval, buckets := rulejson.Or(r.StatIntervalMs, 1000), int64(rulejson.Or(r.StatBucketCount, 1))
	if buckets > mostBuckets {
		return chain.Refuse("statBucketCount", "must be at most %d, not %d", mostBuckets, buckets)
	}
	if interval%buckets != 0 {
		return chain.Refuse("statBucketCount", "%d does not divide statIntervalMs %d", buckets, interval)
	}
	return nil
}

// Equal says whether the rules behave alike: all but id, mode, enabled, description and tags is the same.
func (r Rule) Equal(o Rule) bool {
	interval, buckets := r.Window()
	otherInterval, otherBuckets := o.Window()
	return r.Resource == o.Resource && r.Regex == o.Regex && rulejson.SameApp(r.LimitApp, o.LimitApp) &&
		r.Grade == o.Grade && r.Count == o.Count && r.TimeWindow == o.TimeWindow && r.MinRequests() == o.MinRequests() &&
		r.SlowRatio() == o.SlowRatio() && interval == otherInterval && buckets == otherBuckets &&
		r.Probes() == o.Probes() && r.ProbeTimeout() == o.ProbeTimeout()
}

// Clone returns a copy that shares nothing with the rule.
func (r Rule) Clone() Rule {
	r.Tags = slices.Clone(r.Tags)
	r.SlowRatioThreshold = rulejson.Copy(r.SlowRatioThreshold)
	return r
}

// Warnings returns remarks on a valid rule that probably does not do what was meant.
func (r Rule) Warnings() []string {
	if r.Grade != SlowRatio && r.SlowRatioThreshold != nil && *r.SlowRatioThreshold != 1 {
		return []string{"slowRatioThreshold has no effect without grade 0"}
	}
	return nil
}
