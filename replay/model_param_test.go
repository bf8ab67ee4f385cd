package replay_test

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/hotspot"
)

// bucketState is what a parameter rule knows of a value: the tokens left and when they were filled last, or the
// latest place in the queue.
type bucketState struct{ since, left, place int64 }

// paramModel is one rule on one argument.
type paramModel struct {
	rule   hotspot.Rule
	index  int
	values map[any]bucketState
	open   map[any]int64
}

func newParamModel(rule hotspot.Rule) *paramModel {
	return &paramModel{rule: rule, index: *rule.ParamIdx, values: map[any]bucketState{}, open: map[any]int64{}}
}

// valuesOf returns the values of an argument that are checked: itself, or the elements of a list but nil ones.
func (p *paramModel) valuesOf(args []any) []any {
	index := p.index
	if index < 0 {
		index += len(args)
	}
	if index < 0 || index >= len(args) || args[index] == nil {
		return nil
	}
	list, ok := args[index].([]any)
	if !ok {
		return args[index : index+1]
	}
	var values []any
	for _, v := range list {
		if v != nil {
			values = append(values, v)
		}
	}
	return values
}

func (p *paramModel) threshold(value any) int64 {
	threshold := int64(p.rule.Count)
	for _, item := range p.rule.Items {
		text, isText := value.(string)
		number, isNumber := value.(int)
		if item.ClassType == "int" && isNumber && strconv.Itoa(number) == item.Object || item.ClassType == "" && isText && text == item.Object {
			threshold = item.Count
		}
	}
	return threshold
}

// enter decides about a call and, where all values pass, says how long it waits.
func (p *paramModel) enter(now, n int64, args []any) (wait int64, ok bool) {
	for _, value := range p.valuesOf(args) {
		var w int64
		switch {
		case p.rule.Grade == hotspot.GradeConcurrency:
			ok = p.open[value]+1 <= p.threshold(value)
		case p.rule.ControlBehavior == hotspot.Throttling:
			w, ok = p.queue(now, n, value)
		default:
			ok = p.take(now, n, value)
		}
		if !ok {
			return 0, false
		}
		wait = max(wait, w)
	}
	return wait, true
}

func (p *paramModel) take(now, n int64, value any) bool {
	threshold, period, now := p.threshold(value), int64(p.rule.Duration())/ms, now/ms
	capacity := threshold + p.rule.BurstCount
	state, known := p.values[value]
	switch {
	case threshold == 0 || n > capacity:
		return false
	case !known:
		state = bucketState{since: now, left: capacity}
	case now-state.since > period:
		state.left = min(capacity, state.left+(now-state.since)*threshold/period)
		state.since = now
	}
	if state.left < n {
		return false
	}
	state.left -= n
	p.values[value] = state
	return true
}

func (p *paramModel) queue(now, n int64, value any) (int64, bool) {
	threshold := p.threshold(value)
	if threshold == 0 {
		return 0, false
	}
	place := now
	if state, known := p.values[value]; known {
		place = max(now, state.place+int64(math.Floor(float64(p.rule.Duration())*float64(n)/float64(threshold)+0.5)))
	}
	if place > now && place-now >= p.rule.MaxQueueingTimeMs*ms {
		return 0, false
	}
	p.values[value] = bucketState{place: place}
	return place - now, true
}

// enterAll asks rule after rule. A call that one refuses charges none.
func enterAll(rules []*paramModel, now, n int64, args []any) verdict {
	kept := make([]map[any]bucketState, len(rules))
	for i, p := range rules {
		kept[i] = maps.Clone(p.values)
	}
	want := verdict{pass: true}
	for _, p := range rules {
		wait, ok := p.enter(now, n, args)
		if !ok {
			for i, p := range rules {
				p.values = kept[i]
			}
			return verdict{}
		}
		want.wait = max(want.wait, wait)
	}
	for _, p := range rules {
		p.hold(args, 1)
	}
	return want
}

func (p *paramModel) hold(args []any, n int64) {
	for _, value := range p.valuesOf(args) {
		p.open[value] += n
	}
}

func paramRule(tr *trial) hotspot.Rule {
	index := pick(tr, 0, 0, 1, -1)
	rule := hotspot.Rule{
		Resource: "r", ParamIdx: &index, Count: float64(tr.IntN(6)), DurationInSec: 1 + tr.Int64N(3),
		Items: []hotspot.Item{{Object: "b", Count: tr.Int64N(5)}, {Object: "5", ClassType: "int", Count: tr.Int64N(5)}},
	}
	switch tr.IntN(4) {
	case 0:
		rule.Grade = hotspot.GradeConcurrency
	case 1:
		rule.ControlBehavior, rule.MaxQueueingTimeMs = hotspot.Throttling, pick(tr, int64(0), 1, 300, 2000)
	default:
		rule.BurstCount = pick(tr, int64(0), 0, 1, 4)
	}
	return rule
}

// arguments returns up to two random values and lists of values.
func arguments(tr *trial) []any {
	value := func() any { return pick[any](tr, "a", "b", "5", 5, 7, 5.0, true, nil) }
	var args []any
	for range tr.IntN(3) {
		if tr.IntN(4) > 0 {
			args = append(args, value())
			continue
		}
		list := []any{}
		for range tr.IntN(4) {
			list = append(list, value())
		}
		args = append(args, list)
	}
	return args
}

func TestParamModel(t *testing.T) {
	eachTrial(t, func(tr *trial) {
		rules := []hotspot.Rule{paramRule(tr)}
		models := []*paramModel{newParamModel(rules[0])}
		if second := paramRule(tr); tr.IntN(2) == 0 && !second.Equal(rules[0]) {
			rules, models = append(rules, second), append(models, newParamModel(second))
		}
		load(tr, tr.engine.ParamRules(), rules...)
		tr.still = tr.IntN(2) == 0
		type inFlight struct {
			entry tidegate.Entry
			args  []any
		}
		var open []inFlight
		for range modelCalls * 2 {
			tr.step()
			if len(open) > 0 && tr.IntN(3) == 0 {
				i := tr.IntN(len(open))
				open[i].entry.Exit(nil)
				for _, p := range models {
					p.hold(open[i].args, -1)
				}
				open = append(open[:i], open[i+1:]...)
				continue
			}
			n, at, args := pick(tr, 1, 1, 1, 1+tr.Int64N(3)), tr.ns, arguments(tr)
			want := enterAll(models, at, n, args)
			c := call(n)
			for _, value := range args {
				c.Args = append(c.Args, tidegate.Any("", value))
			}
			entry, got := tr.enter(c)
			if got.pass {
				open = append(open, inFlight{entry, args})
			}
			if !tr.compare(at, fmt.Sprintf("count %d of %#v", n, args), got, want) {
				return
			}
		}
	})
}
