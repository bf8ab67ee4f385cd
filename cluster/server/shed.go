package server

import (
	"math"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// A shedder tells overload by how long what can run waits for a processor, which is how long requests wait before they
// are read. The measure is Go's own, of the whole process.
type shedder struct {
	level  atomic.Uint32
	read   func() (waited time.Duration, ok bool) // what tests replace; nil for the real one
	before []uint64                               // of the histogram, at the last look
}

// mostShed is the level at which all requests that are not prioritized are refused; below, so many in mostShed.
const mostShed = 4

// now returns the level in force.
func (h *shedder) now() uint8 { return uint8(h.level.Load()) }

// look measures, and goes one level up or down. It is called by one goroutine.
func (h *shedder) look(most time.Duration) {
	if most < 0 {
		return
	}
	read := h.read
	if read == nil {
		read = h.waited
	}
	waited, ok := read()
	level := h.level.Load()
	switch {
	case ok && waited > most:
		h.level.Store(min(level+1, mostShed))
	case level > 0:
		h.level.Store(level - 1)
	}
}

// sheds says whether a request is refused at a level.
func sheds(level uint8, req *wire.Request) bool {
	return !req.Prioritized && uint8(uint32(req.XID)%mostShed) < level
}

// fewest is how many waits make a median worth looking at.
const fewest = 100

// waited returns the median of the waits since the last look; ok is false if there were only few.
func (h *shedder) waited() (median time.Duration, ok bool) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0, false
	}
	hist := sample[0].Value.Float64Histogram()
	if len(h.before) != len(hist.Counts) {
		h.before = make([]uint64, len(hist.Counts))
	}
	var total uint64
	for i, n := range hist.Counts {
		total += n - h.before[i]
	}
	var sum uint64
	at := -1
	for i, n := range hist.Counts {
		if sum += n - h.before[i]; at < 0 && 2*sum >= total {
			at = i
		}
		h.before[i] = n
	}
	if total < fewest || at < 0 {
		return 0, false
	}
	lower := hist.Buckets[at]
	if math.IsInf(lower, 0) {
		return 0, true
	}
	return time.Duration(lower * float64(time.Second)), true
}
