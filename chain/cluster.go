package chain

import "fmt"

// ThresholdType says what the count of a cluster rule counts.
type ThresholdType uint8

// The threshold types, with their numbers in JSON.
const (
	ThresholdPerClient ThresholdType = iota // 0: count times the number of connected clients
	ThresholdGlobal                         // 1: count for all clients together
)

// Number returns the value in JSON.
func (t ThresholdType) Number() int { return int(t) }

// FallbackPolicy says what a cluster rule does while no token server decides.
// The zero value leaves it to FallbackToLocalWhenFail.
type FallbackPolicy uint8

// The fallback policies, in JSON "share", "local", "pass" and "block".
const (
	FallbackUnset FallbackPolicy = iota
	FallbackShare                // this process's share of the threshold
	FallbackLocal                // the whole count, or FallbackCount, in this process
	FallbackPass                 // let every call pass
	FallbackBlock                // refuse every call
)

var fallbackNames = [...]string{"", "share", "local", "pass", "block"}

// String returns the policy as documents spell it, "" for FallbackUnset.
func (p FallbackPolicy) String() string {
	if int(p) < len(fallbackNames) {
		return fallbackNames[p]
	}
	return fmt.Sprintf("fallbackPolicy(%d)", uint8(p))
}

// ParseFallbackPolicy returns the policy of that name.
func ParseFallbackPolicy(name string) (FallbackPolicy, error) {
	for i, n := range fallbackNames[1:] {
		if n == name {
			return FallbackPolicy(i + 1), nil
		}
	}
	return 0, fmt.Errorf("%q is not one of share, local, pass, block", name)
}

// ClusterConfig is the cluster part of a flow or parameter rule. A zero member stands for its default.
// Parameter rules use FlowID, ThresholdType, SampleCount, WindowIntervalMs and the fallback.
type ClusterConfig struct {
	FlowID                  int64 // unique over all rules of a kind on the token server; must be above 0
	ThresholdType           ThresholdType
	FallbackToLocalWhenFail *bool // see Fallback
	Strategy                int   // must be 0
	SampleCount             int   // buckets of the server's window; 0 means 10
	WindowIntervalMs        int   // the server's window; 0 means 1000; SampleCount must divide it
	ResourceTimeout         int64 // ms a concurrency token may be held; 0 means 2000
	ResourceTimeoutStrategy int   // kept, not acted on
	AcquireRefuseStrategy   int   // kept, not acted on
	ClientOfflineTime       int64 // ms after which a silent client's tokens are taken back; 0 means 2000
	FallbackPolicy          FallbackPolicy
	FallbackCount           *float64 // threshold in this process under FallbackLocal; nil: the rule's count
}

// Samples returns the effective number of buckets of the server's window.
func (c *ClusterConfig) Samples() int {
	if c == nil || c.SampleCount == 0 {
		return 10
	}
	return c.SampleCount
}

// Window returns the effective length of the server's window in milliseconds.
func (c *ClusterConfig) Window() int {
	if c == nil || c.WindowIntervalMs == 0 {
		return 1000
	}
	return c.WindowIntervalMs
}

// TokenTimeout returns how many milliseconds a concurrency token may be held.
func (c *ClusterConfig) TokenTimeout() int64 {
	if c == nil || c.ResourceTimeout == 0 {
		return 2000
	}
	return c.ResourceTimeout
}

// OfflineTimeout returns after how many milliseconds the tokens of a silent client are taken back.
func (c *ClusterConfig) OfflineTimeout() int64 {
	if c == nil || c.ClientOfflineTime == 0 {
		return 2000
	}
	return c.ClientOfflineTime
}

// Fallback returns the policy in effect: FallbackPolicy where it is set; else an explicit
// FallbackToLocalWhenFail false means pass, true or none means share.
func (c *ClusterConfig) Fallback() FallbackPolicy {
	switch {
	case c == nil:
		return FallbackShare
	case c.FallbackPolicy != FallbackUnset:
		return c.FallbackPolicy
	case c.FallbackToLocalWhenFail != nil && !*c.FallbackToLocalWhenFail:
		return FallbackPass
	}
	return FallbackShare
}
