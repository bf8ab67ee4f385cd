package convert

import (
	"math"
	"strconv"

	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/document/internal/golang"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// write adds a rule to one of sentinel-golang's lists.
func (c *conversion) write(list string, e element, rule any) {
	text, err := marshal(rule)
	if err != nil {
		c.drop(e, "", "%v", err)
		return
	}
	c.list(list).add(with(text, e.extra))
}

func (e element) id() string {
	if e.head.ID == 0 {
		return ""
	}
	return strconv.FormatInt(e.head.ID, 10)
}

func pattern(resource string, regex bool) string {
	if regex {
		return golang.Searched(resource)
	}
	return resource
}

type golangFlow struct {
	ID                     string  `json:"id,omitempty"`
	Resource               string  `json:"resource"`
	TokenCalculateStrategy int     `json:"tokenCalculateStrategy"`
	ControlBehavior        int     `json:"controlBehavior"`
	Threshold              float64 `json:"threshold"`
	RelationStrategy       int     `json:"relationStrategy"`
	RefResource            string  `json:"refResource,omitempty"`
	MaxQueueingTimeMs      int64   `json:"maxQueueingTimeMs"`
	WarmUpPeriodSec        int     `json:"warmUpPeriodSec"`
	WarmUpColdFactor       int     `json:"warmUpColdFactor,omitempty"`
	StatIntervalInMs       int64   `json:"statIntervalInMs"`
	LowMemUsageThreshold   int64   `json:"lowMemUsageThreshold,omitempty"`
	HighMemUsageThreshold  int64   `json:"highMemUsageThreshold,omitempty"`
	MemLowWaterMarkBytes   int64   `json:"memLowWaterMarkBytes,omitempty"`
	MemHighWaterMarkBytes  int64   `json:"memHighWaterMarkBytes,omitempty"`
	Regex                  bool    `json:"regex,omitempty"`
}

func (c *conversion) golangFlow(e element, r flow.Rule) {
	switch {
	case r.Origin() != "default":
		c.drop(e, "limitApp", "sentinel-golang knows no origins")
	case r.ClusterMode:
		c.drop(e, "clusterMode", "sentinel-golang has no cluster rules")
	case r.Strategy == flow.StrategyChain:
		c.drop(e, "strategy", "sentinel-golang knows no entrances, so strategy 2 has no equivalent")
	case r.Grade == flow.GradeConcurrency && r.Strategy != flow.StrategyDirect:
		c.drop(e, "strategy", "sentinel-golang limits only a resource's own concurrency")
	case r.Grade == flow.GradeConcurrency:
		c.golangConcurrency(e, r.Resource, r.Regex, r.Count)
	default:
		c.golangRate(e, r)
	}
}

func (c *conversion) golangRate(e element, r flow.Rule) {
	w := golangFlow{
		ID: e.id(), Resource: pattern(r.Resource, r.Regex), Regex: r.Regex, RefResource: r.RefResource,
		RelationStrategy: r.Strategy.Number(), MaxQueueingTimeMs: r.MaxQueueing().Milliseconds(), WarmUpPeriodSec: r.WarmUpPeriod(),
		LowMemUsageThreshold: r.LowMemUsageThreshold, HighMemUsageThreshold: r.HighMemUsageThreshold,
		MemLowWaterMarkBytes: r.MemLowWaterMarkBytes, MemHighWaterMarkBytes: r.MemHighWaterMarkBytes,
	}
	warm := r.ControlBehavior == flow.WarmUp || r.ControlBehavior == flow.WarmUpThrottling
	if r.ControlBehavior == flow.Throttling || r.ControlBehavior == flow.WarmUpThrottling {
		w.ControlBehavior = 1
	}
	switch {
	case warm:
		w.TokenCalculateStrategy, w.WarmUpColdFactor = 1, golang.ColdFactor
	case r.MemoryAdaptive():
		w.TokenCalculateStrategy = 2
	}
	w.Threshold, w.StatIntervalInMs = r.Count, r.StatIntervalInMs
	if r.Count > 0 && r.Count < 1 && !r.MemoryAdaptive() {
		if warm {
			c.drop(e, "count", "sentinel-golang cannot warm up to a count below 1: %v", r.Count)
			return
		}
		interval := r.StatIntervalInMs
		if interval == 0 {
			interval = 1000
		}
		period := math.Round(float64(interval) / r.Count)
		if period > math.MaxInt32 {
			c.drop(e, "count", "%v per %d ms is too little: sentinel-golang's threshold must be at least 1, and its interval at most %d ms", r.Count, interval, math.MaxInt32)
			return
		}
		w.Threshold, w.StatIntervalInMs = 1, int64(period)
	}
	if r.StatBucketCount != 0 && r.StatBucketCount != golang.Buckets(w.StatIntervalInMs) {
		c.lack(e, "statBucketCount", "sentinel-golang chooses the buckets of a window itself")
	}
	c.write("flow", e, w)
}

// stretch expresses a count below 1 per interval as a whole threshold per longer interval, the smallest there is.
func stretch(count float64, interval int64) (threshold, period int64, ok bool) {
	for threshold = 1; threshold <= 1000; threshold++ {
		exact := float64(threshold) * float64(interval) / count
		if exact > math.MaxInt32 {
			break
		}
		if whole := math.Round(exact); math.Abs(exact-whole) < 1e-9*exact {
			return threshold, int64(whole), true
		}
	}
	return 0, 0, false
}

type golangIsolation struct {
	ID         string `json:"id,omitempty"`
	Resource   string `json:"resource"`
	MetricType int    `json:"metricType"`
	Threshold  int64  `json:"threshold"`
	Regex      bool   `json:"regex,omitempty"`
}

func (c *conversion) golangConcurrency(e element, resource string, regex bool, count float64) {
	switch whole := math.Floor(count); {
	case whole < 1:
		c.drop(e, "count", "sentinel-golang's isolation threshold must be at least 1, not %v", count)
	case whole > math.MaxUint32:
		c.drop(e, "count", "%v is above what sentinel-golang's isolation threshold can be", count)
	default:
		c.write("isolation", e, golangIsolation{ID: e.id(), Resource: pattern(resource, regex), Threshold: int64(whole), Regex: regex})
	}
}

func (c *conversion) golangIsolation(e element, r isolation.Rule) {
	c.golangConcurrency(e, r.Resource, r.Regex, float64(r.Count))
}

type golangBreaker struct {
	ID               string  `json:"id,omitempty"`
	Resource         string  `json:"resource"`
	Strategy         int     `json:"strategy"`
	RetryTimeoutMs   int64   `json:"retryTimeoutMs"`
	MinRequestAmount int     `json:"minRequestAmount"`
	StatIntervalMs   int64   `json:"statIntervalMs"`
	BucketCount      int     `json:"statSlidingWindowBucketCount,omitempty"`
	MaxAllowedRtMs   int64   `json:"maxAllowedRtMs,omitempty"`
	Threshold        float64 `json:"threshold"`
	ProbeNum         int     `json:"probeNum,omitempty"`
}

func (c *conversion) golangDegrade(e element, r circuitbreaker.Rule) {
	if r.Regex {
		c.drop(e, "regex", "sentinel-golang's circuit breakers know no patterns")
		return
	}
	if r.IsDefault() {
		c.drop(e, "resource", "sentinel-golang has no default circuit breakers")
		return
	}
	interval, _ := r.Window()
	w := golangBreaker{
		ID: e.id(), Resource: r.Resource, Strategy: r.Grade.Number(), RetryTimeoutMs: r.RecoveryTime().Milliseconds(),
		MinRequestAmount: r.MinRequests(), StatIntervalMs: interval.Milliseconds(), BucketCount: r.StatBucketCount, Threshold: r.Count,
	}
	if w.RetryTimeoutMs > math.MaxUint32 {
		c.drop(e, "timeWindow", "%d seconds are above what retryTimeoutMs can be", r.TimeWindow)
		return
	}
	if r.Grade == circuitbreaker.SlowRatio {
		w.Threshold, w.MaxAllowedRtMs = r.SlowRatio(), int64(math.Round(min(r.Count, math.MaxInt32)))
	}
	if r.Probes() > 1 {
		w.ProbeNum = r.Probes()
	}
	if r.ProbeTimeout() != r.RecoveryTime() {
		c.lack(e, "probeTimeoutMs", "sentinel-golang waits for a probe without limit")
	}
	c.write("circuitbreaker", e, w)
}

type golangSystem struct {
	ID           string  `json:"id,omitempty"`
	MetricType   int     `json:"metricType"`
	TriggerCount float64 `json:"triggerCount"`
	Strategy     int     `json:"strategy"`
}

// golangSystem writes one rule for each limit.
func (c *conversion) golangSystem(e element, r system.Rule) {
	const plain, bbr = -1, 1
	write := func(metric int, limit float64, set bool, strategy int) {
		if set {
			c.write("system", e, golangSystem{e.id(), metric, limit, strategy})
		}
	}
	load, set := r.Load()
	write(0, load, set, bbr)
	rt, set := r.ResponseTime()
	write(1, float64(rt), set, plain)
	concurrency, set := r.Concurrency()
	write(2, float64(concurrency), set, plain)
	rate, set := r.Rate()
	write(3, rate, set, plain)
	cpu, set := r.CPU()
	write(4, cpu, set, plain)
	c.open(e.kind, true, 0)
}

type golangHotspot struct {
	ID                string       `json:"id,omitempty"`
	Resource          string       `json:"resource"`
	MetricType        int          `json:"metricType"`
	ControlBehavior   int          `json:"controlBehavior"`
	ParamIndex        int          `json:"paramIndex"`
	Threshold         int64        `json:"threshold"`
	MaxQueueingTimeMs int64        `json:"maxQueueingTimeMs"`
	BurstCount        int64        `json:"burstCount"`
	DurationInSec     int64        `json:"durationInSec"`
	ParamsMaxCapacity int64        `json:"paramsMaxCapacity,omitempty"`
	SpecificItems     []golangItem `json:"specificItems"`
}

type golangItem struct {
	ValKind   int    `json:"valKind"`
	ValStr    string `json:"valStr"`
	Threshold int64  `json:"threshold"`
}

func (c *conversion) golangParam(e element, r hotspot.Rule) {
	switch {
	case r.Regex:
		c.drop(e, "regex", "sentinel-golang's hot parameters know no patterns")
		return
	case r.ClusterMode:
		c.drop(e, "clusterMode", "sentinel-golang has no cluster rules")
		return
	case r.ParamIdx == nil:
		c.drop(e, "paramKey", "sentinel-golang's reader drops it; give paramIdx")
		return
	}
	w := golangHotspot{
		ID: e.id(), Resource: r.Resource, MetricType: r.Grade.Number(), ParamIndex: *r.ParamIdx, MaxQueueingTimeMs: r.MaxQueueingTimeMs,
		BurstCount: r.BurstCount, DurationInSec: int64(r.Duration().Seconds()), ParamsMaxCapacity: r.ParamsMaxCapacity, SpecificItems: []golangItem{},
	}
	if r.ControlBehavior == hotspot.Throttling {
		w.ControlBehavior = 1
	}
	w.Threshold = int64(min(r.Count, math.MaxInt32))
	if float64(w.Threshold) != r.Count {
		threshold, period, ok := stretch(r.Count, w.DurationInSec)
		if r.Count >= 1 || r.Grade == hotspot.GradeConcurrency || len(r.Items) > 0 || !ok {
			c.drop(e, "count", "sentinel-golang's threshold is a whole number, and %v per %d s has no form with one", r.Count, w.DurationInSec)
			return
		}
		w.Threshold, w.DurationInSec = threshold, period
	}
	for at, item := range r.Items {
		if value, err := item.Value(); err == nil {
			w.SpecificItems = append(w.SpecificItems, golangItem{valKind(value.Kind()), item.Object, item.Count})
		} else {
			c.lack(e, "paramFlowItemList["+strconv.Itoa(at)+"]", "%v", err)
		}
	}
	c.write("hotspot", e, w)
}
