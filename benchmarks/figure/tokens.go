package figure

import "github.com/tidegate-go/tidegate/benchmarks/tokens"

// tokenFigures returns the ratios of the token server and the token client. They start processes: see package tokens.
func tokenFigures() []Figure {
	var (
		one  = tokens.Shape{Conns: 1, InFlight: 64}
		many = tokens.Shape{Conns: 16, InFlight: 16}
		ids  = tokens.Shape{Conns: 1, InFlight: 64, IDs: 10_000}

		value  = tokens.Shape{Conns: 1, InFlight: 64, Values: 1}
		values = tokens.Shape{Conns: 1, InFlight: 64, Values: 1_000_000}
	)
	var all []Figure
	add := func(name string, measure func() (float64, error)) {
		all = append(all, Figure{Name: "tokens/" + name, Unit: "x", Measure: measure})
	}
	floor := func(name string, shape tokens.Shape) {
		add(name+"-rate", func() (float64, error) { return tokens.OverFloor(shape, tokens.Rate()) })
		add(name+"-cpu", func() (float64, error) { return tokens.OverFloor(shape, tokens.ServerCPU()) })
		add(name+"-p99", func() (float64, error) { return tokens.OverFloor(shape, tokens.P99()) })
	}
	floor("1x64", one)
	floor("16x16", many)
	add("10k-ids-rate", func() (float64, error) { return tokens.OverShape(ids, one, tokens.Rate()) })
	add("1m-values-rate", func() (float64, error) { return tokens.OverShape(values, value, tokens.Rate()) })
	add("client-cpu", func() (float64, error) { return tokens.ClientOverLoad(64) })
	add("coalescing", func() (float64, error) { return tokens.Coalesced(64) })
	return all
}
