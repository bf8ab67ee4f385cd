package tidegate

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/stat"
)

// Option sets one thing of a new engine.
type Option func(*config) error

type config struct {
	appName, instance string
	logger            *slog.Logger
	clock             chain.Clock
	interval          time.Duration
	buckets           int
	shape             *stat.Shape
	occupyTimeout     time.Duration
	maxRT             time.Duration
	coldFactor        int
	maxResources      int
	maxOrigins        int
	maxContexts       int
	idleTimeout       time.Duration
	classify          func(error) Outcome
	checks            []registered
	callbacks         []Callbacks
	readings          func() SystemReadings
	behaviors         map[flow.ControlBehavior]flow.Factory
	inits             []initFunction
	parsers           map[string]DocumentParser
	tokens            chain.TokenService
}

func newConfig(options []Option) (config, error) {
	c := config{
		appName: filepath.Base(os.Args[0]), logger: slog.New(slog.DiscardHandler),
		interval: time.Second, buckets: 2, occupyTimeout: 500 * time.Millisecond, maxRT: 5 * time.Second,
		coldFactor: 3, maxResources: 10_000, maxOrigins: 1_000, maxContexts: 2_000, idleTimeout: 10 * time.Minute,
		classify: Classify,
	}
	if host, err := os.Hostname(); err == nil {
		c.instance = host
	}
	for _, option := range options {
		if option == nil {
			continue
		}
		if err := option(&c); err != nil {
			return c, fmt.Errorf("making an engine: %w", err)
		}
	}
	shape, err := stat.NewShape(c.interval, c.buckets)
	if err != nil {
		return c, fmt.Errorf("making an engine: %w", err)
	}
	c.shape = shape
	if c.occupyTimeout > c.interval {
		return c, fmt.Errorf("making an engine: occupy timeout %v is longer than the window of %v", c.occupyTimeout, c.interval)
	}
	return c, nil
}

// WithAppName names the application; the default is the program's name. Token servers take it as namespace.
func WithAppName(name string) Option {
	return func(c *config) error {
		if name == "" {
			return fmt.Errorf("the application's name must not be empty")
		}
		c.appName = name
		return nil
	}
}

// WithInstance names this instance of the application; the default is the host's name.
func WithInstance(name string) Option {
	return func(c *config) error { c.instance = name; return nil }
}

// WithLogger sets where the engine logs; the default, and nil, discards.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) error {
		if logger != nil {
			c.logger = logger
		}
		return nil
	}
}

// WithClock sets the engine's clock; nil is the machine's.
func WithClock(clock Clock) Option {
	return func(c *config) error { c.clock = clock; return nil }
}

// WithWindow sets the second-level window and into how many buckets it is divided; the default is 1 s and 2.
func WithWindow(interval time.Duration, buckets int) Option {
	return func(c *config) error { c.interval, c.buckets = interval, buckets; return nil }
}

// WithOccupyTimeout sets how long a prioritized call may wait for room in a window; it must wait less.
// The default is 500 ms; it must not be longer than the window.
func WithOccupyTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return fmt.Errorf("occupy timeout %v is negative", d)
		}
		c.occupyTimeout = d
		return nil
	}
}

// WithColdFactor sets by how much a cold warm-up rule divides its count; the default is 3, the least 2.
func WithColdFactor(factor int) Option {
	return func(c *config) error {
		if factor < 2 {
			return fmt.Errorf("cold factor %d is below 2", factor)
		}
		c.coldFactor = factor
		return nil
	}
}

// WithMaxRT sets the least response time that is shown while nothing completed; the default is 5 s.
func WithMaxRT(d time.Duration) Option {
	return positive("maximum response time", d, func(c *config) { c.maxRT = d })
}

// WithMaxResources caps the resources that no rule names; the default is 10,000. Names beyond it share one.
func WithMaxResources(n int) Option {
	return positive("cap on resources", n, func(c *config) { c.maxResources = n })
}

// WithMaxOrigins caps the origins of each resource; the default is 1,000. Origins beyond it share one.
func WithMaxOrigins(n int) Option {
	return positive("cap on origins", n, func(c *config) { c.maxOrigins = n })
}

// WithMaxContexts caps the names of contexts; the default is 2,000. Names beyond it share one.
func WithMaxContexts(n int) Option {
	return positive("cap on contexts", n, func(c *config) { c.maxContexts = n })
}

// WithIdleTimeout sets after how long without calls a resource, origin or context that no rule names is forgotten;
// the default is 10 minutes, the least one minute.
func WithIdleTimeout(d time.Duration) Option {
	return func(c *config) error {
		if d < time.Minute {
			return fmt.Errorf("idle timeout %v is below one minute", d)
		}
		c.idleTimeout = d
		return nil
	}
}

// WithClassifier sets how the errors of calls are judged; the default is Classify. It is not asked about nil.
func WithClassifier(classify func(error) Outcome) Option {
	return func(c *config) error {
		if classify != nil {
			c.classify = classify
		}
		return nil
	}
}

// WithCheck registers a check of the user's for every resource.
func WithCheck(check CustomCheck) Option {
	return func(c *config) error {
		if check == nil {
			return fmt.Errorf("a custom check must not be nil")
		}
		own, err := register(check)
		c.checks = append(c.checks, own)
		return err
	}
}

// WithCallbacks registers functions that are told what happens to calls. They run inside the call, in the order
// of registration, and must be quick; a panic in one is counted and ends there.
func WithCallbacks(callbacks Callbacks) Option {
	return func(c *config) error { c.callbacks = append(c.callbacks, callbacks); return nil }
}

func positive[N int | time.Duration](what string, n N, set func(*config)) Option {
	return func(c *config) error {
		if n <= 0 {
			return fmt.Errorf("%s %v is not positive", what, n)
		}
		set(c)
		return nil
	}
}
