package flow

import "fmt"

// Grade says what a rule's count limits. The zero value is GradeQPS.
type Grade uint8

// The grades.
const (
	GradeQPS         Grade = iota // calls per second, or per StatIntervalInMs; 1 in JSON
	GradeConcurrency              // calls in flight; 0 in JSON
)

// Number returns the value in JSON.
func (g Grade) Number() int { return 1 - int(g) }

// String returns the grade's name.
func (g Grade) String() string { return name(int(g), "qps", "concurrency") }

// Strategy says whose calls a rule counts. The zero value is StrategyDirect.
type Strategy uint8

// The strategies, in the order of their numbers in JSON.
const (
	StrategyDirect Strategy = iota // the resource's own
	StrategyRelate                 // those of the resource RefResource
	StrategyChain                  // the resource's own that came in through the entrance RefResource
)

// Number returns the value in JSON.
func (s Strategy) Number() int { return int(s) }

// String returns the strategy's name.
func (s Strategy) String() string { return name(int(s), "direct", "relate", "chain") }

// ControlBehavior says what happens to calls at the threshold. The zero value is Reject.
// A rule of GradeConcurrency always rejects.
type ControlBehavior uint8

// The behaviours, in the order of their numbers in JSON.
const (
	Reject           ControlBehavior = iota // refuse what exceeds the count
	WarmUp                                  // as Reject, with a threshold that rises over WarmUpPeriodSec
	Throttling                              // space calls evenly; late ones wait up to MaxQueueingTimeMs
	WarmUpThrottling                        // as Throttling, with a rate that rises
)

// Number returns the value in JSON.
func (b ControlBehavior) Number() int { return int(b) }

// String returns the behaviour's name.
func (b ControlBehavior) String() string {
	return name(int(b), "reject", "warm-up", "throttling", "warm-up throttling")
}

func name(value int, names ...string) string {
	if value < len(names) {
		return names[value]
	}
	return fmt.Sprintf("unknown(%d)", value)
}
