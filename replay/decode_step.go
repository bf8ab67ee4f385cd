package replay

import (
	"encoding/json"
	"fmt"
	"slices"
)

// decodeStep reads one step; each operation has its own members.
func decodeStep(text json.RawMessage) (step, error) {
	m, err := membersOf(text)
	if err != nil {
		return step{}, err
	}
	var st step
	var atMs, atNs int64
	m.need("op", &st.op)
	m.need("atMs", &atMs)
	m.take("atNs", &atNs)
	if atMs < 0 || atMs > latestMs || atNs < 0 || atNs >= 1e6 {
		m.fail("time %d ms and %d ns is out of range", atMs, atNs)
	}
	st.at = atMs*1e6 + atNs
	if err := st.decodeOp(m); err != nil {
		return st, err
	}
	if err := m.done(); err != nil {
		return st, fmt.Errorf("%s: %w", st.op, err)
	}
	return st, nil
}

func (st *step) decodeOp(m *members) error {
	switch st.op {
	case "enter":
		m.need("id", &st.id)
		st.call.decode(m)
		m.take("error", &st.err)
		st.expect(m, true)
	case "exit":
		m.need("id", &st.id)
		m.take("error", &st.err)
		st.decodeErrorKind(m)
		m.take("count", &st.count)
		st.expect(m, false)
	case "trace":
		m.need("id", &st.id)
		m.need("error", &st.err)
		st.decodeErrorKind(m)
		st.expect(m, false)
	case "burst":
		st.decodeBurst(m)
	case "expectStats":
		st.decodeStats(m)
	case "expectBreaker":
		var state string
		m.need("resource", &st.call.resource)
		m.need("rule", &st.rule)
		m.need("state", &state)
		if !slices.Contains([]string{"CLOSED", "OPEN", "HALF_OPEN", "absent"}, state) {
			m.fail("unknown state %q", state)
		}
		st.recorded = outcome{"state": state}
	case "loadRules":
		m.need("kind", &st.kind)
		m.need("rules", &st.rules)
		if !slices.Contains(kindNames(), st.kind) {
			m.fail("unknown kind %q; use one of %q", st.kind, kindNames())
		}
		st.expect(m, false)
	case "switch":
		m.need("on", &st.on)
	case "systemStatus":
		m.need("load", &st.load)
		m.need("cpu", &st.cpu)
	default:
		return fmt.Errorf("unknown op %q", st.op)
	}
	return nil
}

func (st *step) decodeErrorKind(m *members) {
	var kind string
	if m.take("errorKind", &kind) && kind != "block" {
		m.fail("unknown errorKind %q", kind)
	}
	st.blocks = kind != ""
}

func (st *step) decodeBurst(m *members) {
	var everyMs int64
	m.need("n", &st.burst)
	m.take("everyMs", &everyMs)
	if st.burst < 0 || everyMs < 0 || everyMs > latestMs {
		m.fail("a burst of %d calls every %d ms is out of range", st.burst, everyMs)
	}
	st.every = everyMs * 1e6
	st.call.decode(m)
	m.take("error", &st.err)
	st.expect(m, true)
}

func (c *call) decode(m *members) {
	var entryType string
	var acquire *int
	var args []json.RawMessage
	m.need("resource", &c.resource)
	m.take("entryType", &entryType)
	m.take("context", &c.context)
	m.take("origin", &c.origin)
	m.take("acquire", &acquire)
	m.take("prioritized", &c.options.Prioritized)
	m.take("args", &args)
	m.take("parent", &c.parent)
	m.take("autoExit", &c.auto)
	switch entryType {
	case "IN":
		c.options.Inbound = true
	case "", "OUT":
	default:
		m.fail("unknown entryType %q", entryType)
	}
	if acquire != nil {
		c.options.Count, c.options.Free = *acquire, *acquire == 0
	}
	for i, text := range args {
		value, err := decodeArg(text, 0)
		if err != nil {
			m.fail("argument %d: %w", i, err)
		}
		c.options.Args = append(c.options.Args, argOf(value))
	}
}

// decodeStats reads which figures of which node are recorded.
func (st *step) decodeStats(m *members) {
	var exists *bool
	m.need("node", &st.node)
	m.take("resource", &st.call.resource)
	st.recorded = outcome{}
	if m.take("exists", &exists) && exists != nil {
		st.recorded["exists"] = *exists
	}
	if _, _, err := splitNode(st.node); err != nil {
		m.fail("%w", err)
	}
	for _, name := range figureNames() {
		var value float64
		if m.take(name, &value) {
			st.recorded[name] = value
		}
	}
}
