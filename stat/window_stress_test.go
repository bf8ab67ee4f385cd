package stat_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/stat"
)

func atSeveralProcs(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	for _, procs := range []int{1, 2, 4, 8} {
		old := runtime.GOMAXPROCS(procs)
		f(t)
		runtime.GOMAXPROCS(old)
	}
}

func TestWindowExactInOneBucket(t *testing.T) { // not parallel: GOMAXPROCS
	atSeveralProcs(t, func(t *testing.T) {
		t.Helper()
		w := stat.NewWindow(500*ms, 2, epoch)
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for range 100 {
					if _, ok := w.Reserve(epoch, 1, 999); ok {
						passed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if passed.Load() != 1000 || w.Total(epoch) != 1000 {
			t.Errorf("%d passed, %d counted, want exactly 1000", passed.Load(), w.Total(epoch))
		}
	})
}

// While time moves, callers reserve and undo. No window of aligned buckets ever holds more than the limit, and at the
// end nothing is left but what was not undone.
func TestWindowNeverAboveTheLimit(t *testing.T) { // not parallel: GOMAXPROCS
	const limit, length, buckets = 50, 10 * ms, 4
	atSeveralProcs(t, func(t *testing.T) {
		t.Helper()
		w := stat.NewWindow(length, buckets, epoch)
		var now atomic.Int64
		now.Store(epoch)
		var mu sync.Mutex
		kept := map[int64]int64{} // by bucket
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := range 3000 {
					at := now.Add(ms / 20)
					bucket, ok := w.Reserve(at, 1, limit-1)
					if total := w.Total(now.Load()); total > limit || total < 0 {
						t.Errorf("holds %d, limit %d", total, limit)
						return
					}
					if !ok {
						continue
					}
					if (i+worker)%3 == 0 {
						w.Undo(bucket, 1)
						continue
					}
					mu.Lock()
					kept[bucket]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for start := range kept {
			total := int64(0)
			for k := range int64(buckets) {
				total += kept[start+k*length]
			}
			if total > limit+8 { // a reservation may be noted for the bucket before the one it is counted in
				t.Errorf("the window from +%d holds %d, limit %d", (start-epoch)/ms, total, limit)
			}
		}
		end := now.Load()
		for k := range int64(buckets + 1) {
			if total := w.Total(end + k*length); total < 0 || total > limit {
				t.Errorf("%d buckets later holds %d", k, total)
			}
		}
		if total := w.Total(end + 10*length*buckets); total != 0 {
			t.Errorf("at the end holds %d, want 0", total)
		}
	})
}

func TestReserveGapExact(t *testing.T) { // not parallel: GOMAXPROCS
	atSeveralProcs(t, func(t *testing.T) {
		t.Helper()
		w := stat.NewWindow(500*ms, 2, epoch)
		for round := range int64(50) {
			var passed atomic.Int64
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					if _, ok := w.ReserveGap(epoch+round*10*second, 10*second); ok {
						passed.Add(1)
					}
				})
			}
			wg.Wait()
			if passed.Load() != 1 {
				t.Fatalf("round %d: %d passed, want 1", round, passed.Load())
			}
		}
	})
}

func TestOccupyExact(t *testing.T) { // not parallel: GOMAXPROCS
	atSeveralProcs(t, func(t *testing.T) {
		t.Helper()
		w := stat.NewWindow(500*ms, 2, epoch)
		w.Add(epoch, 10)
		var passed atomic.Int64
		var wg sync.WaitGroup
		for range 64 { // the bucket that is current now leaves the window when the one after the next begins
			wg.Go(func() {
				if _, ok := w.Occupy(epoch+600*ms, 1, 10, 500*ms); ok {
					passed.Add(1)
				}
			})
		}
		wg.Wait()
		if passed.Load() != 10 {
			t.Errorf("%d borrowed, want exactly 10", passed.Load())
		}
		if total := w.Total(epoch + second); total != 10 {
			t.Errorf("when the bucket has come it holds %d, want 10", total)
		}
	})
}
