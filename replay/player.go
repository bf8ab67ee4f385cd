package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// player plays one scenario on an engine of its own.
type player struct {
	engine   *tidegate.Engine
	clock    *clock
	kinds    map[string]*kind
	open     map[string]visit
	events   []tidegate.BreakerEvent
	readings tidegate.SystemReadings
	calls    int // that may still be made
}

// visit is a call that a step made, admitted or not.
type visit struct {
	entry tidegate.Entry
	ctx   context.Context
}

// errTooLong ends a scenario that makes more calls than the options allow.
var errTooLong = errors.New("the scenario makes too many calls")

func newPlayer(s *Scenario, o Options) (*player, error) {
	p := &player{
		clock: &clock{advances: s.AdvanceOnWait}, open: map[string]visit{}, calls: o.maxCalls(),
	}
	p.clock.set(s.StartMs * 1e6)
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	const plenty = 1 << 30 // of names: a scenario meets no cap
	engine, err := tidegate.New(
		tidegate.WithClock(p.clock),
		tidegate.WithWindow(ms(s.config.intervalMs), int(s.config.sampleCount)),
		tidegate.WithOccupyTimeout(ms(s.config.occupyTimeoutMs)),
		tidegate.WithColdFactor(int(s.config.coldFactor)),
		tidegate.WithMaxRT(ms(s.config.statisticMaxRt)),
		tidegate.WithMaxResources(plenty), tidegate.WithMaxOrigins(plenty), tidegate.WithMaxContexts(plenty),
		tidegate.WithIdleTimeout(ms(latestMs)),
		tidegate.WithSystemReadings(p.read),
	)
	if err != nil {
		return nil, err
	}
	p.engine, p.kinds = engine, kindsOf(engine)
	engine.OnBreakerChange(func(e tidegate.BreakerEvent) { p.events = append(p.events, e) })
	return p, nil
}

// read returns the readings that the scenario's steps have set.
func (p *player) read() tidegate.SystemReadings { return p.readings }

// load loads the rules that the scenario begins with.
func (p *player) load(s *Scenario) error {
	for name, rules := range s.rules {
		if err := p.loadKind(name, rules); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	return nil
}

// play does one step and returns what became of it.
func (p *player) play(st *step) (outcome, error) {
	p.clock.set(st.at)
	p.events = nil
	switch st.op {
	case "enter":
		return p.enter(st)
	case "burst":
		return p.burst(st)
	case "exit", "trace":
		return p.end(st)
	case "expectStats":
		return statsOutcome(p.engine, st)
	case "expectBreaker":
		return p.breakerState(st)
	case "loadRules":
		return outcome{}, p.loadKind(st.kind, st.rules)
	case "switch":
		p.engine.SetEnabled(st.on)
	case "systemStatus":
		p.readings = tidegate.SystemReadings{Load: st.load, LoadKnown: st.load >= 0, CPU: st.cpu, CPUKnown: st.cpu >= 0}
	}
	return outcome{}, nil
}

// enter makes a call. One that the recording refuses is exited at once where we admit it: no later step does.
func (p *player) enter(st *step) (outcome, error) {
	out, v, err := p.visit(&st.call)
	if err != nil {
		return nil, err
	}
	p.open[st.id] = v
	if st.call.auto || st.recorded["decision"] == "block" {
		p.exit(v.entry, st)
	}
	p.addEvents(out)
	return out, nil
}

// visit asks the engine to let a call in.
func (p *player) visit(c *call) (outcome, visit, error) {
	if p.calls--; p.calls < 0 {
		return nil, visit{}, errTooLong
	}
	ctx, err := p.contextOf(c)
	if err != nil {
		return nil, visit{}, err
	}
	entry, err := p.engine.Enter(ctx, c.resource, c.options)
	v := visit{entry: entry, ctx: ctx}
	var blocked *tidegate.BlockError
	switch {
	case err == nil && entry.Waited() > 0:
		return outcome{"decision": "wait", "waitMs": millis(int64(entry.Waited()))}, v, nil
	case err == nil:
		return outcome{"decision": "pass"}, v, nil
	case errors.As(err, &blocked):
		return p.refusal(blocked), v, nil
	}
	return nil, v, fmt.Errorf("%s: %w", c.resource, err)
}

// contextOf returns the context of a call: its parent's, or a new one.
func (p *player) contextOf(c *call) (context.Context, error) {
	if c.parent != "" {
		parent, ok := p.open[c.parent]
		if !ok {
			return nil, fmt.Errorf("parent %q was never entered", c.parent)
		}
		return tidegate.ContextWith(parent.ctx, parent.entry), nil
	}
	ctx := context.Background()
	if c.context != "" {
		ctx = tidegate.WithOrigin(tidegate.WithEntrance(ctx, c.context), c.origin)
	}
	return ctx, nil
}

// refusal says who refused a call.
func (p *player) refusal(err *tidegate.BlockError) outcome {
	out := outcome{"decision": "block", "by": nameOf(err.Kind)}
	if err.Type != "" {
		out["type"] = err.Type
		return out
	}
	if k := p.kinds[nameOf(err.Kind)]; k != nil {
		if i, ok := k.index(err.Rule); ok {
			out["rule"] = float64(i)
		}
	}
	return out
}

func (p *player) exit(entry tidegate.Entry, st *step) {
	if err := st.failure(); err != nil {
		entry.SetError(err)
	}
	n := -1
	if st.count != nil {
		n = *st.count
	}
	entry.ExitN(n, nil)
}

// failure returns the error that the step notes on its call.
func (st *step) failure() error {
	switch {
	case st.err == "":
		return nil
	case st.blocks:
		return &tidegate.BlockError{Cause: tidegate.ErrFlow}
	}
	return errors.New(st.err)
}

// end does an exit or a trace.
func (p *player) end(st *step) (outcome, error) {
	v, ok := p.open[st.id]
	switch {
	case !ok:
		return nil, fmt.Errorf("%q was never entered", st.id)
	case st.op == "trace":
		v.entry.SetError(st.failure())
	default:
		p.exit(v.entry, st)
	}
	out := outcome{}
	p.addEvents(out)
	return out, nil
}

// loadKind loads the rules of a kind. Breakers' events that this causes are not compared.
func (p *player) loadKind(name string, rules []json.RawMessage) error {
	k := p.kinds[name]
	if k == nil {
		return fmt.Errorf("kind %q cannot be loaded", name)
	}
	return k.load(rules)
}

func (p *player) breakerState(st *step) (outcome, error) {
	k := p.kinds["degrade"]
	dropped, ok := k.dropped(st.rule)
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no degrade rule %d", st.rule)
	case dropped:
		return outcome{"state": "absent"}, nil
	}
	for _, b := range p.engine.Breakers(st.call.resource) {
		if k.same(st.rule, b.Rule) {
			return outcome{"state": b.State.String()}, nil
		}
	}
	return outcome{"state": circuitbreaker.Closed.String()}, nil // nobody called the resource
}

// addEvents adds the breakers' events of the step, if there are any.
func (p *player) addEvents(out outcome) {
	var events []any
	for _, e := range p.events {
		event := map[string]any{"from": e.From.String(), "to": e.To.String()}
		if i, ok := p.kinds["degrade"].index(e.Rule); ok {
			event["rule"] = float64(i)
		}
		if e.HasValue {
			event["value"] = e.Value
		}
		events = append(events, event)
	}
	if events != nil {
		out["breakerEvents"] = events
	}
}
