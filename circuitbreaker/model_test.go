package circuitbreaker_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// model is the breaker as its documentation tells it, for one goroutine: it keeps every outcome and adds up anew.
type model struct {
	rule      circuitbreaker.Rule
	state     string
	retryAt   int64
	outcomes  []modelOutcome // since the breaker closed last
	probes    []modelProbe
	successes int
	lease     int64
	next      int
	events    []string
}

type modelOutcome struct {
	at  int64
	bad bool
}

type modelProbe struct {
	number  int
	expires int64
}

func newModel(r circuitbreaker.Rule) *model {
	return &model{rule: r, state: "CLOSED", lease: int64(r.ProbeTimeout())}
}

func (m *model) change(to, text string) {
	m.events = append(m.events, m.state+">"+to+text)
	m.state, m.probes, m.successes = to, nil, 0
}

// enter returns the number of the probe, 0 for an ordinary call.
func (m *model) enter(now int64) (probe int, ok bool) {
	switch {
	case m.state == "CLOSED":
		return 0, true
	case m.state == "OPEN" && now < m.retryAt:
		return 0, false
	case m.state == "OPEN":
		m.change("HALF_OPEN", "")
	}
	if len(m.probes) == m.rule.Probes() {
		slices.SortStableFunc(m.probes, func(a, b modelProbe) int { return int(a.expires - b.expires) })
		if m.probes[0].expires > now {
			return 0, false
		}
		m.probes = m.probes[1:]
	}
	m.next++
	m.probes = append(m.probes, modelProbe{m.next, now + m.lease})
	return m.next, true
}

func (m *model) holds(probe int) bool {
	n := len(m.probes)
	m.probes = slices.DeleteFunc(m.probes, func(p modelProbe) bool { return p.number == probe })
	return len(m.probes) < n
}

func (m *model) giveBack(probe int) {
	if m.holds(probe) && len(m.probes) == 0 && m.successes == 0 {
		m.change("OPEN", "=1(probe given back)")
	}
}

func (m *model) complete(now int64, rt time.Duration, failed bool, probe int) {
	bad := failed
	if m.rule.Grade == circuitbreaker.SlowRatio {
		bad = float64(rt) > math.Floor(m.rule.Count+0.5)*1e6
	}
	switch {
	case probe != 0:
		m.completeProbe(now, rt, bad, probe)
	case m.state == "CLOSED":
		m.outcomes = append(m.outcomes, modelOutcome{now, bad})
		if value, trips := m.trips(now); trips {
			m.retryAt = now + int64(m.rule.TimeWindow)*1e9
			m.change("OPEN", fmt.Sprintf("=%g", value))
		}
	}
}

func (m *model) completeProbe(now int64, rt time.Duration, bad bool, probe int) {
	switch {
	case !m.holds(probe):
		if m.state != "CLOSED" && int64(rt) >= m.lease {
			m.lease = min(2*m.lease, 2*int64(rt))
		}
	case bad:
		m.retryAt = now + int64(m.rule.TimeWindow)*1e9
		m.change("OPEN", "=1")
	default:
		m.successes++
		if m.successes == m.rule.Probes() {
			m.outcomes, m.lease = nil, int64(m.rule.ProbeTimeout())
			m.change("CLOSED", "")
		}
	}
}

func (m *model) window(now int64) (bad, total int) {
	interval, buckets := m.rule.Window()
	length := int64(interval) / int64(buckets)
	for _, o := range m.outcomes {
		if o.at/length > now/length-int64(buckets) {
			total++
			if o.bad {
				bad++
			}
		}
	}
	return bad, total
}

func (m *model) trips(now int64) (float64, bool) {
	bad, total := m.window(now)
	if total < m.rule.MinRequests() {
		return 0, false
	}
	limit := m.rule.Count
	value := float64(bad) / float64(total)
	switch m.rule.Grade {
	case circuitbreaker.SlowRatio:
		limit = m.rule.SlowRatio()
	case circuitbreaker.ErrorCount:
		return float64(bad), float64(bad) > limit
	case circuitbreaker.ErrorRatio:
	}
	return value, value > limit || value == 1 && limit == 1
}

func randomRule(r *rand.Rand) circuitbreaker.Rule {
	ratios := []float64{0, 0.2, 0.5, 0.75, 1}
	rule := circuitbreaker.Rule{
		Resource:         "r",
		Grade:            circuitbreaker.Grade(r.Intn(3)),
		TimeWindow:       1 + r.Intn(3),
		MinRequestAmount: r.Intn(7),
		StatIntervalMs:   []int64{0, 200, 1000, 3000}[r.Intn(4)],
		StatBucketCount:  []int{0, 1, 2, 5}[r.Intn(4)],
		ProbeNum:         r.Intn(4),
		ProbeTimeoutMs:   []int64{0, 300, 5000}[r.Intn(3)],
	}
	switch rule.Grade {
	case circuitbreaker.SlowRatio:
		rule.Count = []float64{0, 50, 99.5}[r.Intn(3)]
		if ratio := ratios[r.Intn(len(ratios))]; r.Intn(4) > 0 {
			rule.SlowRatioThreshold = &ratio
		}
	case circuitbreaker.ErrorRatio:
		rule.Count = ratios[r.Intn(len(ratios))]
	case circuitbreaker.ErrorCount:
		rule.Count = float64(r.Intn(6))
	}
	return rule
}

type playedCall struct {
	ticket  circuitbreaker.Ticket
	probe   int
	entered int64
}

// play compares breaker and model over one random sequence of calls.
func play(t *testing.T, seed int64) (changes int) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	rule := randomRule(r)
	g, m := guarded(t, rule), newModel(rule)
	now := at(r.Int63n(2000))
	failures := r.Intn(100)
	var calls []playedCall
	fail := func(step int, format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d, step %d, rule %+v: %s", seed, step, rule, fmt.Sprintf(format, args...))
	}
	for step := range 600 {
		if r.Intn(3) == 0 {
			now += r.Int63n([]int64{2, 30, 400}[r.Intn(3)] * ms)
		}
		if r.Intn(40) == 0 {
			failures = r.Intn(100)
		}
		if len(calls) == 0 || r.Intn(2) == 0 {
			ticket, ok := g.enter(now)
			probe, want := m.enter(now)
			if ok != want || (ticket != circuitbreaker.Ticket{}) != (probe != 0) {
				fail(step, "entry gave %v, %v; the model %v, %v", ticket, ok, probe, want)
			}
			if ok {
				calls = append(calls, playedCall{ticket, probe, now})
			}
		} else {
			i := r.Intn(len(calls))
			c := calls[i]
			calls = slices.Delete(calls, i, i+1)
			if r.Intn(6) == 0 {
				g.GiveBack(c.ticket, now)
				m.giveBack(c.probe)
			} else {
				rt, failed := time.Duration(now-c.entered), r.Intn(100) < failures
				g.Complete(now, rt, failed, c.ticket)
				m.complete(now, rt, failed, c.probe)
			}
		}
		s := g.Status(now)
		if s.State.String() != m.state || s.Probes != len(m.probes) {
			fail(step, "state %v with %d probes; the model %v with %d", s.State, s.Probes, m.state, len(m.probes))
		}
		if bad, total := m.window(now); m.state == "CLOSED" && (s.Bad != int64(bad) || s.Total != int64(total)) {
			fail(step, "window %d of %d; the model %d of %d", s.Bad, s.Total, bad, total)
		}
		if got := g.take(); !slices.Equal(got, m.events) {
			fail(step, "events %q; the model %q", got, m.events)
		}
		changes += len(m.events)
		m.events = nil
	}
	return changes
}

func TestBreakerFollowsTheModel(t *testing.T) {
	t.Parallel()
	changes := 0
	for seed := range int64(400) {
		changes += play(t, seed)
	}
	if changes < 4000 {
		t.Errorf("only %d changes of state: the sequences test little", changes)
	}
}
