package chain

import (
	"math"

	"github.com/tidegate-go/tidegate/stat"
)

// Room returns the largest total t with t/units + n <= count, negative if there is none. count is per unit, the
// window spans that many units.
func Room(count float64, n int64, units float64) int64 {
	if math.IsInf(count, 1) {
		return math.MaxInt64
	}
	if units == 1 {
		return Clamp(math.Floor(count)) - n
	}
	room := Clamp(math.Floor((count-float64(n))*units)) + 1
	for room >= 0 && float64(room)/units+float64(n) > count {
		room--
	}
	return room
}

// Gap returns the time, in ns, between calls at a rate of count per interval ns.
func Gap(count, interval float64) int64 { return Clamp(math.Round(interval / count)) }

const largest = int64(1) << 62

// Clamp converts to an integer, truncating; what is too large becomes 2^62.
func Clamp(f float64) int64 {
	if f >= float64(largest) {
		return largest
	}
	return int64(f)
}

// ReserveRate counts the call in the window if that keeps it within count per interval ns, of which the window spans
// units. A count below one admits one call of one unit per interval/count.
func (c *Context) ReserveRate(w *stat.Window, count, units, interval float64) bool {
	switch {
	case c.Count == 0:
		return float64(w.Total(c.Now))/units <= count
	case count > 0 && count < 1:
		return c.Count == 1 && c.ReserveGap(w, Gap(count, interval))
	}
	return c.ReserveWindow(w, Room(count, c.Count, units))
}
