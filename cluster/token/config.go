package token

import (
	"encoding/json"
	"fmt"
	"math"
)

// Config is what Sentinel calls ServerFlowConfig. Its JSON has Sentinel's names; a member left out has the default,
// not the value it had before. The zero value is not valid: use DefaultConfig.
type Config struct {
	ExceedCount    float64 `json:"exceedCount"`    // factor on the thresholds of flow rules; default 1
	MaxOccupyRatio float64 `json:"maxOccupyRatio"` // part of a threshold that prioritized calls may borrow; default 1
	IntervalMs     int     `json:"intervalMs"`     // window of rules that do not say; default 1000
	SampleCount    int     `json:"sampleCount"`    // buckets of that window, must divide it; default 10
	MaxAllowedQPS  float64 `json:"maxAllowedQps"`  // requests per second and namespace; 0 refuses all; default 30000
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{ExceedCount: 1, MaxOccupyRatio: 1, IntervalMs: 1000, SampleCount: 10, MaxAllowedQPS: 30000}
}

// UnmarshalJSON reads an object; members that are absent get their defaults, members it does not know are ignored.
func (c *Config) UnmarshalJSON(data []byte) error {
	type plain Config // without this method
	read := plain(DefaultConfig())
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*c = Config(read)
	return nil
}

// Validate returns nil or what is wrong, beginning with the JSON name of the member.
func (c Config) Validate() error {
	for _, part := range []struct {
		name  string
		value float64
	}{{"exceedCount", c.ExceedCount}, {"maxOccupyRatio", c.MaxOccupyRatio}, {"maxAllowedQps", c.MaxAllowedQPS}} {
		if math.IsNaN(part.value) || part.value < 0 {
			return fmt.Errorf("%s: must not be negative: %v", part.name, part.value)
		}
	}
	switch {
	case c.IntervalMs <= 0 || c.IntervalMs > mostIntervalMs:
		return fmt.Errorf("intervalMs: must be above 0 and at most %d, not %d", mostIntervalMs, c.IntervalMs)
	case c.SampleCount <= 0:
		return fmt.Errorf("sampleCount: must be above 0, not %d", c.SampleCount)
	case c.IntervalMs%c.SampleCount != 0:
		return fmt.Errorf("sampleCount: %d does not divide intervalMs %d", c.SampleCount, c.IntervalMs)
	}
	return nil
}
