// Package rows has this project's cases and the bare costs to compare with. It links none of the peers.
package rows

import (
	"errors"
	"slices"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

var errRefused = errors.New("refused")

// Cases returns every case. The names are distinct.
func Cases() []guard.Case { return slices.Concat(Base(), Tidegate()) }
