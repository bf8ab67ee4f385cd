// Package peers has the cases of the libraries that a team would otherwise take.
package peers

import (
	"errors"
	"slices"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

var errRefused = errors.New("refused")

// Cases returns every case. The names are distinct.
func Cases() []guard.Case { return slices.Concat(gobreakerCases(), failsafeCases(), sentinelCases()) }
