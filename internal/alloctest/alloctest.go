// Package alloctest counts allocations for tests.
package alloctest

import "testing"

// calls is how many are counted together.
const calls = 100

// Count returns how many allocations f makes in 100 calls, after as many that are not counted. testing.AllocsPerRun
// alone gives whole allocations per call, and so overlooks one that only some calls make. What happens once, such as the
// growth of a table in the background, is left out: the least of three counts is returned. No other test may run
// meanwhile.
func Count(f func()) float64 {
	many := func() {
		for range calls {
			f()
		}
	}
	least := testing.AllocsPerRun(1, many)
	for range 2 {
		least = min(least, testing.AllocsPerRun(1, many))
	}
	return least
}
