package flow

import (
	"fmt"

	"github.com/tidegate-go/tidegate/chain"
)

// Behavior is a control behaviour of the user's: the state of one rule. It is called by many goroutines at once.
type Behavior interface {
	// Admit says whether the call may pass. It must not block; a call that has to wait says so with Context.Wait,
	// and what it reserves it reports with Context.Hold. A panic is counted and lets the call pass.
	Admit(c *chain.Context) bool
}

// Factory makes the behaviour of a rule. An error, or a panic, refuses that rule alone.
type Factory func(rule Rule) (Behavior, error)

// validate is Rule.Validate, but that values of controlBehavior with a factory are valid.
func (s *Slot) validate(r Rule) error {
	if s.settings.Behaviors[r.ControlBehavior] != nil {
		r.ControlBehavior = Reject
	}
	return r.Validate()
}

func (k *check) admitCustom(c *chain.Context) (admitted bool) {
	defer func() {
		if p := recover(); p != nil {
			admitted = true
			k.slot.settings.Failed("control behaviour", fmt.Errorf("panic: %v", p))
		}
	}()
	return k.shaper.custom.Admit(c)
}
