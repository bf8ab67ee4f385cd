package tokens

import (
	"errors"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
)

// A pace is how long each slice is, and all together.
type pace struct{ slice, total time.Duration }

func quick() pace { return pace{20 * time.Millisecond, 480 * time.Millisecond} }

// steady is for loads that walk through much memory, which the other load's slice has taken out of the caches, and for
// figures whose slices differ much.
func steady() pace { return pace{200 * time.Millisecond, 2 * time.Second} }

const warm = 50 * time.Millisecond

// A Column is what of a slice is compared.
type Column struct {
	of     func(reading) float64
	high   bool // is good
	middle bool // the median is compared, not a good slice
}

// Rate is requests per second.
func Rate() Column { return Column{of: func(r reading) float64 { return r.perSecond }, high: true} }

// ServerCPU is the server's CPU time per request.
func ServerCPU() Column { return Column{of: func(r reading) float64 { return r.server }} }

// P99 is the 99th percentile of the time from a request to its answer.
func P99() Column { return Column{of: func(r reading) float64 { return r.p99 }} }

// subject is one of two that are compared.
type subject interface {
	slice(d time.Duration) (reading, error)
	close() error
}

// ratio is the column of a over that of b.
func ratio(a, b subject, p pace, column Column) (float64, error) {
	for _, s := range []subject{a, b} {
		if _, err := s.slice(warm); err != nil {
			return 0, err
		}
	}
	var values [2][]float64
	for i := range int(p.total / p.slice / 2) {
		for k := range values {
			k ^= i & 1 // each of them comes first as often
			r, err := []subject{a, b}[k].slice(p.slice)
			if err != nil {
				return 0, err
			}
			values[k] = append(values[k], column.of(r))
		}
	}
	return column.pick(values[0]) / column.pick(values[1]), nil
}

// pick returns the middle one of the values or, as others on the machine only make them worse, the one that only a quarter
// of them are better than.
func (c Column) pick(values []float64) float64 {
	slices.Sort(values)
	if c.middle {
		return values[len(values)/2]
	}
	if c.high {
		slices.Reverse(values)
	}
	return values[len(values)/4]
}

// with starts servers for f.
func with(f func(servers []*process) (float64, error), kinds ...string) (value float64, err error) {
	var servers []*process
	defer func() {
		for _, p := range servers {
			err = errors.Join(err, p.stop())
		}
	}()
	for _, kind := range kinds {
		p, err := start(kind)
		if err != nil {
			return 0, err
		}
		servers = append(servers, p)
	}
	return f(servers)
}

// compared closes both after ratio.
func compared(a, b subject, p pace, column Column) (value float64, err error) {
	defer func() { err = errors.Join(err, a.close(), b.close()) }()
	return ratio(a, b, p, column)
}

// OverFloor compares the token server with the floor under the same load.
func OverFloor(shape Shape, column Column) (float64, error) {
	return with(func(servers []*process) (float64, error) {
		return loads([2]Shape{shape, shape}, [2]*process(servers), quick(), column)
	}, ours, floor)
}

// OverShape compares the token server under one load with itself under another.
func OverShape(shape, other Shape, column Column) (float64, error) {
	return with(func(servers []*process) (float64, error) {
		return loads([2]Shape{shape, other}, [2]*process{servers[0], servers[0]}, steady(), column)
	}, ours)
}

func loads(shapes [2]Shape, servers [2]*process, p pace, column Column) (float64, error) {
	a, err := newLoad(shapes[0], servers[0])
	if err != nil {
		return 0, err
	}
	b, err := newLoad(shapes[1], servers[1])
	if err != nil {
		return 0, errors.Join(err, a.close())
	}
	return compared(a, b, p, column)
}

// ClientOverLoad compares the CPU time per request of so many callers on one token client with that of a load with as
// many requests in flight.
func ClientOverLoad(n int) (float64, error) {
	return with(func(servers []*process) (float64, error) {
		a, err := newCallers(n, servers[0])
		if err != nil {
			return 0, err
		}
		b, err := newLoad(Shape{Conns: 1, InFlight: n}, servers[0])
		if err != nil {
			return 0, errors.Join(err, a.close())
		}
		return compared(a, b, steady(), Column{of: func(r reading) float64 { return r.client }, middle: true})
	}, ours)
}

// Coalesced returns how many calls of so many callers on one flow share a request.
func Coalesced(n int) (float64, error) {
	return with(func(servers []*process) (value float64, err error) {
		c, err := newCallers(n, servers[0], client.WithCoalescing(0))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		r, err := c.slice(quick().total)
		return r.requests / float64(c.client.Status().Counters.Requests), err
	}, floor)
}
