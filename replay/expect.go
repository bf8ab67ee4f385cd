package replay

import (
	"encoding/json"
	"math"
)

// expect takes a step's expectation; without one nothing is to happen but the step itself.
func (st *step) expect(m *members, needed bool) {
	var text json.RawMessage
	st.recorded = outcome{}
	if needed {
		m.need("expect", &text)
	} else {
		m.take("expect", &text)
	}
	if text == nil {
		return
	}
	in, err := membersOf(text)
	if err == nil {
		st.decodeExpected(in)
		err = in.done()
	}
	if err != nil {
		m.fail("expect: %w", err)
	}
}

func (st *step) decodeExpected(in *members) {
	out := st.recorded
	switch st.op {
	case "enter":
		out.text(in, "decision")
		out.text(in, "by")
		out.number(in, "rule")
		out.text(in, "type")
		out.wait(in)
	case "burst":
		out.number(in, "pass")
		out.number(in, "wait")
		out.number(in, "block")
		out.text(in, "seq")
		out.text(in, "by")
		out.texts(in, "byList")
		out.waits(in)
	case "loadRules":
		out.text(in, "error")
		return
	}
	out.events(in)
}

func (o outcome) text(in *members, name string) {
	var v string
	if in.take(name, &v) {
		o[name] = v
	}
}

func (o outcome) texts(in *members, name string) {
	var v []string
	if in.take(name, &v) {
		o[name] = anys(v)
	}
}

func (o outcome) number(in *members, name string) {
	var v float64
	if in.take(name, &v) {
		o[name] = v
	}
}

// wait takes waitMs or waitNs.
func (o outcome) wait(in *members) {
	var ms, ns int64
	hasMs, hasNs := in.take("waitMs", &ms), in.take("waitNs", &ns)
	if ms < 0 || ns < 0 || ms > math.MaxInt64/int64(1e6) || hasMs && hasNs {
		in.fail("a wait is a positive number of waitMs or of waitNs")
		return
	}
	if ns += ms * 1e6; ns > 0 {
		o["waitMs"] = millis(ns)
	}
}

func (o outcome) waits(in *members) {
	var list []int64
	unit := int64(1)
	if in.take("waitsMs", &list) {
		unit = 1e6
	}
	in.take("waitsNs", &list)
	var waits []any
	for _, wait := range list {
		if wait < 0 || wait > math.MaxInt64/unit {
			in.fail("wait %d is out of range", wait)
			return
		}
		waits = append(waits, millis(wait*unit))
	}
	if waits != nil {
		o["waitsMs"] = waits
	}
}

// events takes the changes of breakers' states.
func (o outcome) events(in *members) {
	var list []json.RawMessage
	if !in.take("breakerEvents", &list) {
		return
	}
	var events []any
	for i, text := range list {
		e := outcome{}
		m, err := membersOf(text)
		if err == nil {
			e.number(m, "rule")
			e.text(m, "from")
			e.text(m, "to")
			e.number(m, "value")
			err = m.done()
		}
		if err != nil {
			in.fail("breaker event %d: %w", i, err)
		}
		events = append(events, map[string]any(e))
	}
	if events != nil {
		o["breakerEvents"] = events
	}
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func millis(ns int64) float64 { return float64(ns) / 1e6 }
