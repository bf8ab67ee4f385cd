package circuitbreaker

import (
	"math"
	"math/rand"
	"sync"
	"sync/atomic"
	"testing"
)

func newWindow(length int64, buckets int) *window {
	var w window
	w.init(length, buckets)
	return &w
}

func (w *window) expect(t *testing.T, now, bad, calls int64) {
	t.Helper()
	if b, c, _ := w.read(now); b != bad || c != calls {
		t.Errorf("at %d: %d of %d, want %d of %d", now, b, c, bad, calls)
	}
}

// All goroutines count in a bucket and in the one before it, step by step: nothing is lost where buckets change.
func TestWindowLosesNothingWhereBucketsChange(t *testing.T) {
	t.Parallel()
	const workers, calls, length = 8, 50, 10
	for _, buckets := range []int{1, 3} {
		w := newWindow(length, buckets)
		for step := range int64(300) {
			now := (step + 1) * length
			var done sync.WaitGroup
			for worker := range workers {
				done.Go(func() {
					for i := range calls {
						w.add(now+int64(worker), i%2 == 0)
						w.add(now-1, false)
					}
				})
			}
			done.Wait()
			// A bucket is counted in twice: as the newest, and a step later as the one before.
			if step < int64(buckets) {
				continue
			}
			full := int64(buckets)
			wantBad, want := full*workers*calls/2, full*2*workers*calls
			if bad, all, ok := w.read(now - 1); !ok || bad != wantBad || all != want {
				t.Fatalf("%d buckets, step %d: %d of %d, want %d of %d", buckets, step, bad, all, wantBad, want)
			}
		}
	}
}

// On a clock that moves meanwhile, all calls are in the ring in the end.
func TestWindowCountsEachCallOnce(t *testing.T) {
	t.Parallel()
	const workers, calls = 8, 2000
	w := newWindow(100, 1000)
	var clock, bad atomic.Int64
	var done sync.WaitGroup
	for worker := range int64(workers) {
		done.Go(func() {
			r := rand.New(rand.NewSource(worker))
			for range calls {
				isBad := r.Intn(3) == 0
				if isBad {
					bad.Add(1)
				}
				w.add(clock.Add(r.Int63n(10)), isBad)
			}
		})
	}
	done.Wait()
	w.expect(t, clock.Load(), bad.Load(), workers*calls)
}

func TestWindowGivesUpOldBuckets(t *testing.T) {
	t.Parallel()
	w := newWindow(10, 2)
	w.add(5, true)
	w.add(15, true)
	w.add(25, true)
	w.expect(t, 25, 2, 2)
	if _, _, ok := w.read(15); !ok {
		t.Error("the window before the newest bucket is not complete")
	}
	if _, _, ok := w.read(5); ok {
		t.Error("a window that is partly given up counts as complete")
	}
	w.add(35, false)
	if bad, calls := w.add(9, true); bad != 0 || calls != 0 {
		t.Errorf("a call whose bucket is gone gives %d of %d, want nothing", bad, calls)
	}
	w.expect(t, 35, 1, 2)
	w.add(1000, false) // a long pause
	w.expect(t, 1000, 0, 1)
	w.clear()
	w.expect(t, 1000, 0, 0)
}

func TestWindowHalvesBeforeItOverflows(t *testing.T) {
	t.Parallel()
	w := newWindow(10, 1)
	w.add(0, true)
	w.current.Load().counts.Store(1<<30<<32 | halfFull - 1)
	w.add(0, true)
	w.expect(t, 0, (1<<30+1)/2+(1<<30+1)%2, halfFull/2)
	bad, calls := w.add(0, false)
	if ratio := float64(bad) / float64(calls); math.Abs(ratio-0.5) > 1e-8 {
		t.Errorf("ratio %v, want 0.5 as before", ratio)
	}
}
