package rows

import (
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

// cell is a counter alone on its cache lines.
type cell struct {
	n int64
	_ [120]byte
}

// Base returns the bare costs: the harness, one reading of the clock, one hit in a table of names.
func Base() []guard.Case {
	var sink [64]cell
	epoch := time.Now()
	return []guard.Case{
		plain("base/harness", func(_ int, _ uint64, work func() error) error { return work() }),
		plain("base/time-since", func(w int, _ uint64, work func() error) error {
			sink[w&63].n += int64(time.Since(epoch))
			return work()
		}),
		plain("base/time-now", func(w int, _ uint64, work func() error) error {
			sink[w&63].n += int64(time.Now().Nanosecond())
			return work()
		}),
		mapHit("base/map-hit", 1),
		mapHit("base/map-hit-1000-resources", 1000),
	}
}

func plain(name string, f guard.Func) guard.Case {
	return guard.Case{Name: name, New: func(int) (guard.Guard, func(), error) { return f, nil, nil }}
}

// mapHit looks names up in a map behind an atomic pointer.
func mapHit(name string, n int) guard.Case {
	return guard.Case{Name: name, N: n, New: func(n int) (guard.Guard, func(), error) {
		names := guard.Names("res", n)
		table := make(map[string]*cell, n)
		for _, s := range names {
			table[s] = new(cell)
		}
		var current atomic.Pointer[map[string]*cell]
		current.Store(&table)
		return guard.Func(func(_ int, i uint64, work func() error) error {
			if (*current.Load())[names[i%uint64(n)]] == nil {
				return errRefused
			}
			return work()
		}), nil, nil
	}}
}
