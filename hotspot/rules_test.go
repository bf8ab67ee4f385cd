package hotspot_test

import "github.com/tidegate-go/tidegate/hotspot"

const (
	ms  = int64(1e6)
	sec = int64(1e9)
)

// Rules for argument 0 of resource "r".

func qps(count float64) hotspot.Rule {
	return hotspot.Rule{Resource: "r", ParamIdx: new(int), Count: count}
}

func throttled(count float64, queueMs int64) hotspot.Rule {
	r := qps(count)
	r.ControlBehavior, r.MaxQueueingTimeMs = hotspot.Throttling, queueMs
	return r
}

func concurrency(count float64) hotspot.Rule {
	r := qps(count)
	r.Grade = hotspot.GradeConcurrency
	return r
}
