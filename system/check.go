package system

import (
	"time"

	"github.com/tidegate-go/tidegate/chain"
)

// limits are the smallest values of all rules, immutable.
type limits struct {
	effective                                 Rule
	rule                                      any // effective, for errors
	qps, cpu, load                            float64
	avgRT, maxThread                          int64
	qpsSet, rtSet, threadSet, loadSet, cpuSet bool
}

// merge returns nil if no rule sets a limit.
func merge(rules []Rule) *limits {
	l := &limits{}
	for _, r := range rules {
		lower(&l.qps, &l.qpsSet, r.Rate)
		lower(&l.cpu, &l.cpuSet, r.CPU)
		lower(&l.load, &l.loadSet, r.Load)
		lower(&l.avgRT, &l.rtSet, r.ResponseTime)
		lower(&l.maxThread, &l.threadSet, r.Concurrency)
	}
	if !l.qpsSet && !l.rtSet && !l.threadSet && !l.loadSet && !l.cpuSet {
		return nil
	}
	if l.qpsSet {
		l.effective.QPS = &l.qps
	}
	if l.cpuSet {
		l.effective.HighestCpuUsage = &l.cpu
	}
	if l.loadSet {
		l.effective.HighestSystemLoad = &l.load
	}
	if l.rtSet {
		l.effective.AvgRT = &l.avgRT
	}
	if l.threadSet {
		l.effective.MaxThread = &l.maxThread
	}
	l.effective = l.effective.Clone()
	l.rule = l.effective
	return l
}

func lower[N float64 | int64](least *N, set *bool, limit func() (N, bool)) {
	if n, ok := limit(); ok && (!*set || n < *least) {
		*least, *set = n, true
	}
}

func (l *limits) rate() bool          { return l != nil && l.qpsSet }
func (l *limits) concurrency() bool   { return l != nil && l.threadSet }
func (l *limits) needsReadings() bool { return l != nil && (l.loadSet || l.cpuSet) }

// check decides by the merged limits about the inbound calls of one resource.
type check struct {
	slot   *Slot
	limits *limits
	errs   [len(typeNames)]*chain.BlockError

	room     int64 // the largest total that lets one more unit in, for a rate of at least one
	interval int64 // of the window that room is for, ns; 0: the rate is less
}

const (
	byQPS = iota
	byThread
	byRT
	byLoad
	byCPU
)

var typeNames = [...]string{"qps", "thread", "rt", "load", "cpu"}

func newCheck(s *Slot, l *limits, resource string) *check {
	k := &check{slot: s, limits: l}
	if shape := s.inbound.Shape(); l.qpsSet && l.qps >= 1 {
		k.room, k.interval = chain.Room(l.qps, 1, shape.Seconds()), int64(shape.Interval())
	}
	for i, set := range [...]bool{byQPS: l.qpsSet, byThread: l.threadSet, byRT: l.rtSet, byLoad: l.loadSet, byCPU: l.cpuSet} {
		if set {
			k.errs[i] = chain.NewBlockError(chain.KindSystem, resource, l.rule, chain.ErrSystem, explainer{k, i})
			k.errs[i].Type = typeNames[i]
		}
	}
	return k
}

// Check compares, in this order, the rate, the calls in flight, the response time, the load and the CPU usage.
func (k *check) Check(c *chain.Context) *chain.BlockError {
	if !c.Inbound {
		return nil
	}
	l := k.limits
	if l.qpsSet && !k.admitsRate(c) {
		return k.errs[byQPS]
	}
	if l.threadSet && !k.admitsCall(c) {
		return k.errs[byThread]
	}
	if l.rtSet && k.avgRT(c.Now) > float64(l.avgRT) {
		return k.errs[byRT]
	}
	if !l.needsReadings() {
		return nil
	}
	r := k.slot.readings()
	if l.loadSet && r.LoadKnown && r.Load > l.load && k.overloaded(c.Now) {
		return k.errs[byLoad]
	}
	if l.cpuSet && r.CPUKnown && r.CPU > l.cpu {
		return k.errs[byCPU]
	}
	return nil
}

// admitsRate counts the call if the rate stays within the limit. For the rules that only observe, those that refuse
// may have counted it already.
func (k *check) admitsRate(c *chain.Context) bool {
	w := k.slot.inbound.Window(c.Now)
	if c.Count == 1 && w.Interval() == k.interval && !c.Counted(w) { // almost all calls
		return c.ReserveWindowOf(k.slot.inbound, w, k.room)
	}
	limit, seconds := k.limits.qps, float64(w.Interval())/1e9
	if c.Counted(w) && (limit >= 1 || limit == 0) {
		return w.Within(c.Now, c.Count, chain.Room(limit, c.Count, seconds))
	}
	return c.ReserveRate(w, limit, seconds, 1e9)
}

// admitsCall takes a place among the calls in flight if there is one; see admitsRate.
func (k *check) admitsCall(c *chain.Context) bool {
	in := k.slot.inbound
	g, room := in.Exact().Gate(), k.limits.maxThread-1
	if c.Permitted(g) {
		return g.Held(in.Active)-1 <= room
	}
	return c.ReserveGate(g, 1, room, in.Active)
}

func (k *check) avgRT(now int64) float64 {
	r := k.slot.inbound.Recent(now)
	if r.Success == 0 {
		return 0
	}
	return float64(r.RT) / float64(time.Millisecond) / float64(r.Success)
}

// overloaded says whether more calls are in flight than the best rate and the least response time explain. The test
// is Sentinel's, after the BBR congestion control.
func (k *check) overloaded(now int64) bool {
	in := k.slot.inbound
	active := in.Active()
	if active <= 1 {
		return false
	}
	r := in.Recent(now)
	shape := in.Shape()
	rate := float64(r.Best) * float64(shape.Buckets()) / shape.Seconds()
	least := max(1, float64(r.MinRT)/float64(time.Millisecond))
	return float64(active) > rate*least/1000
}

func (k *check) explainRate(now int64) chain.Explanation {
	w, limit := k.slot.inbound.Window(now), k.limits.qps
	e := chain.Explanation{
		Measured: float64(w.Total(now)) / (float64(w.Interval()) / 1e9), Limit: limit, Unit: "calls",
		Window: time.Duration(w.Interval()), RetryAfter: time.Duration(w.NextRelease(now)),
	}
	if limit > 0 && limit < 1 { // one call per 1/limit seconds
		e.Window = time.Duration(chain.Gap(limit, 1e9))
		if last, ever := w.Latest(); ever {
			e.Measured, e.Limit = 1, 1
			e.RetryAfter = max(0, time.Duration(last-now)+e.Window)
		}
	}
	return e
}

// explainer tells what one limit measures.
type explainer struct {
	check *check
	by    int
}

// Explain reads the figure now.
func (x explainer) Explain() chain.Explanation {
	k := x.check
	l, in := k.limits, k.slot.inbound
	now := k.slot.now()
	switch x.by {
	case byQPS:
		return k.explainRate(now)
	case byThread:
		return chain.Explanation{Measured: float64(in.Active()), Limit: float64(l.maxThread), Unit: "calls in flight"}
	case byRT:
		return chain.Explanation{Measured: k.avgRT(now), Limit: float64(l.avgRT), Unit: "ms"}
	case byLoad:
		return chain.Explanation{Measured: k.slot.readings().Load, Limit: l.load, Unit: "load"}
	}
	return chain.Explanation{Measured: k.slot.readings().CPU, Limit: l.cpu, Unit: "ratio"}
}
