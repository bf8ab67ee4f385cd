package replay

import (
	"slices"
	"strconv"
)

// burst makes calls one after the other, each admitted one exiting at once.
func (p *player) burst(st *step) (outcome, error) {
	var t burstTally
	for i := range st.burst {
		if i > 0 {
			p.clock.advance(st.every)
		}
		out, v, err := p.visit(&st.call)
		if err != nil {
			return nil, err
		}
		p.exit(v.entry, st)
		t.add(out)
	}
	out := t.outcome()
	p.addEvents(out)
	return out, nil
}

// burstTally collects the decisions of a burst.
type burstTally struct {
	pass, wait, block int
	by                []any
	waits             []any
	seq               []byte
	last              byte // decision of the current run
	run               int
}

func (t *burstTally) add(out outcome) {
	var letter byte
	switch out["decision"] {
	case "pass":
		letter = 'p'
		t.pass++
	case "wait":
		letter = 'w'
		t.wait++
		t.waits = append(t.waits, out["waitMs"])
	default:
		letter = 'b'
		t.block++
		t.by = append(t.by, out["by"])
	}
	if letter != t.last {
		t.endRun()
		t.last = letter
	}
	t.run++
}

func (t *burstTally) endRun() {
	if t.run > 0 {
		t.seq = append(strconv.AppendInt(t.seq, int64(t.run), 10), t.last)
	}
	t.run = 0
}

func (t *burstTally) outcome() outcome {
	t.endRun()
	out := outcome{
		"pass": float64(t.pass), "wait": float64(t.wait), "block": float64(t.block), "seq": string(t.seq),
	}
	if t.waits != nil {
		out["waitsMs"] = t.waits
	}
	switch {
	case t.by == nil:
	case slices.ContainsFunc(t.by, func(by any) bool { return by != t.by[0] }):
		out["byList"] = t.by
	default:
		out["by"] = t.by[0]
	}
	return out
}
