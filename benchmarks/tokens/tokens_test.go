package tokens_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/tidegate-go/tidegate/benchmarks/tokens"
)

func TestMain(m *testing.M) {
	if was, err := tokens.Child(os.Stdin, os.Stdout); was {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The figures are of work that was done: a request that is not granted is an error. What they must be is for command
// bench to say: the limits here are for what no machine can bring about.
func TestFigures(t *testing.T) {
	for name, f := range map[string]struct {
		measure     func() (float64, error)
		least, most float64
	}{
		"rate":         {func() (float64, error) { return tokens.OverFloor(one, tokens.Rate()) }, 0.01, 100},
		"server CPU":   {func() (float64, error) { return tokens.OverFloor(many, tokens.ServerCPU()) }, 0.01, 100},
		"p99":          {func() (float64, error) { return tokens.OverFloor(one, tokens.P99()) }, 0.01, 100},
		"ids":          {func() (float64, error) { return tokens.OverShape(ids, one, tokens.Rate()) }, 0.01, 100},
		"values":       {func() (float64, error) { return tokens.OverShape(values, one, tokens.Rate()) }, 0.01, 100},
		"client":       {func() (float64, error) { return tokens.ClientOverLoad(64) }, 0.1, 1000},
		"coalescing":   {func() (float64, error) { return tokens.Coalesced(64) }, 1.1, 65},
		"no coalesced": {func() (float64, error) { return tokens.Coalesced(1) }, 0.5, 1.01},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := f.measure(); err != nil || got < f.least || got > f.most {
				t.Errorf("%v, %v: want %v to %v", got, err, f.least, f.most)
			}
		})
	}
}

var (
	one    = tokens.Shape{Conns: 1, InFlight: 64}
	many   = tokens.Shape{Conns: 16, InFlight: 16}
	ids    = tokens.Shape{Conns: 1, InFlight: 64, IDs: 10_000}
	values = tokens.Shape{Conns: 1, InFlight: 64, Values: 1_000_000}
)
