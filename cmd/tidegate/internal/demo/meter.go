package demo

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
)

// row is what happened to a resource in one second.
type row struct {
	second   time.Time
	resource string
	passed   int64
	blocked  int64
	rule     string // that blocked, several with commas, with the limit at the second's beginning; "-": none
	limit    int64  // of the resource's flow rule at the second's beginning
	errors   int64
	rt       time.Duration // average of the calls that ended
	inflight int64         // when the second was over
	breaker  string        // its state when the second was over; "-": there is none
}

// event is something that happened once.
type event struct {
	at   time.Time
	text string
}

// meter reads an engine's figures and listens to what they do not tell.
type meter struct {
	engine *tidegate.Engine
	limits limits

	mu     sync.Mutex
	rules  map[string]map[int64][]*tidegate.BlockError // by resource and second: refusals, one of each rule; guarded by mu
	last   map[string]*tidegate.BlockError             // by resource: the last of these; guarded by mu
	events []event                                     // guarded by mu
}

func newMeter() *meter {
	return &meter{rules: map[string]map[int64][]*tidegate.BlockError{}, last: map[string]*tidegate.BlockError{}}
}

// callbacks must be given to the engine before it is watched.
func (m *meter) callbacks() tidegate.Option {
	return tidegate.WithCallbacks(tidegate.Callbacks{Block: func(info tidegate.Info, err *tidegate.BlockError) { m.blocked(info.Resource, err) }})
}

// watch starts to read the engine.
func (m *meter) watch(e *tidegate.Engine) {
	m.mu.Lock()
	m.engine = e
	m.mu.Unlock()
	e.OnBreakerChange(func(change tidegate.BreakerEvent) {
		m.note(change.Time, fmt.Sprintf("breaker of %s: %s -> %s", change.Resource, change.From, change.To))
	})
	e.FlowRules().Subscribe(func(rules []flow.Rule) {
		for _, r := range rules {
			m.limits.set(r, e.Now())
			if r.Resource == slow {
				m.note(e.Now(), fmt.Sprintf("rules in force: %s may pass %v per second", slow, r.Count))
			}
		}
	})
}

func (m *meter) note(at time.Time, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.events); n > 0 && m.events[n-1].text == text {
		return
	}
	m.events = append(m.events, event{at, text})
}

func (m *meter) noted() []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

func (m *meter) blocked(resource string, err *tidegate.BlockError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[resource] = err
	second := m.engine.Now().Unix()
	if m.rules[resource] == nil {
		m.rules[resource] = map[int64][]*tidegate.BlockError{}
	}
	if list := m.rules[resource][second]; !slices.Contains(list, err) {
		m.rules[resource][second] = append(list, err)
	}
}

// label names a rule: kind, id and the limit that was in force.
func (m *meter) label(err *tidegate.BlockError, at time.Time) string {
	switch r := err.Rule.(type) {
	case flow.Rule:
		return fmt.Sprintf("%v#%d(%v/s)", err.Kind, r.ID, m.limits.of(r.Resource, at, r.Count))
	case circuitbreaker.Rule:
		return fmt.Sprintf("%v#%d(%v%%)", err.Kind, r.ID, r.Count*100)
	}
	return err.Kind.String()
}

// read returns what happened to the resource in the second that begins at start and is over.
func (m *meter) read(resource string, start time.Time) row {
	r := row{second: start, resource: resource, rule: "-", breaker: "-"}
	for _, s := range m.engine.Seconds(resource, start) {
		if s.Time.Unix() != start.Unix() {
			continue
		}
		r.passed, r.blocked, r.errors = s.Pass, s.Block, s.Exception
		if s.Success > 0 {
			r.rt = s.RT / time.Duration(s.Success)
		}
	}
	stats, _ := m.engine.ResourceStats(resource)
	r.inflight = stats.Active
	if breakers := m.engine.Breakers(resource); len(breakers) > 0 {
		r.breaker = breakers[0].State.String()
	}
	r.limit = int64(m.limits.of(resource, start, 0))
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.rules[resource][start.Unix()]
	delete(m.rules[resource], start.Unix())
	if last := m.last[resource]; len(list) == 0 && last != nil {
		list = append(list, last) // blocked at the very end, and noted a moment later
	}
	if r.blocked > 0 && len(list) > 0 {
		r.rule = m.labels(list, start)
	}
	return r
}

// labels names the rules, each once.
func (m *meter) labels(list []*tidegate.BlockError, at time.Time) string {
	var texts []string
	for _, err := range list {
		if text := m.label(err, at); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ",")
}
