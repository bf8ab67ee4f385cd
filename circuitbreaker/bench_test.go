package circuitbreaker_test

import (
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

func benchBreaker(buckets int) *circuitbreaker.Breaker {
	return circuitbreaker.NewBreaker(circuitbreaker.Rule{
		Grade: circuitbreaker.ErrorRatio, Count: 0.9, TimeWindow: 10, StatBucketCount: buckets,
	}, "r", nil)
}

// BenchmarkClockReading is the unit that the others are compared with.
func BenchmarkClockReading(b *testing.B) {
	start := time.Now()
	for b.Loop() {
		_ = time.Since(start)
	}
}

func BenchmarkCheck(b *testing.B) {
	closed, open := benchBreaker(1), circuitbreaker.NewBreaker(countRule(), "r", nil)
	open.Complete(at(0), 0, true, circuitbreaker.Ticket{})
	for name, br := range map[string]*circuitbreaker.Breaker{"closed": closed, "open": open} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				br.Check(at(0))
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					br.Check(at(0))
				}
			})
		})
	}
}

// BenchmarkCall is what a breaker adds to a call that passes: check and outcome, every tenth call failing.
func BenchmarkCall(b *testing.B) {
	for name, buckets := range map[string]int{"one bucket": 1, "ten buckets": 10} {
		b.Run(name, func(b *testing.B) {
			br, i := benchBreaker(buckets), int64(0)
			for b.Loop() {
				i++
				pass(br, at(0)+i*100, i%10 == 0)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			br := benchBreaker(buckets)
			b.RunParallel(func(pb *testing.PB) {
				i := int64(0)
				for pb.Next() {
					i++
					pass(br, at(0)+i*100, i%10 == 0)
				}
			})
		})
	}
}
