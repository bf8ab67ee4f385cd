package figure

import (
	"runtime"
	"strconv"
	"time"
)

// Days returns by how much the heap grows from the tenth minute of traffic with new names every minute to its end,
// on a clock moved by hand.
func Days(length time.Duration, perMinute int) (float64, error) {
	c := newClock()
	e, err := engineOn(c)
	if err != nil {
		return 0, err
	}
	defer e.Close()
	const half = 30 * time.Second
	name := 0
	grown := growth(int(length/half), func() {
		for range perMinute / 2 {
			call(e, "new-"+strconv.Itoa(10_000_000+name))
			name++
		}
	}, func() {
		c.advance(half)
		e.Maintain()
	})
	runtime.KeepAlive(e)
	return grown, nil
}

// growth returns by how much the heap at its fullest grows from the steps after the twentieth to the last. The names that an
// engine has at one moment rise to the cap and fall again, every few steps; how far they are depends on the engine's own
// passes of maintenance, which keep to the real clock. So the fullest moment of some steps counts at both ends, each
// read before the names are tended.
func growth(steps int, traffic, tend func()) float64 {
	const begin, few = 20, 12
	var early, late float64
	for step := range steps {
		traffic()
		switch {
		case step >= begin && step < begin+few:
			early = max(early, heap())
		case step >= steps-few:
			late = max(late, heap())
		}
		tend()
	}
	return late - early
}
