package replay_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// breakerModel is a circuit breaker that keeps every outcome since it closed.
type breakerModel struct {
	rule     circuitbreaker.Rule
	state    string
	retryAt  int64
	probe    int // id of the call that probes, 0: none
	leased   int64
	outcomes []struct {
		at  int64
		bad bool
	}
	events []string
}

func (b *breakerModel) turn(to string) {
	b.events = append(b.events, b.state+" to "+to)
	b.state = to
}

// enter says whether a call passes; the call with this id may become the probe.
func (b *breakerModel) enter(now int64, id int) bool {
	switch {
	case b.state == "CLOSED":
		return true
	case b.state == "OPEN" && now >= b.retryAt:
		b.turn("HALF_OPEN")
	case b.state == "HALF_OPEN" && now >= b.leased: // the probe before took longer than a recovery
	default:
		return false
	}
	b.probe, b.leased = id, now+int64(b.rule.RecoveryTime())
	return true
}

// complete takes an outcome, of a probe before its permit is lost. wasProbe is true for a call that entered as one.
func (b *breakerModel) complete(now, rt int64, failed, wasProbe bool) {
	bad := failed
	if b.rule.Grade == circuitbreaker.SlowRatio {
		bad = rt > int64(math.Floor(b.rule.Count+0.5))*ms
	}
	switch {
	case wasProbe && bad:
		b.turn("OPEN")
		b.probe, b.retryAt = 0, now+int64(b.rule.RecoveryTime())
	case wasProbe:
		b.turn("CLOSED")
		b.probe, b.outcomes = 0, nil
	case b.state == "CLOSED":
		b.outcomes = append(b.outcomes, struct {
			at  int64
			bad bool
		}{now, bad})
		if b.trips(now) {
			b.turn("OPEN")
			b.retryAt = now + int64(b.rule.RecoveryTime())
		}
	}
}

func (b *breakerModel) trips(now int64) bool {
	interval, _ := b.rule.Window()
	var bad, total float64
	for _, o := range b.outcomes {
		if o.at/int64(interval) == now/int64(interval) {
			total++
			if o.bad {
				bad++
			}
		}
	}
	if total < float64(b.rule.MinRequests()) {
		return false
	}
	switch b.rule.Grade {
	case circuitbreaker.ErrorCount:
		return bad > b.rule.Count
	case circuitbreaker.ErrorRatio:
		return bad/total > b.rule.Count || bad == total && b.rule.Count == 1
	default:
		return bad/total > b.rule.SlowRatio() || bad == total && b.rule.SlowRatio() == 1
	}
}

func breakerRule(tr *trial) circuitbreaker.Rule {
	ratio := pick(tr, 0, 0.3, 0.5, 1)
	rule := circuitbreaker.Rule{
		Resource: "r", Grade: pick(tr, circuitbreaker.SlowRatio, circuitbreaker.ErrorRatio, circuitbreaker.ErrorCount),
		TimeWindow: 2 + tr.IntN(3), MinRequestAmount: 1 + tr.IntN(4), StatIntervalMs: pick(tr, int64(500), 1000, 3000, 10_000),
	}
	switch rule.Grade {
	case circuitbreaker.SlowRatio:
		rule.Count, rule.SlowRatioThreshold = pick(tr, 0, 9.5, 50, 100), &ratio
	case circuitbreaker.ErrorRatio:
		rule.Count = ratio
	case circuitbreaker.ErrorCount:
		rule.Count = float64(tr.IntN(4))
	}
	return rule
}

// visit is a call in flight.
type visit struct {
	entry tidegate.Entry
	at    int64
	probe bool
}

// Only the probe decides while half-open; a probe that does not end loses its permit after the recovery time. Calls
// take less than a recovery time or never end.
func TestBreakerModel(t *testing.T) {
	eachTrial(t, func(tr *trial) {
		b := &breakerModel{rule: breakerRule(tr), state: "CLOSED"}
		load(tr, tr.engine.DegradeRules(), b.rule)
		var events []string
		tr.engine.OnBreakerChange(func(e tidegate.BreakerEvent) { events = append(events, fmt.Sprintf("%v to %v", e.From, e.To)) })
		var open []visit
		for id := 1; id <= modelCalls*2; id++ {
			if due := max(b.retryAt, b.leased); due > tr.ns && tr.IntN(8) == 0 {
				tr.ns = due - tr.Int64N(2)
			} else if tr.IntN(2) == 0 {
				tr.step()
			}
			if len(open) > 0 && tr.IntN(2) == 0 {
				i := tr.IntN(len(open))
				v := open[i]
				open = append(open[:i], open[i+1:]...)
				if rt := tr.ns - v.at; rt < 2*int64(time.Second) {
					failed := tr.IntN(2) == 0
					b.complete(tr.ns, rt, failed, v.probe)
					v.entry.Exit(map[bool]error{true: errors.New("e")}[failed])
				}
			} else {
				want := verdict{pass: b.enter(tr.ns, id)}
				entry, got := tr.enter(tidegate.Call{})
				if !tr.compare(tr.ns, fmt.Sprintf("call %d, %s", id, b.state), got, want) {
					return
				}
				if got.pass {
					open = append(open, visit{entry, tr.ns, b.probe == id})
				}
			}
			if !slices.Equal(events, b.events) {
				tr.Errorf("call %d: events %v, the model has %v", id, events, b.events)
				return
			}
			events, b.events = events[:0], b.events[:0]
		}
	})
}
