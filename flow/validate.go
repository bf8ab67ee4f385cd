package flow

import (
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// mostBuckets bounds the memory of a window, which each resource under the rule has one of.
const mostBuckets = 1000

// Validate returns nil or a *chain.MemberError that names the first member at fault.
func (r Rule) Validate() error {
	return rulejson.First(
		ruleset.CheckHead(r.Head()),
		rulejson.CheckEnum("grade", r.Grade, GradeQPS, GradeConcurrency),
		rulejson.CheckEnum("strategy", r.Strategy, StrategyDirect, StrategyRelate, StrategyChain),
		rulejson.CheckEnum("controlBehavior", r.ControlBehavior, Reject, WarmUp, Throttling, WarmUpThrottling),
		rulejson.CheckCount("count", r.Count),
		r.checkStrategy(), r.checkBehavior(), r.checkRegex(), r.checkWindow(), r.checkCluster(), r.checkMemory(),
	)
}

func (r Rule) checkStrategy() error {
	if r.Strategy != StrategyDirect && strings.TrimSpace(r.RefResource) == "" {
		return chain.Refuse("refResource", "is needed for strategy %d (%v)", r.Strategy.Number(), r.Strategy)
	}
	return nil
}

func (r Rule) checkBehavior() error {
	warm := r.ControlBehavior == WarmUp || r.ControlBehavior == WarmUpThrottling
	if warm && r.Grade == GradeQPS {
		if err := rulejson.CheckRange("warmUpPeriodSec", int64(r.WarmUpPeriodSec)); err != nil {
			return err
		}
	}
	return rulejson.CheckRange("maxQueueingTimeMs", rulejson.Deref(r.MaxQueueingTimeMs, 500))
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

func (r Rule) checkWindow() error {
	if err := rulejson.CheckRange("statIntervalInMs", r.StatIntervalInMs); err != nil {
		return err
	}
	if err := rulejson.CheckRange("statBucketCount", int64(r.StatBucketCount)); err != nil {
		return err
	}
	if r.StatBucketCount > mostBuckets {
		return chain.Refuse("statBucketCount", "must be at most %d, not %d", mostBuckets, r.StatBucketCount)
	}
	if interval, buckets := r.StatIntervalInMs, rulejson.Or(r.StatBucketCount, 2); interval%int64(buckets) != 0 {
		return chain.Refuse("statBucketCount", "%d does not divide statIntervalInMs %d", buckets, interval)
	}
	return nil
}

func (r Rule) checkCluster() error {
	if !r.ClusterMode {
		return nil
	}
	return rulejson.CheckCluster(r.ClusterConfig)
}

// checkTotal refuses a rule whose high mark the memory can never reach.
func checkTotal(r Rule, total func() (bytes uint64, known bool)) error {
	if !r.MemoryAdaptive() || total == nil {
		return nil
	}
	if bytes, known := total(); known && uint64(r.MemHighWaterMarkBytes) > bytes {
		return chain.Refuse("memHighWaterMarkBytes", "%d is more than the memory there is, %d", r.MemHighWaterMarkBytes, bytes)
	}
	return nil
}

func (r Rule) checkMemory() error {
	if !r.MemoryAdaptive() {
		return nil
	}
	for _, part := range []struct {
		name  string
		value int64
	}{
		{"lowMemUsageThreshold", r.LowMemUsageThreshold},
		{"highMemUsageThreshold", r.HighMemUsageThreshold},
		{"memLowWaterMarkBytes", r.MemLowWaterMarkBytes},
		{"memHighWaterMarkBytes", r.MemHighWaterMarkBytes},
	} {
		if part.value <= 0 {
			return chain.Refuse(part.name, "must be above 0 in a rule that follows the memory in use, not %d", part.value)
		}
	}
	switch {
	case r.HighMemUsageThreshold >= r.LowMemUsageThreshold:
		return chain.Refuse("highMemUsageThreshold", "%d must be below lowMemUsageThreshold %d", r.HighMemUsageThreshold, r.LowMemUsageThreshold)
	case r.MemLowWaterMarkBytes >= r.MemHighWaterMarkBytes:
		return chain.Refuse("memLowWaterMarkBytes", "%d must be below memHighWaterMarkBytes %d", r.MemLowWaterMarkBytes, r.MemHighWaterMarkBytes)
	case r.Grade != GradeQPS:
		return chain.Refuse("grade", "must be 1 in a rule that follows the memory in use, not %d", r.Grade.Number())
	case r.ControlBehavior == WarmUp || r.ControlBehavior == WarmUpThrottling:
		return chain.Refuse("controlBehavior", "must be 0 or 2 in a rule that follows the memory in use, not %d", r.ControlBehavior.Number())
	}
	return nil
}
