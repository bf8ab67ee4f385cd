package hotspot

import "fmt"

// Grade says what a rule's count limits. The zero value is GradeQPS.
type Grade uint8

// The grades.
const (
	GradeQPS         Grade = iota // calls per value and DurationInSec; 1 in JSON
	GradeConcurrency              // calls per value in flight; 0 in JSON
)

// Number returns the value in JSON.
func (g Grade) Number() int { return 1 - int(g) }

// String returns the grade's name.
func (g Grade) String() string {
	switch g {
	case GradeQPS:
		return "qps"
	case GradeConcurrency:
		return "concurrency"
	}
	return fmt.Sprintf("unknown(%d)", uint8(g))
}

// ControlBehavior says what happens to calls at the threshold. The zero value is Reject.
// A rule of GradeConcurrency always rejects.
type ControlBehavior uint8

// The behaviours.
const (
	Reject     ControlBehavior = iota // refuse what exceeds the count; 0 in JSON
	Throttling                        // space calls evenly; late ones wait up to MaxQueueingTimeMs; 2 in JSON
)

// Number returns the value in JSON.
func (b ControlBehavior) Number() int { return 2 * int(b) }

// String returns the behaviour's name.
func (b ControlBehavior) String() string {
	switch b {
	case Reject:
		return "reject"
	case Throttling:
		return "throttling"
	}
	return fmt.Sprintf("unknown(%d)", uint8(b))
}
