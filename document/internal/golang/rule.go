package golang

import "github.com/tidegate-go/tidegate/chain"

// ColdFactor is the warm-up cold factor of rules that give none.
const ColdFactor = 3

// Buckets returns how many buckets sentinel-golang gives a rule's own window: those of 500 ms of the
// resource's ten seconds where they fit, else one; 0 for no window of its own.
func Buckets(interval int64) int {
	const bucket, ring = 500, 10_000
	switch {
	case interval <= 0:
		return 0
	case interval <= ring && ring%interval == 0 && interval%bucket == 0:
		return int(interval / bucket)
	}
	return 1
}

// Members returns the members of sentinel-golang's rules of a kind, and this project's additions to all of them.
func Members(kind chain.Kind) []string {
	common := []string{"id", "resource", "enabled", "mode", "description", "tags"}
	switch kind {
	case chain.KindFlow:
		return append(common, "regex", "tokenCalculateStrategy", "controlBehavior", "threshold", "relationStrategy", "refResource",
			"maxQueueingTimeMs", "warmUpPeriodSec", "warmUpColdFactor", "statIntervalInMs",
			"lowMemUsageThreshold", "highMemUsageThreshold", "memLowWaterMarkBytes", "memHighWaterMarkBytes")
	case chain.KindIsolation:
		return append(common, "regex", "metricType", "threshold")
	case chain.KindDegrade:
		return append(common, "strategy", "retryTimeoutMs", "minRequestAmount", "statIntervalMs", "statSlidingWindowBucketCount",
			"maxAllowedRtMs", "threshold", "probeNum")
	case chain.KindParam:
		return append(common, "metricType", "controlBehavior", "paramIndex", "paramKey", "threshold", "maxQueueingTimeMs",
			"burstCount", "durationInSec", "paramsMaxCapacity", "specificItems")
	case chain.KindSystem:
		return append(common, "metricType", "triggerCount", "strategy")
	case chain.KindCustom, chain.KindAuthority, chain.KindGateway, chain.KindAPI:
	}
	return nil
}
