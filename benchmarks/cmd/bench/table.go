package main

import (
	"slices"

	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

// row names a measurement: a case on one or two cores, or, on none, a figure.
type row struct {
	name  string
	cores int
}

// table has the samples of every row.
type table map[row][]sample

// A pace is how fast the machine is: the yardsticks beside a slice.
type pace struct{ unit, work float64 }

// How much longer than in the run's best moments the yardsticks beside a clean slice take at most. When others use the
// machine, its caches and execution units, the clock gets slower, plain instructions get slower still, and the calls
// between as they.
const (
	bestUnits = 1.07
	bestWork  = 1.1
	bestShare = 30 // one in so many steady slices is among the best moments
)

func (p pace) keeps(one measure.Slice) bool {
	return one.Steady && one.Unit <= bestUnits*p.unit && one.Work <= bestWork*p.work
}

// clean returns, for each sample of the row that has any, its slices that were taken while the machine was the
// process's own.
func (t table) clean(r row) [][]measure.Slice { return within(t[r], t.best(r.cores)) }

// usable is clean; if that is nothing, the slices that are the best among the row's own.
func (t table) usable(r row) (used [][]measure.Slice, clean bool) {
	if used = t.clean(r); len(used) > 0 {
		return used, true
	}
	units, works := steady(t[r])
	if len(units) > 0 {
		if used = within(t[r], pace{slices.Min(units), slices.Min(works)}); len(used) > 0 {
			return used, false
		}
	}
	for _, s := range t[r] {
		used = append(used, s.Slices)
	}
	return used, false
}

func within(samples []sample, p pace) (found [][]measure.Slice) {
	for _, s := range samples {
		var good []measure.Slice
		for _, one := range s.Slices {
			if p.keeps(one) {
				good = append(good, one)
			}
		}
		if len(good) > 0 {
			found = append(found, good)
		}
	}
	return found
}

// best is the pace of the run's best moments on so many cores: what a thirtieth of its steady slices undercut. The very
// shortest may be a moment that never comes back.
func (t table) best(cores int) pace {
	var units, works []float64
	for r, samples := range t {
		if r.cores == cores {
			u, w := steady(samples)
			units, works = append(units, u...), append(works, w...)
		}
	}
	if len(units) == 0 {
		return pace{}
	}
	slices.Sort(units)
	slices.Sort(works)
	return pace{units[len(units)/bestShare], works[len(works)/bestShare]}
}

// steady returns the yardsticks beside the steady slices.
func steady(samples []sample) (units, works []float64) {
	for _, s := range samples {
		for _, one := range s.Slices {
			if one.Steady {
				units, works = append(units, one.Unit), append(works, one.Work)
			}
		}
	}
	return units, works
}

// median is the middle over the samples of the middle over a sample's slices.
func (t table) median(r row, column func(measure.Slice) float64) (value float64, clean bool) {
	used, clean := t.usable(r)
	var middles []float64
	for _, taken := range used {
		var values []float64
		for _, one := range taken {
			values = append(values, column(one))
		}
		middles = append(middles, measure.Median(values))
	}
	return measure.Median(middles), clean
}

// allocs is the middle over all samples of what measure.Allocs says of each.
func (t table) allocs(r row) float64 {
	var values []float64
	for _, s := range t[r] {
		values = append(values, measure.Allocs(s.Slices))
	}
	return measure.Median(values)
}

func cpuUnits(s measure.Slice) float64  { return s.CPU / s.Unit }
func timeUnits(s measure.Slice) float64 { return s.Wall / s.Unit }
func ofAlone(s measure.Slice) float64   { return s.Wall / s.Alone }

// value is what budgets are about: units of CPU time per call on one core; on two, the time per call over that of one core
// alone; the figure.
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
	return t.median(r, ofAlone)
}
