package outlier

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// The defaults of a Config.
const (
	DefaultMaxEjectionPercent  = 0.5
	DefaultRecoveryInterval    = time.Second
	DefaultMaxRecoveryAttempts = 10
	DefaultRecycleAfter        = 10 * time.Minute
	DefaultCheckTimeout        = 5 * time.Second
	DefaultMaxChecks           = 4
)

// Config says how a group works. A zero field, other than Rule, means its default.
type Config struct {
	// Rule is the breaker rule that each address gets; it must be valid. Its resource names the group
	// in events and states. With mode observe the breakers work and are shown, but nothing is ejected;
	// disabled or with mode off they do not even count.
	Rule circuitbreaker.Rule

	// MaxEjectionPercent is the share of the addresses, above 0 and at most 1, of which no more than
	// floor(number x share) are ejected at a time: of one address alone none, unless it is 1.
	MaxEjectionPercent float64

	// ActiveRecovery has failing addresses checked in the background.
	ActiveRecovery bool
	// RecoveryInterval is the time before the first check. After n failed ones the next comes after
	// RecoveryInterval x min(n + 1, MaxRecoveryAttempts), without end. An address that fails again soon
	// after its return (within RecoveryInterval x MaxRecoveryAttempts) goes on where it was.
	RecoveryInterval    time.Duration
	MaxRecoveryAttempts int
	// Check says whether an address has recovered: nil if so. It should end when ctx does, which is after
	// CheckTimeout or when the group is closed. A panic counts as failure. Default: DialTCP.
	Check        func(ctx context.Context, address string) error
	CheckTimeout time.Duration
	MaxChecks    int // checks at a time

	// RecycleAfter is how long the state of a failing address is kept while nothing happens to it, no
	// call and no check: then it is forgotten, and the address, if it still is of the group, starts
	// afresh. An address that leaves the group while failing and returns within this time is still failing.
	RecycleAfter time.Duration

	// Notify, unless nil, is called with each change of state of an address's breaker: in order for one
	// address, without locks, by the goroutine that caused it. Events with CauseRecovered and
	// CauseForgotten end the life of a breaker.
	Notify func(address string, e circuitbreaker.Event)

	// Clock is the time of the breakers and of RecycleAfter; only Now is used. Checks are background work
	// and run on real time. nil: real time for all.
	Clock chain.Clock
}

// The causes of events that a group adds to those of package circuitbreaker.
const (
	CauseRecovered = "recovery check succeeded"
	CauseForgotten = "address forgotten"
)

// DialTCP is the default check: it connects to address, which must be host:port, and closes the connection.
func DialTCP(ctx context.Context, address string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// withDefaults validates the configuration and fills in what is not set.
func (c Config) withDefaults() (Config, error) {
	if err := c.validate(); err != nil {
		return Config{}, fmt.Errorf("outlier group %q: %w", c.Rule.Resource, err)
	}
	c.Rule = c.Rule.Clone()
	setDefault(&c.MaxEjectionPercent, DefaultMaxEjectionPercent)
	setDefault(&c.RecoveryInterval, DefaultRecoveryInterval)
	setDefault(&c.MaxRecoveryAttempts, DefaultMaxRecoveryAttempts)
	setDefault(&c.RecycleAfter, DefaultRecycleAfter)
	setDefault(&c.CheckTimeout, DefaultCheckTimeout)
	setDefault(&c.MaxChecks, DefaultMaxChecks)
	if c.Check == nil {
		c.Check = DialTCP
	}
	return c, nil
}

func (c Config) validate() error {
	if err := c.Rule.Validate(); err != nil {
		return fmt.Errorf("rule: %w", err)
	}
	switch {
	case c.Rule.Regex:
		return errors.New("rule: regex: must be false, the rule is for this group alone")
	case math.IsNaN(c.MaxEjectionPercent) || c.MaxEjectionPercent < 0 || c.MaxEjectionPercent > 1:
		return fmt.Errorf("MaxEjectionPercent: must be from 0 to 1, not %v", c.MaxEjectionPercent)
	case c.RecoveryInterval < 0 || c.RecycleAfter < 0 || c.CheckTimeout < 0:
		return errors.New("RecoveryInterval, RecycleAfter and CheckTimeout: must not be negative")
	case c.MaxRecoveryAttempts < 0 || c.MaxChecks < 0:
		return errors.New("MaxRecoveryAttempts and MaxChecks: must not be negative")
	}
	return nil
}

func setDefault[T float64 | int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// counts reports whether breakers are to be used at all.
func (c *Config) counts() bool {
	return c.Rule.TimeWindow > 0 && !c.Rule.Disabled && c.Rule.Mode != chain.ModeOff
}

// maxEjected returns how many of n addresses may be ejected.
func (c *Config) maxEjected(n int) int {
	if c.Rule.Mode != chain.ModeEnforce {
		return 0
	}
	const rounding = 1e-9 // 0.29 x 100 is a little less than 29 in floating point
	return int(math.Floor(float64(n)*c.MaxEjectionPercent + rounding))
}

// backoff returns the time before the check that follows n failed ones.
func (c *Config) backoff(failed int) time.Duration {
	return times(c.RecoveryInterval, min(failed+1, c.MaxRecoveryAttempts))
}

// forgiveness is how long after its return an address that fails again is taken for one that never was well.
func (c *Config) forgiveness() time.Duration { return times(c.RecoveryInterval, c.MaxRecoveryAttempts) }

// times returns d x n, at most the longest duration.
func times(d time.Duration, n int) time.Duration {
	if n > 0 && d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}
