package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// members are the members of a JSON object that nobody has taken yet.
type members struct {
	left map[string]json.RawMessage
	errs []error
}

func membersOf(text []byte) (*members, error) {
	m := &members{}
	if err := json.Unmarshal(text, &m.left); err != nil {
		return nil, err
	}
	if m.left == nil {
		return nil, errors.New("must be an object, not null")
	}
	return m, nil
}

// take decodes a member into what to points at, if it is there.
func (m *members) take(name string, to any) (there bool) {
	text, there := m.left[name]
	if !there {
		return false
	}
	delete(m.left, name)
	if bytes.Equal(bytes.TrimSpace(text), []byte("null")) {
		m.fail("member %q is null", name)
		return true
	}
	if err := json.Unmarshal(text, to); err != nil {
		m.fail("member %q: %w", name, err)
	}
	return true
}

// need is take for a member that must be there.
func (m *members) need(name string, to any) {
	if !m.take(name, to) {
		m.fail("member %q is missing", name)
	}
}

func (m *members) fail(format string, args ...any) {
	m.errs = append(m.errs, fmt.Errorf(format, args...))
}

// done returns what was wrong, members that nobody took included.
func (m *members) done() error {
	for _, name := range slices.Sorted(maps.Keys(m.left)) {
		m.fail("unknown member %q", name)
	}
	return errors.Join(m.errs...)
}
