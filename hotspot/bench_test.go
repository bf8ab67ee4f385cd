package hotspot_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

// BenchmarkClock is the unit: one reading of the monotonic clock.
func BenchmarkClock(b *testing.B) {
	start := time.Now()
	var sum time.Duration
	for b.Loop() {
		sum += time.Since(start)
	}
	_ = sum
}

// BenchmarkHit reserves on values that are all in the table, 1 or 10,000 of them, numbers and texts.
func BenchmarkHit(b *testing.B) {
	for name, rule := range benchRules() {
		for _, values := range []int{1, 10_000} {
			for kind, args := range map[string][]chain.Arg{"int": intArgs(values), "text": textArgs(values)} {
				b.Run(fmt.Sprintf("%s/%s/%d", name, kind, values), func(b *testing.B) { benchHits(b, rule, args) })
			}
		}
	}
}

func benchRules() map[string]hotspot.Rule {
	queue := qps(1e9)
	queue.ControlBehavior, queue.MaxQueueingTimeMs = hotspot.Throttling, 1000
	return map[string]hotspot.Rule{"bucket": qps(1e9), "queue": queue, "concurrency": concurrency(1000)}
}

func benchHits(b *testing.B, rule hotspot.Rule, args []chain.Arg) {
	c := hotspot.New(rule)
	now := int64(1e9)
	keys := make([]hotspot.Key, len(args))
	for i, arg := range args {
		keys[i], _ = hotspot.ScalarKey(arg)
		h, _, _ := c.Reserve(now, keys[i], 1)
		c.Release(h)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		key := keys[i]
		if i++; i == len(keys) {
			i = 0
		}
		now += 100
		h, _, _ := c.Reserve(now, key, 1)
		c.Release(h)
	}
}

// BenchmarkScalarKey makes the key of an argument.
func BenchmarkScalarKey(b *testing.B) {
	arg := chain.String("user", "u-1")
	for b.Loop() {
		if _, ok := hotspot.ScalarKey(arg); !ok {
			b.Fatal("no key")
		}
	}
}

// BenchmarkMiss reserves on 1,000,000 values through a table of 20,000.
func BenchmarkMiss(b *testing.B) {
	b.Run("int", func(b *testing.B) {
		c, i, now := hotspot.New(qps(100)), 0, int64(1e9)
		b.ReportAllocs()
		for b.Loop() {
			if i++; i == 1_000_000 {
				i = 0
			}
			now += 500
			key, _ := hotspot.ScalarKey(chain.Int("", i))
			c.Reserve(now, key, 1)
		}
	})
	b.Run("text", func(b *testing.B) { benchHits(b, qps(100), textArgs(1_000_000)) })
}

func BenchmarkParallel(b *testing.B) {
	for name, rule := range benchRules() {
		for _, values := range []int{1, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, values), func(b *testing.B) {
				c, args := hotspot.New(rule), intArgs(values)
				var worker atomic.Int64
				b.RunParallel(func(pb *testing.PB) {
					i, now := int(worker.Add(7919))%values, int64(1e9)
					for pb.Next() {
						key, _ := hotspot.ScalarKey(args[i])
						if i++; i == len(args) {
							i = 0
						}
						now += 100
						h, _, _ := c.Reserve(now, key, 1)
						c.Release(h)
					}
				})
			})
		}
	}
}

// BenchmarkParallelMiss brings 1,000,000 values to a table of 20,000 by all cores.
func BenchmarkParallelMiss(b *testing.B) {
	c, args := hotspot.New(qps(100)), textArgs(1_000_000)
	var worker atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i, now := int(worker.Add(250_007))%len(args), int64(1e9)
		for pb.Next() {
			if i++; i == len(args) {
				i = 0
			}
			now += 500
			key, _ := hotspot.ScalarKey(args[i])
			c.Reserve(now, key, 1)
		}
	})
}

func intArgs(n int) []chain.Arg {
	args := make([]chain.Arg, n)
	for i := range args {
		args[i] = chain.Int("", i*7)
	}
	return args
}

func textArgs(n int) []chain.Arg {
	args := make([]chain.Arg, n)
	for i := range args {
		args[i] = chain.String("", fmt.Sprintf("user-%08d", i))
	}
	return args
}
