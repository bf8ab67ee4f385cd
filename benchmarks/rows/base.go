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

// Base returns the bare costs: the harness, one reading of the clock, one of a text far from the processor, one hit in a
// table of names.
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
		scatteredText("base/scattered-text", 1_000_000),
		mapHit("base/map-hit", 1),
		mapHit("base/map-hit-1000-resources", 1000),
	}
}

func plain(name string, f guard.Func) guard.Case {
	return guard.Case{Name: name, New: func(int) (guard.Guard, func(), error) { return f, nil, nil }}
}

// scatteredText reads the clock and one of n texts, as texts makes them. The next reading of the clock waits for the text,
// as a call does whose parameter it is: what the row costs more than the clock alone is the text's way from memory.
func scatteredText(name string, n int) guard.Case {
	return guard.Case{Name: name, N: n, New: func(n int) (guard.Guard, func(), error) {
		var sink [64]cell
		epoch, keys := time.Now(), guard.Names("key", n)
		return guard.Func(func(w int, i uint64, work func() error) error {
			sink[w&63].n += int64(time.Since(epoch)) + int64(keys[i%uint64(n)][0])
			return work()
		}), nil, nil
	}}
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
