package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// latestMs is the last time, in ms since the Unix epoch, that a scenario may show.
const latestMs = 4_000_000_000_000

// Load reads the scenario of a file.
func Load(file string) (*Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}

// Parse reads a scenario. It is strict: an operation or a member that it does not know is an error, which names the
// step. What could be read of the scenario's name is returned with the error, in a scenario without steps.
func Parse(text []byte) (*Scenario, error) {
	s := &Scenario{}
	m, err := membersOf(text)
	if err != nil {
		return s, fmt.Errorf("scenario: %w", err)
	}
	var rules, settings json.RawMessage
	var steps []json.RawMessage
	m.need("name", &s.Name)
	m.take("kind", &s.Kind)
	m.take("reference", &s.Reference)
	m.take("description", &s.Description)
	m.take("quirks", &s.Quirks)
	m.take("reliesOn", &s.ReliesOn)
	m.take("optional", &s.Optional)
	m.take("clockGoesBack", &s.ClockGoesBack)
	m.take("config", &settings)
	m.need("startMs", &s.StartMs)
	m.take("advanceOnWait", &s.AdvanceOnWait)
	m.take("rules", &rules)
	m.need("steps", &steps)
	if s.StartMs < 0 || s.StartMs > latestMs {
		m.fail("startMs %d is out of range", s.StartMs)
	}
	err = errors.Join(m.done(), s.decodeConfig(settings), s.decodeRules(rules))
	if err != nil {
		return &Scenario{Name: s.Name}, fmt.Errorf("scenario: %w", err)
	}
	for i, text := range steps {
		st, err := decodeStep(text)
		if err != nil {
			return &Scenario{Name: s.Name}, fmt.Errorf("step %d: %w", i, err)
		}
		s.steps = append(s.steps, st)
	}
	return s, nil
}

func (s *Scenario) decodeConfig(text json.RawMessage) error {
	if text == nil {
		text = json.RawMessage("{}")
	}
	m, err := membersOf(text)
	if err != nil {
		return fmt.Errorf("config: %w", err)
	}
	c := &s.config
	*c = config{sampleCount: 2, intervalMs: 1000, coldFactor: 3, statisticMaxRt: 5000, occupyTimeoutMs: 500}
	m.positive("sampleCount", &c.sampleCount)
	m.positive("intervalMs", &c.intervalMs)
	m.positive("coldFactor", &c.coldFactor)
	m.positive("statisticMaxRt", &c.statisticMaxRt)
	if m.take("occupyTimeoutMs", &c.occupyTimeoutMs) && (c.occupyTimeoutMs < 0 || c.occupyTimeoutMs > latestMs) {
		m.fail("occupyTimeoutMs %d is out of range", c.occupyTimeoutMs)
	}
	m.take("bypassValidation", new(bool))
	if err := m.done(); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	return nil
}

func (s *Scenario) decodeRules(text json.RawMessage) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, &s.rules); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	for name := range s.rules {
		if !slices.Contains(kindNames(), name) {
			return fmt.Errorf("rules: unknown kind %q; use one of %q", name, kindNames())
		}
	}
	return nil
}

// positive takes a number that must be above 0.
func (m *members) positive(name string, to *int64) {
	if m.take(name, to) && (*to <= 0 || *to > latestMs) {
		m.fail("%s %d is out of range", name, *to)
	}
}
