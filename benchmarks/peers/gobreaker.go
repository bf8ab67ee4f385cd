package peers

import (
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

// gobreakerCases returns the cases of sony/gobreaker: a closed circuit, one with a rolling window, an open one.
func gobreakerCases() []guard.Case {
	return []guard.Case{
		gobreakerCase("gobreaker/execute", gobreaker.Settings{Name: "b"}),
		gobreakerCase("gobreaker/execute-rolling-10x1s",
			gobreaker.Settings{Name: "b", Interval: 10 * time.Second, BucketPeriod: time.Second}),
		{Name: "gobreaker/blocked-open", Refused: true, New: func(int) (guard.Guard, func(), error) {
			b := gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{Timeout: time.Hour})
			for b.State() != gobreaker.StateOpen {
				_, _ = b.Execute(func() (struct{}, error) { return struct{}{}, errRefused })
			}
			return guarded(b), nil, nil
		}},
	}
}

func gobreakerCase(name string, settings gobreaker.Settings) guard.Case {
	return guard.Case{Name: name, New: func(int) (guard.Guard, func(), error) {
		return guarded(gobreaker.NewCircuitBreaker[struct{}](settings)), nil, nil
	}}
}

func guarded(b *gobreaker.CircuitBreaker[struct{}]) guard.Guard {
	return guard.Func(func(_ int, _ uint64, work func() error) error {
		_, err := b.Execute(func() (struct{}, error) { return struct{}{}, work() })
		return err
	})
}
