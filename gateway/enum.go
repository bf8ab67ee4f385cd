package gateway

import "fmt"

// Grade says what a rule's count limits. The zero value is GradeQPS.
type Grade uint8

// The grades.
const (
	GradeQPS         Grade = iota // requests per IntervalSec; 1 in JSON
	GradeConcurrency              // requests in flight; 0 in JSON
)

// Number returns the value in JSON.
func (g Grade) Number() int { return 1 - int(g) }

// String returns the grade's name.
func (g Grade) String() string { return name(int(g), "qps", "concurrency") }

// ResourceMode says what a rule's resource names. The zero value is Route.
type ResourceMode uint8

// The resource modes, in the order of their numbers in JSON.
const (
	Route    ResourceMode = iota // a route by its id
	APIGroup                     // an API definition by its name
)

// Number returns the value in JSON.
func (m ResourceMode) Number() int { return int(m) }

// String returns the mode's name.
func (m ResourceMode) String() string { return name(int(m), "route", "api") }

// ControlBehavior says what happens to requests at the threshold. The zero value is Reject.
type ControlBehavior uint8

// The behaviours.
const (
	Reject     ControlBehavior = iota // refuse what exceeds the count; 0 in JSON
	Throttling                        // space requests evenly; late ones wait up to MaxQueueingTimeoutMs; 2 in JSON
)

// Number returns the value in JSON.
func (b ControlBehavior) Number() int { return 2 * int(b) }

// String returns the behaviour's name.
func (b ControlBehavior) String() string { return name(int(b), "reject", "throttling") }

// ParseStrategy says which part of a request is the parameter. The zero value is ClientIP.
type ParseStrategy uint8

// The parse strategies, in the order of their numbers in JSON. The last three need a FieldName.
const (
	ClientIP ParseStrategy = iota
	Host
	HeaderField
	URLParam
	CookieField
)

// Number returns the value in JSON.
func (s ParseStrategy) Number() int { return int(s) }

// String returns the strategy's name.
func (s ParseStrategy) String() string {
	return name(int(s), "client IP", "host", "header", "URL parameter", "cookie")
}

// Match says how a pattern is compared. The zero value is Exact.
// The parameter of a rule knows all of them, the path of an API definition not Contains.
type Match uint8

// The ways to match, in the order of their numbers in JSON.
const (
	Exact    Match = iota // the same text
	Prefix                // starts with the pattern; a path pattern may use *, ** and ?
	Regex                 // a regular expression for the whole text
	Contains              // the pattern is somewhere in the text
)

// Number returns the value in JSON.
func (m Match) Number() int { return int(m) }

// String returns the name of the way to match.
func (m Match) String() string { return name(int(m), "exact", "prefix", "regex", "contains") }

func name(value int, names ...string) string {
	if value < len(names) {
		return names[value]
	}
	return fmt.Sprintf("unknown(%d)", value)
}
