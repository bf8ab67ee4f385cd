package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/figure"
	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/measure"
	"github.com/tidegate-go/tidegate/benchmarks/peers"
	"github.com/tidegate-go/tidegate/benchmarks/rows"
)

// sample is what one process measured: slices of a case, or a figure.
type sample struct {
	Slices []measure.Slice `json:"slices,omitempty"`
	Value  float64         `json:"value"`
}

// profiled runs f and writes its CPU profile to the file, unless that is "".
func profiled(path string, f func() error) error {
	if path == "" {
		return f()
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return fmt.Errorf("profiling: %w", err)
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}

// cases are all rows that are costs of a call, in the order of the tables.
func cases() []guard.Case { return slices.Concat(rows.Cases(), peers.Cases()) }

// measureOne measures one row in this process.
func measureOne(out io.Writer, name string, cores int, short bool) error {
	if f, ok := figure.Find(name); ok {
		value, err := f.Measure()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return json.NewEncoder(out).Encode(sample{Value: value})
	}
	c, ok := guard.Find(cases(), name)
	if !ok {
		return fmt.Errorf("there is no row %q", name)
	}
	o := measure.Options{Cores: cores, Slice: 8 * time.Millisecond, Slices: 9, Limit: 400 * time.Millisecond}
	if short {
		o.Slices, o.Limit = 5, 250*time.Millisecond
	}
	if cores > 1 {
		o.Limit *= 4 // clean slices are rarer
	}
	taken, err := measure.Run(c, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(sample{Slices: taken})
}
