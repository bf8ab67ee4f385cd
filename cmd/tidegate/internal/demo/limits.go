package demo

import (
	"sync"
	"time"

	"github.com/tidegate-go/tidegate/flow"
)

// settled is how long after a load its rules surely decide about all requests that come in.
const settled = 50 * time.Millisecond

// limits remembers since when which flow limit is in force.
type limits struct {
	mu      sync.Mutex
	changes map[string][]limit // by resource, in the order of time; guarded by mu
}

// limit is the count of a rule from some time on.
type limit struct {
	since time.Time
	count float64
}

// set takes note of a rule that was loaded.
func (l *limits) set(r flow.Rule, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.changes[r.Resource]
	if n := len(list); n > 0 && list[n-1].count == r.Count {
		return
	}
	if l.changes == nil {
		l.changes = map[string][]limit{}
	}
	l.changes[r.Resource] = append(list, limit{now.Add(settled), r.Count})
}

// of returns the limit that was in force at that time, the first one for times before, otherwise if there is none.
func (l *limits) of(resource string, at time.Time, otherwise float64) float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, change := range l.changes[resource] {
		if i == 0 || !change.since.After(at) {
			otherwise = change.count
		}
	}
	return otherwise
}
