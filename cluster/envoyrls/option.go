package envoyrls

import (
	"log/slog"
	"time"
)

// Defaults of a Service.
const (
	DefaultMaxCounters    = 200_000
	DefaultMaxDescriptors = 64
	DefaultInterval       = 500 * time.Millisecond
)

// An Option sets up a Service.
type Option func(*settings)

type settings struct {
	clock          func() int64
	log            *slog.Logger
	maxCounters    int
	maxDescriptors int
	countRefused   bool
	interval       time.Duration
}

func defaults() settings {
	return settings{
		log:            slog.New(slog.DiscardHandler),
		maxCounters:    DefaultMaxCounters,
		maxDescriptors: DefaultMaxDescriptors,
		interval:       DefaultInterval,
	}
}

// now returns the time in ns since the Unix epoch.
func (s *settings) now() int64 {
	if s.clock == nil {
		return time.Now().UnixNano()
	}
	return s.clock()
}

// WithClock sets what gives the time, in ns since the Unix epoch. Default, and for nil: the machine's wall clock, which
// windows are aligned to.
func WithClock(now func() int64) Option { return func(s *settings) { s.clock = now } }

// WithLogger sets where reloaded, refused and lost rule files are logged. Default, and for nil: nowhere.
func WithLogger(log *slog.Logger) Option {
	return func(s *settings) {
		if log != nil {
			s.log = log
		}
	}
}

// WithMaxCounters bounds the descriptors that are counted at one time. Default, and for 0 or less: 200,000. Beyond it,
// counters whose window has ended go first, then those that are not used up; if all are used up, further descriptors of
// a rule share one counter. Status shows how often either happened.
func WithMaxCounters(n int) Option {
	return func(s *settings) {
		if n > 0 {
			s.maxCounters = n
		}
	}
}

// WithMaxDescriptors bounds the descriptors of one request. Default, and for 0 or less: 64.
func WithMaxDescriptors(n int) Option {
	return func(s *settings) {
		if n > 0 {
			s.maxDescriptors = n
		}
	}
}

// WithCountRefused counts the hits of refused requests too, for all their descriptors, as envoyproxy/ratelimit does by
// default. It is meant for costs that are known only afterwards, such as tokens or bytes reported when a response has
// ended: without it a report of more than what remains would count for nothing. Default: refused hits do not count.
func WithCountRefused() Option { return func(s *settings) { s.countRefused = true } }

// WithInterval sets the time between two looks at the rule files. Default, and for 0 or less: 500 ms.
func WithInterval(d time.Duration) Option {
	return func(s *settings) {
		if d > 0 {
			s.interval = d
		}
	}
}
