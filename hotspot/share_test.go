package hotspot_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/hotspot"
)

const shareStart = int64(1_700_000_000_000_000_000)

// However the divisor changes meanwhile, a value never gets more than the undivided threshold in a period.
func TestDividingStaysWithinTheThreshold(t *testing.T) {
	t.Parallel()
	c := hotspot.NewDivided(hotspot.Rule{Resource: "r", Count: 60, BurstCount: 6})
	key := hotspot.TextKey("a")
	for period := range int64(20) {
		now := shareStart + period*2_500_000_000
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for range 60 {
					c.Divide(1 + rand.IntN(5))
					h, _, ok := c.Reserve(now, key, 1)
					switch {
					case ok && rand.IntN(8) == 0:
						c.Undo(h)
					case ok:
						admitted.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if n := admitted.Load(); n > 66 {
			t.Fatalf("period %d: %d calls, at most 66", period, n)
		}
	}
}

// An undivided controller of a cluster rule decides as any other.
func TestDividedByOne(t *testing.T) {
	t.Parallel()
	for _, rule := range []hotspot.Rule{
		{Count: 5},
		{Count: 2.5},
		{Count: 0.5},
		{Count: 0},
		{Count: 3, DurationInSec: 4},
		{Count: 5, ControlBehavior: hotspot.Throttling, MaxQueueingTimeMs: 700},
		{Count: 3, Grade: hotspot.GradeConcurrency},
		{Count: 1, Items: []hotspot.Item{{Object: "1", ClassType: "int", Count: 4}, {Object: "1", ClassType: "long", Count: 3}, {Object: "2", ClassType: "int", Count: 0}}},
	} {
		plain, divided := hotspot.New(rule), hotspot.NewDivided(rule)
		plain.Divide(7) // has no effect
		now := shareStart
		r := rand.New(rand.NewPCG(1, 2))
		for step := range 2000 {
			now += r.Int64N(300_000_000)
			key, _ := hotspot.ScalarKey(chain.Int("", r.IntN(3)))
			n := 1 + r.Int64N(2)
			a, waitA, okA := plain.Reserve(now, key, n)
			b, waitB, okB := divided.Reserve(now, key, n)
			if okA != okB || waitA != waitB || plain.Threshold(key) != divided.Threshold(key) {
				t.Fatalf("%+v, step %d: %v %d, divided by one %v %d", rule, step, okA, waitA, okB, waitB)
			}
			if okA && r.IntN(3) > 0 {
				plain.Release(a)
				divided.Release(b)
			}
		}
		if plain.Memory() != divided.Memory() {
			t.Errorf("%+v: memory %d, divided by one %d", rule, plain.Memory(), divided.Memory())
		}
	}
}

// A token server is asked for the values that the rule would compare.
func FuzzValuesAreTheKeys(f *testing.F) {
	f.Add(int64(5), "a", 1.5, true)
	f.Fuzz(func(t *testing.T, n int64, text string, x float64, b bool) {
		for _, value := range []any{
			n, text, x, b, int8(n), uint16(n), uint64(n), float32(x),
			[]int64{n, 1},
			[]any{n, nil, text, x, b, int16(n)},
			[]string{text, ""},
			[2]float64{x, 0},
			[]float32{float32(x)},
			&n,
			[]*int64{&n, nil},
			struct{ n int64 }{n},
			[]byte(text), nil,
			map[int]int{},
			[3]byte{1},
		} {
			arg := chain.Any("", value)
			var keys, asked []hotspot.Key
			skippedKeys := hotspot.KeysOf(arg, func(k hotspot.Key) bool { keys = append(keys, k); return true })
			values, skipped := hotspot.ValuesOf(arg)
			for _, v := range values {
				_ = hotspot.KeysOf(v, func(k hotspot.Key) bool { asked = append(asked, k); return true })
			}
			if skipped != skippedKeys || len(keys) != len(asked) {
				t.Fatalf("%T %v: %d keys, %d skipped; asked for %d, %d skipped", value, value, len(keys), skippedKeys, len(asked), skipped)
			}
			for i := range keys {
				if keys[i] != asked[i] {
					t.Fatalf("%T %v: key %v, asked for %v", value, value, keys[i], asked[i])
				}
			}
		}
	})
}
