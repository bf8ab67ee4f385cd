package benchmarks_test

import (
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/figure"
)

// The limits on memory are exact: the heap after collection does not depend on how busy the machine is.
func TestHeapAlloc(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's heap is another one")
	}
	const mebibyte = 1 << 20
	for _, c := range []struct {
		name    string
		measure func() (float64, error)
		limit   float64 // bytes
	}{
		{"resource touched three times", func() (float64, error) { return figure.Touched(10_000) }, 2048},
		{"idle resource", func() (float64, error) { return figure.Idle(10_000) }, 1024},
		{"resource busy for a minute", func() (float64, error) { return figure.Busy(2_000, 2) }, 8192},
		{"hot value", func() (float64, error) { return figure.HotValue(20_000) }, 256},
		{"growth by new names", func() (float64, error) { return figure.NewNamesGrowth(10_000, 300_000) }, mebibyte},
		{"growth in an hour of new names", func() (float64, error) { return figure.Days(time.Hour, 5_000) }, mebibyte},
		{"growth by replaced rules", func() (float64, error) { return figure.ReplacedRules(2_000) }, mebibyte},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.measure()
			if err != nil {
				t.Fatal(err)
			}
			if got > c.limit {
				t.Errorf("%.0f bytes, want at most %.0f", got, c.limit)
			}
		})
	}
}
