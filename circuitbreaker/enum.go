package circuitbreaker

import "fmt"

// Grade says what trips a breaker. The zero value is SlowRatio.
type Grade uint8

// The grades, in the order of their numbers in JSON.
const (
	SlowRatio  Grade = iota // share of calls slower than Count milliseconds, against SlowRatioThreshold
	ErrorRatio              // share of calls with an error, against Count
	ErrorCount              // number of calls with an error, against Count
)

// Number returns the value in JSON.
func (g Grade) Number() int { return int(g) }

// String returns the grade's name.
func (g Grade) String() string {
	switch g {
	case SlowRatio:
		return "slow ratio"
	case ErrorRatio:
		return "error ratio"
	case ErrorCount:
		return "error count"
	}
	return fmt.Sprintf("unknown(%d)", uint8(g))
}
