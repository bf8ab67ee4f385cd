package chain

import (
	"errors"
	"fmt"
)

// Verdict is what became of one rule when its list was loaded.
type Verdict uint8

// The verdicts on a rule.
const (
	Loaded    Verdict = iota // in force
	Observed                 // evaluated and counted, never refusing
	Duplicate                // equal to an earlier rule (or, for authority, a second rule of the resource)
	Disabled                 // enabled:false, mode off, or its kind is switched off
	Refused                  // invalid: Member and Reason say why
)

var verdictNames = [...]string{"loaded", "observed", "duplicate", "disabled", "refused"}

// String returns the verdict in lower case.
func (v Verdict) String() string {
	if int(v) < len(verdictNames) {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// A RuleReport tells what became of one rule.
type RuleReport struct {
	Kind     Kind
	Source   string // name of the source that supplied the rule; "": loaded by code
	Index    int    // position in the loaded list, from 0
	Resource string // "" where the rule has none
	Verdict  Verdict
	Member   string   // refused: the member at fault, "" if the rule as a whole is
	Reason   string   // refused: why
	Warnings []string // things that are legal but probably not meant
}

// String returns "KIND[INDEX] RESOURCE: VERDICT", with member and reason where the rule was refused.
func (r RuleReport) String() string {
	resource := r.Resource
	if resource == "" {
		resource = "-"
	}
	line := fmt.Sprintf("%s[%d] %s: %s", r.Kind, r.Index, resource, r.Verdict)
	if r.Member != "" {
		line += ": " + r.Member
	}
	if r.Reason != "" {
		line += ": " + r.Reason
	}
	return line
}

// A Report tells what became of every rule of one load, in list order.
type Report struct {
	Rules []RuleReport
}

// Err returns nil if no rule was refused, else one error that names every refused rule by index and reason.
func (r Report) Err() error {
	var errs []error
	for _, rule := range r.Rules {
		if rule.Verdict == Refused {
			errs = append(errs, errors.New(rule.String()))
		}
	}
	return errors.Join(errs...)
}

// Count returns how many rules got the verdict.
func (r Report) Count(v Verdict) int {
	n := 0
	for _, rule := range r.Rules {
		if rule.Verdict == v {
			n++
		}
	}
	return n
}
