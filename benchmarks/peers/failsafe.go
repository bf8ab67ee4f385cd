package peers

import (
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/ratelimiter"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
)

// failsafeCases returns the cases of failsafe-go's executor: a rate limiter like a reject rule and one like a throttling
// rule, a breaker with a failure rate, a bulkhead, and limiter, breaker and bulkhead together.
func failsafeCases() []guard.Case {
	const unlimited = 1_000_000_000
	bursty := func() failsafe.Policy[any] { return ratelimiter.NewBursty[any](unlimited, time.Second) }
	smooth := func() failsafe.Policy[any] { return ratelimiter.NewSmooth[any](unlimited, time.Second) }
	room := func() failsafe.Policy[any] { return bulkhead.New[any](1000) }
	breaker := func() failsafe.Policy[any] {
		return circuitbreaker.NewBuilder[any]().WithFailureRateThreshold(0.5, 20, 10*time.Second).WithDelay(time.Hour).Build()
	}
	return []guard.Case{
		failsafeCase("failsafe/run-ratelimiter-bursty", bursty),
		failsafeCase("failsafe/run-ratelimiter-smooth", smooth),
		failsafeCase("failsafe/run-breaker-rate-10s", breaker),
		failsafeCase("failsafe/run-bulkhead", room),
		failsafeCase("failsafe/run-ratelimiter+breaker+bulkhead", bursty, breaker, room),
	}
}

func failsafeCase(name string, policies ...func() failsafe.Policy[any]) guard.Case {
	return guard.Case{Name: name, New: func(int) (guard.Guard, func(), error) {
		var made []failsafe.Policy[any]
		for _, p := range policies {
			made = append(made, p())
		}
		executor := failsafe.With(made...)
		return guard.Func(func(_ int, _ uint64, work func() error) error { return executor.Run(work) }), nil, nil
	}}
}
