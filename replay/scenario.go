package replay

import (
	"encoding/json"
	"fmt"

	"github.com/tidegate-go/tidegate"
)

// Scenario is a recorded sequence of calls. Make one with Parse or Load; it may be verified any number of times, at once
// too.
type Scenario struct {
	Name          string
	Kind          string
	Reference     string
	Description   string
	Quirks        []string
	ReliesOn      []string
	Optional      string
	ClockGoesBack bool
	StartMs       int64
	AdvanceOnWait bool // whether a wait moves the clock

	config config
	rules  map[string][]json.RawMessage // by kind
	steps  []step
}

// Steps returns the number of steps.
func (s *Scenario) Steps() int { return len(s.steps) }

// config holds the settings of a scenario. bypassValidation is not kept: it stands for throttling without a queue, which
// is a valid setting here.
type config struct {
	sampleCount     int64
	intervalMs      int64
	occupyTimeoutMs int64
	coldFactor      int64
	statisticMaxRt  int64
}

// step is one step. Its op says which members are in use.
type step struct {
	op     string
	at     int64 // ns since the Unix epoch
	call   call
	id     string
	burst  int
	every  int64 // ns
	count  *int
	err    string
	blocks bool // the error stands for a refusal by a rule

	node  string
	rule  int
	kind  string
	rules []json.RawMessage
	on    bool
	load  float64
	cpu   float64

	recorded outcome
}

// String says what the step does, for messages.
func (st *step) String() string {
	switch {
	case st.id != "" && st.call.resource != "":
		return fmt.Sprintf("%s %s of %s", st.op, st.id, st.call.resource)
	case st.id != "":
		return st.op + " " + st.id
	case st.node != "":
		return fmt.Sprintf("%s %s %s", st.op, st.node, st.call.resource)
	case st.call.resource != "":
		return st.op + " " + st.call.resource
	}
	return st.op + " " + st.kind
}

// call is what a step asks of the engine.
type call struct {
	resource string
	context  string
	origin   string
	parent   string
	auto     bool
	options  tidegate.Call
}

// outcome is what becomes of a step: plain JSON values (string, float64, bool, []any, map[string]any) by name.
// Waits are in milliseconds, with up to six decimals.
type outcome map[string]any
