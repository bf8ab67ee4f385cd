package measure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{0: nil, 2: {9, 2, 1}, 2.5: {4, 1, 2, 3}} {
		if got := measure.Median(values); got != want {
			t.Errorf("median of %v = %v, want %v", values, got, want)
		}
	}
}

func counting(refuse bool, calls *[2]uint64) guard.Case {
	return guard.Case{Name: "test/counting", N: 10, New: func(int) (guard.Guard, func(), error) {
		return guard.Func(func(w int, i uint64, work func() error) error {
			calls[w] = i
			if refuse {
				return errors.New("refused")
			}
			return work()
		}), nil, nil
	}}
}

func TestRun(t *testing.T) {
	for _, cores := range []int{1, 2} {
		var calls [2]uint64
		slices, err := measure.Run(counting(false, &calls), measure.Options{Cores: cores, Slice: time.Millisecond, Slices: 2, Limit: 20 * time.Millisecond})
		if err != nil || len(slices) == 0 {
			t.Fatalf("on %d cores: %d slices, %v", cores, len(slices), err)
		}
		for _, s := range slices {
			if s.CPU <= 0 || s.Wall <= 0 || s.Unit <= 0 || (s.Alone > 0) != (cores > 1) {
				t.Errorf("on %d cores: slice %+v", cores, s)
			}
		}
		if calls[0]+calls[1] < 1000 {
			t.Errorf("on %d cores: %d calls", cores, calls[0]+calls[1])
		}
	}
}

func TestRunSeesWrongDecisions(t *testing.T) {
	var calls [2]uint64
	if _, err := measure.Run(counting(true, &calls), measure.Options{Cores: 1, Slice: time.Millisecond, Slices: 1}); err == nil {
		t.Error("a case whose calls were all refused was measured as passing")
	}
}
