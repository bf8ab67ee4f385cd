package tokens

import (
	"errors"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
)

const (
	total = 480 * time.Millisecond // time that slices take
	short = 20 * time.Millisecond  // a slice
	long  = 40 * time.Millisecond  // a slice of a load that walks through much memory, and has to come to it again
	warm  = 50 * time.Millisecond
)

// A Column is what of a slice is compared.
type Column struct {
	of   func(reading) float64
	high bool // is good
}

// Rate is requests per second.
func Rate() Column { return Column{func(r reading) float64 { return r.perSecond }, true} }

// ServerCPU is the server's CPU time per request.
func ServerCPU() Column { return Column{func(r reading) float64 { return r.server }, false} }

// P99 is the 99th percentile of the time from a request to its answer.
func P99() Column { return Column{func(r reading) float64 { return r.p99 }, false} }

// subject is one of two that are compared.
type subject interface {
	slice(d time.Duration) (reading, error)
	close() error
}

// ratio is the column of a over that of b, in their good slices.
func ratio(a, b subject, slice time.Duration, column Column) (float64, error) {
	for _, s := range []subject{a, b} {
		if _, err := s.slice(warm); err != nil {
			return 0, err
		}
	}
	var values [2][]float64
	for i := range int(total / slice / 2) {
		for k := range values {
			k ^= i & 1 // each of them comes first as often
			r, err := []subject{a, b}[k].slice(slice)
			if err != nil {
				return 0, err
			}
			values[k] = append(values[k], column.of(r))
		}
	}
	return column.good(values[0]) / column.good(values[1]), nil
}

// good returns the value that only a quarter of them are better than: others on the machine only make them worse.
func (c Column) good(values []float64) float64 {
	slices.Sort(values)
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
func compared(a, b subject, slice time.Duration, column Column) (value float64, err error) {
	defer func() { err = errors.Join(err, a.close(), b.close()) }()
	return ratio(a, b, slice, column)
}

// OverFloor compares the token server with the floor under the same load.
func OverFloor(shape Shape, column Column) (float64, error) {
	return with(func(servers []*process) (float64, error) {
		return loads([2]Shape{shape, shape}, [2]*process(servers), short, column)
	}, ours, floor)
}

// OverShape compares the token server under one load with itself under another.
func OverShape(shape, other Shape, column Column) (float64, error) {
	return with(func(servers []*process) (float64, error) {
		return loads([2]Shape{shape, other}, [2]*process{servers[0], servers[0]}, long, column)
	}, ours)
}

func loads(shapes [2]Shape, servers [2]*process, slice time.Duration, column Column) (float64, error) {
	a, err := newLoad(shapes[0], servers[0])
	if err != nil {
		return 0, err
	}
	b, err := newLoad(shapes[1], servers[1])
	if err != nil {
		return 0, errors.Join(err, a.close())
	}
	return compared(a, b, slice, column)
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
		return compared(a, b, short, Column{func(r reading) float64 { return r.client }, false})
	}, floor)
}

// Coalesced returns how many calls of so many callers on one flow share a request.
func Coalesced(n int) (float64, error) {
	return with(func(servers []*process) (value float64, err error) {
		c, err := newCallers(n, servers[0], client.WithCoalescing(0))
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		r, err := c.slice(total)
		return r.requests / float64(c.client.Status().Counters.Requests), err
	}, floor)
}
