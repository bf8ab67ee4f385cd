// Package rows has the cases that are measured: this project's, its peers' and the bare costs to compare with.
package rows

import (
	"errors"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

var errRefused = errors.New("refused")

// All returns every case. The names are distinct.
func All() []guard.Case {
	var all []guard.Case
	for _, cases := range [][]guard.Case{Base(), Tidegate(), Gobreaker(), Failsafe(), Sentinel()} {
		all = append(all, cases...)
	}
	return all
}

// Find returns the case of that name.
func Find(name string) (guard.Case, bool) {
	for _, c := range All() {
		if c.Name == name {
			return c, true
		}
	}
	return guard.Case{}, false
}
