package demo

import (
	"encoding/json"
	"time"
)

// The routes of the demonstration, as resources.
const (
	fast  = "GET:/fast"  // more load than its reject limit lets pass
	slow  = "GET:/slow"  // its limit is lowered in the rule file while it runs
	flaky = "GET:/flaky" // fails for a while: its breaker opens and recovers
	paced = "GET:/paced" // bursts that throttling spreads out
)

// resources in the order in which they are shown.
func resources() []string { return []string{fast, slow, flaky, paced} }

// The rules of the demonstration.
const (
	fastLimit    = 20 // per second
	slowLimit    = 40 // per second, at first
	slowLowered  = 10 // per second, after the edit
	pacedRate    = 10 // per second
	pacedBurst   = 8  // requests at once, every second
	pacedQueue   = 2 * time.Second
	failureRatio = 0.5
)

// plan says when what happens, counted from the first shown second.
type plan struct {
	length        time.Duration
	failFrom      time.Duration // the failing route fails from here
	failTo        time.Duration // until here
	edit          time.Duration // the rule file is edited
	breakerWindow int           // seconds that the breaker stays open
}

func newPlan(seconds int) plan {
	p := plan{length: time.Duration(seconds) * time.Second, breakerWindow: 1}
	p.failFrom, p.failTo = p.length/5, p.length/2
	p.edit = (p.length * 3 / 5).Truncate(time.Second) + 100*time.Millisecond // the new rules are in force before the second ends
	if seconds >= 15 {
		p.breakerWindow = 2
	}
	return p
}

// rule is a rule as it stands in the file.
type rule map[string]any

// rules returns the text of the rule file.
func (p plan) rules(slowLimit int) ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"flowRules": []rule{
			{"id": 1, "resource": fast, "count": fastLimit},
			{"id": 2, "resource": slow, "count": slowLimit},
			{"id": 4, "resource": paced, "count": pacedRate, "controlBehavior": 2, "maxQueueingTimeMs": pacedQueue.Milliseconds()},
		},
		"degradeRules": []rule{
			{"id": 3, "resource": flaky, "grade": 1, "count": failureRatio, "minRequestAmount": 5, "statIntervalMs": 1000, "timeWindow": p.breakerWindow},
		},
	}, "", "  ")
}

// config is the gateway's configuration; the upstream's URL is put in for %s.
const config = `listen: 127.0.0.1:0
upstreams:
  - {name: shop, urls: ["%s"]}
routes:
  - {pattern: /fast, upstream: shop}
  - {pattern: /slow, upstream: shop}
  - {pattern: /flaky, upstream: shop}
  - {pattern: /paced, upstream: shop}
rules: [rules.json]
engine: {app: demo}
`
