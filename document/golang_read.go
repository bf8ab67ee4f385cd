package document

import (
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/document/internal/golang"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/rulejson"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// golangFlow reads a flow rule of sentinel-golang's.
func golangFlow(raw []byte) (flow.Rule, []string, error) {
	o := rulejson.Parse(raw)
	c := golangHead(o, true)
	r := flow.Rule{
		ID: c.ID, Resource: c.Resource, Regex: c.Regex, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags,
	}
	o.Float("threshold", &r.Count)
	r.Strategy = flow.Strategy(choice(o, "relationStrategy", 1))
	o.String("refResource", &r.RefResource)
	calculate, throttle := choice(o, "tokenCalculateStrategy", 2), choice(o, "controlBehavior", 1) == 1
	r.ControlBehavior = golangBehavior(calculate == 1, throttle)
	wait := unsigned(o, "maxQueueingTimeMs")
	r.MaxQueueingTimeMs = &wait
	o.Int("warmUpPeriodSec", &r.WarmUpPeriodSec)
	if calculate == 1 && r.WarmUpPeriodSec <= 0 {
		o.Refuse("warmUpPeriodSec", "must be above 0, not %d", r.WarmUpPeriodSec)
	}
	if factor := unsigned(o, "warmUpColdFactor"); calculate == 1 && factor != 0 && factor != golang.ColdFactor {
		o.Warn("warmUpColdFactor %d is not kept; the cold factor is a setting of the engine", factor)
	}
	r.StatIntervalInMs = unsigned(o, "statIntervalInMs")
	if buckets := golang.Buckets(r.StatIntervalInMs); buckets != 2 {
		r.StatBucketCount = buckets
	}
	var memory flow.Rule
	o.Int64("lowMemUsageThreshold", &memory.LowMemUsageThreshold)
	o.Int64("highMemUsageThreshold", &memory.HighMemUsageThreshold)
	o.Int64("memLowWaterMarkBytes", &memory.MemLowWaterMarkBytes)
	o.Int64("memHighWaterMarkBytes", &memory.MemHighWaterMarkBytes)
	if calculate == 2 {
		r.LowMemUsageThreshold, r.HighMemUsageThreshold = memory.LowMemUsageThreshold, memory.HighMemUsageThreshold
		r.MemLowWaterMarkBytes, r.MemHighWaterMarkBytes = memory.MemLowWaterMarkBytes, memory.MemHighWaterMarkBytes
		if !r.MemoryAdaptive() {
			o.Refuse("lowMemUsageThreshold", "must be above 0 with tokenCalculateStrategy 2")
		}
	}
	return r, o.Warnings(), o.Err()
}

func golangBehavior(warm, throttle bool) flow.ControlBehavior {
	switch {
	case warm && throttle:
		return flow.WarmUpThrottling
	case warm:
		return flow.WarmUp
	case throttle:
		return flow.Throttling
	}
	return flow.Reject
}

// golangIsolation reads an isolation rule of sentinel-golang's.
func golangIsolation(raw []byte) (isolation.Rule, []string, error) {
	o := rulejson.Parse(raw)
	c := golangHead(o, true)
	r := isolation.Rule{
		ID: c.ID, Resource: c.Resource, Regex: c.Regex, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags,
	}
	choice(o, "metricType", 0)
	if r.Count = unsigned(o, "threshold"); r.Count == 0 {
		o.Refuse("threshold", "must be above 0")
	}
	return r, o.Warnings(), o.Err()
}

// golangDegrade reads a circuit breaker rule of sentinel-golang's.
func golangDegrade(raw []byte) (circuitbreaker.Rule, []string, error) {
	o := rulejson.Parse(raw)
	c := golangHead(o, false)
	r := circuitbreaker.Rule{
		ID: c.ID, Resource: c.Resource, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags,
	}
	r.Grade = circuitbreaker.Grade(choice(o, "strategy", 2))
	golangOpen(o, &r)
	o.Int("minRequestAmount", &r.MinRequestAmount)
	if r.MinRequestAmount == 0 {
		r.MinRequestAmount = 1 // none there; one completed call is the least here
	}
	if r.StatIntervalMs = unsigned(o, "statIntervalMs"); r.StatIntervalMs == 0 {
		o.Refuse("statIntervalMs", "must be above 0")
	}
	o.Int("statSlidingWindowBucketCount", &r.StatBucketCount)
	if n := int64(r.StatBucketCount); n > 0 && r.StatIntervalMs%n != 0 {
		o.Warn("statSlidingWindowBucketCount %d does not divide statIntervalMs %d, one bucket is used", n, r.StatIntervalMs)
		r.StatBucketCount = 1
	}
	o.Int("probeNum", &r.ProbeNum)
	slowest := unsigned(o, "maxAllowedRtMs")
	var threshold float64
	o.Float("threshold", &threshold)
	r.Count = threshold
	if r.Grade == circuitbreaker.SlowRatio {
		r.Count = float64(slowest)
		r.SlowRatioThreshold = &threshold
	}
	return r, o.Warnings(), o.Err()
}

// golangOpen reads the time a circuit stays open, which this project has in seconds.
func golangOpen(o *rulejson.Object, r *circuitbreaker.Rule) {
	const second = 1000
	wait := unsigned(o, "retryTimeoutMs")
	r.TimeWindow = int((wait + second - 1) / second)
	if wait == 0 {
		o.Refuse("retryTimeoutMs", "must be above 0")
	} else if wait%second != 0 {
		o.Warn("retryTimeoutMs %d is rounded up to %d seconds", wait, r.TimeWindow)
	}
}

// golangSystem reads a system rule of sentinel-golang's, which has one limit.
func golangSystem(raw []byte) (system.Rule, []string, error) {
	o := rulejson.Parse(raw)
	c := golangHead(o, false)
	o.Ignore("resource")
	r := system.Rule{ID: c.ID, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags}
	metric := choice(o, "metricType", 4)
	unknown := o.Err() != nil
	var limit float64
	o.Float("triggerCount", &limit)
	if limit < 0 {
		o.Refuse("triggerCount", "must not be negative: %v", limit)
	}
	whole := int64(limit)
	switch metric {
	case 0:
		r.HighestSystemLoad = &limit
	case 1:
		r.AvgRT = &whole
	case 2:
		r.MaxThread = &whole
	case 3:
		r.QPS = &limit
	case 4:
		r.HighestCpuUsage = &limit
	}
	strategy := 0
	o.Int("strategy", &strategy)
	switch bbr := strategy == 1; {
	case unknown:
	case metric == 0 && !bbr:
		o.Warn("strategy %d: a load limit always looks at the capacity measured so far (BBR) before it refuses", strategy)
	case metric == 4 && bbr:
		o.Warn("strategy 1: a CPU limit refuses without looking at the capacity measured so far (BBR)")
	}
	if (metric == 1 || metric == 2) && float64(whole) != limit {
		o.Warn("triggerCount %v is cut to %d", limit, whole)
	}
	return r, o.Warnings(), o.Err()
}

// golangParam reads a hotspot rule of sentinel-golang's.
func golangParam(raw []byte) (hotspot.Rule, []string, error) {
	o := rulejson.Parse(raw)
	c := golangHead(o, false)
	r := hotspot.Rule{ID: c.ID, Resource: c.Resource, Disabled: c.Disabled(), Mode: c.Mode, Description: c.Description, Tags: c.Tags}
	if choice(o, "metricType", 1) == 0 {
		r.Grade = hotspot.GradeConcurrency
	}
	if choice(o, "controlBehavior", 1) == 1 {
		r.ControlBehavior = hotspot.Throttling
	}
	index := 0
	o.Int("paramIndex", &index)
	if o.String("paramKey", &r.ParamKey); r.ParamKey == "" || index != 0 {
		r.ParamIdx = &index
	}
	r.Count = float64(unsigned(o, "threshold"))
	r.MaxQueueingTimeMs = unsigned(o, "maxQueueingTimeMs")
	r.BurstCount = unsigned(o, "burstCount")
	if r.DurationInSec = unsigned(o, "durationInSec"); r.DurationInSec == 0 && r.Grade == hotspot.GradeQPS {
		o.Refuse("durationInSec", "must be above 0")
	}
	r.ParamsMaxCapacity = unsigned(o, "paramsMaxCapacity")
	for at, element := range o.Array("specificItems") {
		golangItem(o, at, element, &r.Items)
	}
	return r, o.Warnings(), o.Err()
}

// golangItem reads an exception item; a bad one is left out with a warning.
func golangItem(o *rulejson.Object, at int, raw []byte, to *[]hotspot.Item) {
	in := o.Apart("specificItems", at, raw)
	kind := choice(in, "valKind", 3)
	object, there := in.Text("valStr")
	var item hotspot.Item
	in.Int64("threshold", &item.Count)
	item.Object, item.ClassType = object, []string{"int", "String", "boolean", "double"}[kind]
	if _, err := item.Value(); kind == 0 && err != nil {
		item.ClassType = "long"
	}
	for _, warning := range in.Warnings() {
		o.Warn("%s", warning)
	}
	err := in.Err()
	if err == nil && !there {
		err = chain.Refuse("valStr", "is needed")
	}
	if err == nil {
		_, err = item.Value()
	}
	if err != nil {
		o.Warn("specificItems[%d] is left out: %v", at, err)
		return
	}
	*to = append(*to, item)
}
