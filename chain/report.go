package chain

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
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
	Reason   string   // refused: why; duplicate: of which rule; disabled: why, if not by the rule itself
	Warnings []string // things that are legal but probably not meant
}

// String returns one line, "KIND[INDEX] RESOURCE: VERDICT", and ": MEMBER: REASON" after it where the rule was refused.
// A blank resource is "-"; what is not to be seen, such as a line break, is escaped as in Go source.
func (r RuleReport) String() string {
	resource := "-"
	if strings.TrimSpace(r.Resource) != "" {
		resource = visible(r.Resource)
	}
	line := fmt.Sprintf("%s[%d] %s: %s", r.Kind, r.Index, resource, r.Verdict)
	if r.Verdict != Refused {
		return line
	}
	if r.Member != "" {
		line += ": " + visible(r.Member)
	}
	if r.Reason != "" {
		line += ": " + visible(r.Reason)
	}
	return line
}

// visible escapes the characters that are not graphic, and what is no UTF-8.
func visible(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return !strconv.IsGraphic(c) }) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		c, size := utf8.DecodeRuneInString(text)
		if c == utf8.RuneError && size == 1 || !strconv.IsGraphic(c) {
			quoted := strconv.QuoteToGraphic(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
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
