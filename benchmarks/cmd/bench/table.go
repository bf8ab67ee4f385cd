package main

import (
	"math"

	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

// row names a measurement: a case on one or two cores, or, on none, a figure.
type row struct {
	name  string
	cores int
}

// table has the samples of every row.
type table map[row][]sample

// bestUnits is how much longer than the shortest of the run a clean slice's unit is at most. When others use the
// machine, its caches and execution units, the clock gets slower, and the calls between get slower still.
const bestUnits = 1.12

// clean returns, for each sample of the row that has any, its slices that were taken while the machine was the
// process's own.
func (t table) clean(r row) [][]measure.Slice { return within(t[r], bestUnits*t.bestUnit(r.cores)) }

// usable is clean; if that is nothing, the slices that are the best among the row's own.
func (t table) usable(r row) (slices [][]measure.Slice, clean bool) {
	if slices = t.clean(r); len(slices) > 0 {
		return slices, true
	}
	if slices = within(t[r], bestUnits*shortest(t[r])); len(slices) > 0 {
		return slices, false
	}
	for _, s := range t[r] {
		slices = append(slices, s.Slices)
	}
	return slices, false
}

func within(samples []sample, unit float64) (found [][]measure.Slice) {
	for _, s := range samples {
		var good []measure.Slice
		for _, one := range s.Slices {
			if one.Steady && one.Unit <= unit {
				good = append(good, one)
			}
		}
		if len(good) > 0 {
			found = append(found, good)
		}
	}
	return found
}

// bestUnit is the shortest unit of the run on so many cores.
func (t table) bestUnit(cores int) float64 {
	best := math.Inf(1)
	for r, samples := range t {
		if r.cores == cores {
			best = min(best, shortest(samples))
		}
	}
	return best
}

func shortest(samples []sample) float64 {
	best := math.Inf(1)
	for _, s := range samples {
		for _, one := range s.Slices {
			if one.Steady {
				best = min(best, one.Unit)
			}
		}
	}
	return best
}

// median is the middle over the samples of the middle over a sample's slices.
func (t table) median(r row, column func(measure.Slice) float64) (value float64, clean bool) {
	used, clean := t.usable(r)
	var middles []float64
	for _, slices := range used {
		var values []float64
		for _, one := range slices {
			values = append(values, column(one))
		}
		middles = append(middles, measure.Median(values))
	}
	return measure.Median(middles), clean
}

func cpuUnits(s measure.Slice) float64  { return s.CPU / s.Unit }
func timeUnits(s measure.Slice) float64 { return s.Wall / s.Unit }

// value is what budgets are about: units of CPU time per call on one core, units of time per call on two, the figure.
func (t table) value(r row) (value float64, clean bool) {
	switch r.cores {
	case 0:
		var values []float64
		for _, s := range t[r] {
			values = append(values, s.Value)
		}
		return measure.Median(values), true
	case 1:
		return t.median(r, cpuUnits)
	}
	return t.median(r, timeUnits)
}
