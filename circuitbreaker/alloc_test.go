package circuitbreaker_test

import (
	"testing"

	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

func TestBreakerAllocs(t *testing.T) { // not parallel: it counts allocations
	rule := circuitbreaker.Rule{Grade: circuitbreaker.ErrorRatio, Count: 0.5, TimeWindow: 10}
	closed := circuitbreaker.NewBreaker(rule, "r", nil)
	rule.StatBucketCount = 10
	sliding := circuitbreaker.NewBreaker(rule, "r", nil)
	open := opened(t, circuitbreaker.Rule{})
	rule = circuitbreaker.Rule{Grade: circuitbreaker.ErrorCount, MinRequestAmount: 1, TimeWindow: 1, ProbeNum: 2}
	cycling := circuitbreaker.NewBreaker(rule, "r", nil)
	now := at(0)
	tests := map[string]func(){
		"closed": func() { pass(closed, at(0), false) },
		"closed, next bucket each time": func() {
			now += 1000 * ms
			pass(closed, now, false)
			pass(sliding, now, false)
		},
		"refused": func() {
			if open.Check(at(1)) != circuitbreaker.Refuse {
				t.Error("not refused")
			}
		},
		"through all states": func() {
			pass(cycling, now, true)
			now += 1000 * ms
			first, ok := cycling.Acquire(now)
			second, _ := cycling.Acquire(now)
			if _, third := cycling.Acquire(now); !ok || third {
				t.Error("not two probes")
			}
			cycling.GiveBack(first, now)
			cycling.Complete(now, 0, false, second)
			if second, ok = cycling.Acquire(now); !ok {
				t.Error("no probe")
			}
			cycling.Complete(now, 0, false, second)
		},
	}
	for name, call := range tests {
		if n := alloctest.Count(call); n != 0 {
			t.Errorf("%s: %v allocations per call, want 0", name, n)
		}
	}
}

func pass(b *circuitbreaker.Breaker, now int64, failed bool) {
	if b.Check(now) == circuitbreaker.Pass {
		b.Complete(now, 0, failed, circuitbreaker.Ticket{})
	}
}
