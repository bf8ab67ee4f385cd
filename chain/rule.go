package chain

import (
	"encoding/json"
	"fmt"
)

// Mode says what a rule does with a call that it would refuse.
// The zero value is ModeEnforce.
type Mode uint8

// The modes of a rule.
const (
	ModeEnforce Mode = iota // refuse it
	ModeObserve             // count it and let it pass
	ModeOff                 // do not look: the rule is parsed, validated and listed, no more
)

var modeNames = [...]string{"enforce", "observe", "off"}

// String returns the mode as documents spell it.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// ParseMode returns the mode of that name.
func ParseMode(name string) (Mode, error) {
	for i, n := range modeNames {
		if n == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("%q is not one of enforce, observe, off", name)
}

// MarshalJSON writes the mode's name.
func (m Mode) MarshalJSON() ([]byte, error) { return json.Marshal(m.String()) }

// UnmarshalJSON reads a mode's name.
func (m *Mode) UnmarshalJSON(text []byte) error {
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		return fmt.Errorf("must be a string: enforce, observe or off")
	}
	parsed, err := ParseMode(name)
	if err == nil {
		*m = parsed
	}
	return err
}

// Head holds what the rules of every kind have in common.
type Head struct {
	ID       int64  // identifier for people and logs; 0: none; no part of equality
	Resource string // resource name, or a pattern matched against the whole name if Regex
	Regex    bool
	Disabled bool // parsed, validated and listed, but not in force
	Mode     Mode
}

// A MemberError says which member of a rule is wrong and why. Members are spelt as in JSON.
type MemberError struct {
	Member string
	Reason string
}

// Error returns "member: reason".
func (e *MemberError) Error() string { return e.Member + ": " + e.Reason }

// Refuse returns a *MemberError; the reason is formatted as by fmt.Sprintf.
func Refuse(member, reason string, args ...any) error {
	return &MemberError{Member: member, Reason: fmt.Sprintf(reason, args...)}
}
