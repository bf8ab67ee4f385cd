package replay

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed divergences.json
var ownDivergences []byte

// Divergence is one scenario in which this project decides otherwise than recorded, and what it decides.
type Divergence struct {
	Scenario string
	Rows     []string // what explains it: numbers of the quirks, tags of the traces, or plain labels; docs/compatibility.md has them in words
	Reason   string
	steps    map[int]outcome // by step, the fields that differ; nil: the field is absent
	ops      map[int]string
}

// Divergences is a list of scenarios that differ from their recording on purpose.
type Divergences struct {
	scenarios map[string]*Divergence
	order     []string
}

// Own returns the project's own list.
func Own() (*Divergences, error) { return ParseDivergences(ownDivergences) }

// Scenarios returns the list in its order.
func (d *Divergences) Scenarios() []Divergence {
	if d == nil {
		return nil
	}
	list := make([]Divergence, len(d.order))
	for i, name := range d.order {
		list[i] = *d.scenarios[name]
	}
	return list
}

// of returns the entry of a scenario, nil if it has none.
func (d *Divergences) of(scenario string) *Divergence {
	if d == nil {
		return nil
	}
	return d.scenarios[scenario]
}

// The form of the list as JSON.
type (
	divergenceJSON struct {
		Scenario string     `json:"scenario"`
		Rows     []string   // what explains it: numbers of the quirks, tags of the traces, or plain labels; docs/compatibility.md has them in words
		Reason   string     `json:"reason"`
		Steps    []stepJSON `json:"steps"`
	}
	stepJSON struct {
		Step int            `json:"step"`
		Op   string         `json:"op"`
		Ours map[string]any `json:"ours"`
	}
)

// ParseDivergences reads a list: a JSON array of objects with the members scenario, rows, reason and steps; each step
// has its number (step), its op and, in ours, the value of each field that differs, null for one that is absent.
func ParseDivergences(text []byte) (*Divergences, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var list []divergenceJSON
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("list of divergences: %w", err)
	}
	d := &Divergences{scenarios: map[string]*Divergence{}}
	for i, in := range list {
		if err := d.add(in); err != nil {
			return nil, fmt.Errorf("list of divergences: entry %d, %q: %w", i, in.Scenario, err)
		}
	}
	return d, nil
}

func (d *Divergences) add(in divergenceJSON) error {
	switch {
	case in.Scenario == "":
		return fmt.Errorf("scenario is missing")
	case d.scenarios[in.Scenario] != nil:
		return fmt.Errorf("is listed twice")
	case len(in.Rows) == 0 || slices.Contains(in.Rows, "") || strings.TrimSpace(in.Reason) == "":
		return fmt.Errorf("rows and reason must say why")
	case len(in.Steps) == 0:
		return fmt.Errorf("steps must say what differs")
	}
	out := &Divergence{Scenario: in.Scenario, Rows: in.Rows, Reason: in.Reason, steps: map[int]outcome{}, ops: map[int]string{}}
	for _, st := range in.Steps {
		if out.steps[st.Step] != nil || len(st.Ours) == 0 {
			return fmt.Errorf("step %d must be listed once, with what is ours", st.Step)
		}
		out.steps[st.Step], out.ops[st.Step] = st.Ours, st.Op
	}
	d.scenarios[in.Scenario] = out
	d.order = append(d.order, in.Scenario)
	return nil
}
