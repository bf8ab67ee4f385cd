package token

import (
	"log/slog"
	"time"
)

// An Option changes a setting of a new service.
type Option func(*Service)

// WithClock sets the clock: nanoseconds since the epoch. The default, and nil, is the wall clock at the start and a
// monotonic one from there. A clock that steps back makes the service's time stand still until it has caught up.
func WithClock(now func() int64) Option {
	return func(s *Service) {
		if now != nil {
			s.clock = now
		}
	}
}

// WithCompatible makes the service decide exactly as Sentinel's token server: thresholds are compared with averages
// per second, prioritized calls wait a constant time, parameter values match by type and value, and each bucket of a
// parameter rule keeps 4000 values. The one difference is that no number of callers at once gets more than one after
// another would.
func WithCompatible() Option { return func(s *Service) { s.compatible = true } }

// WithOccupyTimeout bounds how long a prioritized call may be told to wait; it never waits longer than the window
// either. The default is 500 ms; 0 or less: no waiting. It has no effect with WithCompatible.
func WithOccupyTimeout(d time.Duration) Option {
	return func(s *Service) { s.occupy = int64(max(0, d)) }
}

// WithMaxValues sets how many values of a parameter rule are counted at once, where the rule does not say
// (paramsMaxCapacity). The default, and anything below 1, is 20,000 for each second of the window, at most 200,000.
// When it is reached a new value replaces one without calls in its window, or one that has come seldom. It has no effect with WithCompatible.
func WithMaxValues(n int) Option { return func(s *Service) { s.maxValues = int64(max(0, n)) } }

// WithMaxTokens sets how many concurrency tokens may be out at once, over all rules. The default, and anything below
// 1, is 1,000,000. Who asks for more is told TokenTooManyRequest.
func WithMaxTokens(n int) Option {
	return func(s *Service) {
		if n > 0 {
			s.maxTokens = int64(n)
		}
	}
}

// WithLogger sets where the service logs; the default, and nil, discards.
func WithLogger(logger *slog.Logger) Option {
	return func(s *Service) {
		if logger != nil {
			s.logger = logger
		}
	}
}
