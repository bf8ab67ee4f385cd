package main

import (
	"fmt"
	"strings"

	"github.com/tidegate-go/tidegate/benchmarks/measure"
)

type state string

const (
	stateMet        state = "met"
	stateNear       state = "missed, within the tolerance"
	stateMissed     state = "MISSED"
	stateNoisy      state = "no clean sample"
	stateUnmeasured state = "not measured"
)

type verdict struct {
	budget
	got   float64
	state state
}

// judge compares the measured with the budgets, and the allocations of this project's rows with none.
func judge(t table, tolerance float64) []verdict {
	var all []verdict
	for _, b := range budgets() {
		all = append(all, b.judge(t, tolerance))
	}
	return append(all, judgeAllocs(t))
}

// in names the budgets that are in the state.
func in(s state, verdicts []verdict) (names []string) {
	for _, v := range verdicts {
		if v.state == s {
			names = append(names, v.what)
		}
	}
	return names
}

func (b budget) judge(t table, tolerance float64) verdict {
	v := verdict{budget: b, state: stateUnmeasured}
	values := make([]float64, len(b.rows))
	clean := true
	for i, r := range b.rows {
		if len(t[r]) == 0 {
			return v
		}
		var ok bool
		values[i], ok = t.value(r)
		clean = clean && ok
	}
	v.got = b.value(values)
	worse := v.got / b.limit
	if b.atLeast {
		worse = b.limit / v.got
	}
	v.state = b.state(worse, tolerance, clean)
	return v
}

// state names how a budget stands of which so many times as much as allowed was measured.
func (b budget) state(worse, tolerance float64, clean bool) state {
	doubtful := worse > 1 || len(b.rows) > 1 // disturbance makes a row dearer, by any factor, and a ratio anything
	switch {
	case !clean && doubtful:
		return stateNoisy
	case worse <= 1:
		return stateMet
	case worse <= tolerance:
		return stateNear
	default:
		return stateMissed
	}
}

// judgeAllocs takes the worst of this project's rows, and names it unless it has no more than stray allocations.
func judgeAllocs(t table) verdict {
	v := verdict{budget: budget{what: "allocations per call, most of all rows of tidegate"}, state: stateUnmeasured}
	var worst row
	for r := range t {
		if r.cores == 0 || !strings.HasPrefix(r.name, ours) {
			continue
		}
		if got := t.allocs(r); worst.name == "" || got > v.got {
			v.got, worst = got, r
		}
		v.state = stateMet
	}
	if v.got > measure.Stray {
		v.state = stateMissed
		v.what += fmt.Sprintf(": %s on %d cores", worst.name, worst.cores)
	}
	return v
}
