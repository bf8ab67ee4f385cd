package stat_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/tidegate-go/tidegate/internal/alloctest"
	"github.com/tidegate-go/tidegate/stat"
)

// A spread window decides like one that is a single line, whatever is asked of both, in whatever order.
func TestSpreadWindowDecidesLikeAnother(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		count := 1 + random.Int64N(4)
		d := &twins{t: t, seed: seed, random: random, now: epoch, plain: stat.NewWindow(10, count, epoch), spread: stat.NewWindow(10, count, epoch)}
		d.spread.Spread(4)
		for range 3_000 {
			d.step()
		}
	}
}

// twins are two windows that are asked the same.
type twins struct {
	t             *testing.T
	seed          uint64
	random        *rand.Rand
	plain, spread *stat.Window
	now           int64
}

func (d *twins) step() {
	d.now += d.random.Int64N(4) * (d.random.Int64N(int64(2+d.seed%3*20)) / int64(1+d.seed%3*20))
	if d.random.IntN(500) == 0 {
		d.now += d.random.Int64N(200)
	}
	n, limit := 1+d.random.Int64N(3), []int64{0, 20, 1_100, 1_300, 20_000, math.MaxInt64}[d.random.IntN(6)]
	near := d.random.Int64N(1_000) // to what is set aside
	hint := d.random.Uint32N(8)
	switch d.random.IntN(40) {
	case 9:
		d.spread.Gather()
	case 10:
		d.both("UndoAhead", func(w *stat.Window) (int64, bool) {
			wait, ok := w.Occupy(d.now, n, float64(limit), 25)
			if ok {
				w.UndoAhead(d.now+wait, n)
			}
			return wait, ok
		})
	case 11:
		d.both("UndoMove", func(w *stat.Window) (int64, bool) {
			bucket, ok := w.ReserveBy(hint, d.now, n, limit)
			if ok {
				w.MoveOn(bucket, d.now+25, n)
				w.UndoMove(bucket, d.now+25, n)
			}
			return bucket, ok
		})
	case 12:
		d.both("Continue", func(w *stat.Window) (int64, bool) {
			next := stat.NewWindow(10, 1+int64(d.seed)%4, d.now)
			next.Continue(w, d.now)
			if w == d.plain {
				d.plain = next
			} else {
				d.spread = next
			}
			return next.Total(d.now), true
		})
	case 13:
		d.both("Add", func(w *stat.Window) (int64, bool) { return w.Add(d.now, n), true })
	case 14:
		d.both("AddBy", func(w *stat.Window) (int64, bool) { return w.ReserveBy(hint, d.now, n, math.MaxInt64) })
	case 8:
		from, at := d.now-d.random.Int64N(20), d.now+d.random.Int64N(30)
		d.both("MoveOn", func(w *stat.Window) (int64, bool) {
			bucket, ok := w.ReserveBy(hint, d.now, n, limit)
			if ok {
				w.MoveOn(min(bucket, from), at, n)
			}
			return bucket, ok
		})
	case 0:
		at := d.now + d.random.Int64N(30)
		d.plain.AddAhead(at, n)
		d.spread.AddAhead(at, n)
	case 1:
		d.both("Borrow", func(w *stat.Window) (int64, bool) { return w.Borrow(d.now, n, near, 25) })
	case 2:
		d.both("Occupy", func(w *stat.Window) (int64, bool) { return w.Occupy(d.now, n, float64(near), 25) })
	case 3:
		d.both("Take", func(w *stat.Window) (int64, bool) {
			_, ok := w.Take(d.now, n, near)
			return 0, ok
		})
	case 4:
		d.both("NextRelease", func(w *stat.Window) (int64, bool) { return w.NextRelease(d.now), true })
	case 5:
		d.both("Counted", func(w *stat.Window) (int64, bool) { return w.Counted(d.now), true })
	case 6:
		d.both("Reserve", func(w *stat.Window) (int64, bool) { return w.Reserve(d.now, n, near) })
	case 7:
		d.both("Reserve and Undo", func(w *stat.Window) (int64, bool) {
			bucket, ok := w.ReserveBy(hint, d.now, n, limit)
			if ok {
				w.Undo(bucket, n)
			}
			return bucket, ok
		})
	default:
		d.both("ReserveBy", func(w *stat.Window) (int64, bool) {
			bucket, ok := w.ReserveBy(hint, d.now, n, limit)
			return bucket, ok
		})
	}
	d.both("Total", func(w *stat.Window) (int64, bool) { return w.Total(d.now), w.Within(d.now, n, near) })
}

func (d *twins) both(what string, ask func(*stat.Window) (int64, bool)) {
	d.t.Helper()
	want, wantOK := ask(d.plain)
	if got, ok := ask(d.spread); got != want || ok != wantOK {
		_, units := d.spread.Stocks()
		d.t.Fatalf("seed %d at %d: %s: %d, %v with %d set aside, want %d, %v", d.seed, d.now, what, got, ok, units, want, wantOK)
	}
}

// Callers on many cores share a limit that is far, then near: exactly as many are admitted as it allows, nobody is
// refused before, and what is undone is admitted again.
func TestSpreadWindowIsExact(t *testing.T) { // not parallel: GOMAXPROCS
	for _, procs := range []int{1, 2, 8, cores} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			const callers, calls = 32, 4_000
			limit := int64(callers * calls * 3 / 4)
			w := stat.NewWindow(int64(1e9), 2, epoch)
			w.Spread(procs)
			var admitted atomic.Int64
			var wg sync.WaitGroup
			for caller := range uint32(callers) {
				wg.Go(func() {
					for i := range calls {
						bucket, ok := w.ReserveBy(caller, epoch, 1, limit-1)
						switch {
						case ok && i%64 == 63:
							w.Undo(bucket, 1)
						case ok:
							if admitted.Add(1) > limit {
								t.Error("admitted more than the limit")
								return
							}
						}
						if i%512 == 511 {
							if total := w.Total(epoch); total > limit {
								t.Errorf("the window holds %d, limit %d", total, limit)
							}
						}
					}
				})
			}
			wg.Wait()
			for hint := uint32(0); ; hint++ { // what was undone has room again
				if _, ok := w.ReserveBy(hint, epoch, 1, limit-1); !ok {
					break
				}
				admitted.Add(1)
			}
			if got := admitted.Load(); got != limit || w.Total(epoch) != limit {
				t.Errorf("admitted %d, the window holds %d, want %d", got, w.Total(epoch), limit)
			}
		})
	}
}

// While buckets end, nothing that was admitted is lost or counted twice.
func TestSpreadWindowMovesOn(t *testing.T) { // not parallel: GOMAXPROCS
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	const callers, calls, limit = 16, 3_000, 20_000
	w := stat.NewWindow(100, 2, 0)
	var clock, admitted atomic.Int64
	var wg sync.WaitGroup
	for caller := range uint32(callers) {
		wg.Go(func() {
			for i := range calls {
				if i%30 == 0 {
					clock.Add(1)
				}
				bucket, ok := w.ReserveBy(caller, clock.Load(), 1, limit-1)
				switch {
				case ok && i%100 == 99:
					w.MoveOn(bucket, bucket+200, 1)
					admitted.Add(1)
				case ok:
					admitted.Add(1)
				}
				if caller == 0 && i%1000 == 999 {
					w.Gather()
				}
			}
		})
	}
	wg.Wait()
	end := clock.Load() + 1_000
	w.Total(end)
	if got := w.Counted(end); got != admitted.Load() {
		t.Errorf("counted %d, admitted %d", got, admitted.Load())
	}
	if got := w.Total(end + 1_000); got != 0 {
		t.Errorf("an idle window holds %d", got)
	}
}

// Callers with limits of their own, some without any, share a window: each is refused exactly when the window holds
// more than its own room, and what is shown is what was admitted.
func TestSpreadWindowOfSeveralLimits(t *testing.T) { // not parallel: GOMAXPROCS
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	const callers, calls, limit = 16, 2_000, 12_000
	w := stat.NewWindow(int64(1e9), 2, epoch)
	var free, limited atomic.Int64
	var wg sync.WaitGroup
	for caller := range uint32(callers) {
		wg.Go(func() {
			for range calls {
				if caller%4 == 0 {
					w.ReserveBy(caller, epoch, 1, math.MaxInt64)
					free.Add(1)
					continue
				}
				before := free.Load() + limited.Load()
				_, ok := w.ReserveBy(caller, epoch, 1, limit-1)
				switch {
				case ok && before >= limit:
					t.Errorf("admitted beside %d, limit %d", before, limit)
				case ok:
					limited.Add(1)
				case w.Total(epoch) < limit || w.Within(epoch, 0, limit-1):
					t.Errorf("refused beside %d, limit %d", w.Total(epoch), limit)
				}
			}
		})
	}
	wg.Wait()
	if got, want := w.Total(epoch), free.Load()+limited.Load(); got != want || got < limit {
		t.Errorf("the window holds %d of %d admitted, limit %d", got, want, limit)
	}
}

// A window is spread only far from its limit, and is one word again when its node or resource was idle for a minute.
func TestWindowComesAndGoesSpread(t *testing.T) { // not parallel: GOMAXPROCS
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	r := newResource(newTree(t, 10), "a")
	n := r.Node("", nil)
	own := n.Exact().OwnWindow(second, 2, epoch)
	for _, w := range []*stat.Window{r.Window(epoch), n.Window(epoch), own} {
		w.ReserveBy(1, epoch, 1, 500)
		if c, _ := w.Stocks(); c != 0 {
			t.Error("spread near its limit")
		}
		w.ReserveBy(1, epoch, 1, 5_000)
		if _, units := w.Stocks(); units != 0 {
			t.Error("something is set aside where all stocks together are near the limit")
		}
		w.ReserveBy(1, epoch, 1, 50_000)
		if c, units := w.Stocks(); c != cores || units != 64 {
			t.Errorf("stocks for %d cores with %d units, want %d and 64", c, units, cores)
		}
		if got := w.Total(epoch); got != 3 {
			t.Errorf("it shows %d, want 3", got)
		}
	}
	n.Pass(0, epoch, 1)
	r.Tend(epoch+50*second, minute)
	if c, _ := own.Stocks(); c == 0 {
		t.Error("gathered too early")
	}
	r.Tend(epoch+62*second, minute)
	for _, w := range []*stat.Window{r.Window(epoch), n.Window(epoch), own} {
		if c, _ := w.Stocks(); c != 0 {
			t.Errorf("an idle window has stocks for %d cores", c)
		}
		if got := w.Counted(epoch + 62*second); got != 3 {
			t.Errorf("it counted %d, want 3", got)
		}
	}
}

// A window that takes over from a spread one takes over what was admitted, not what was set aside.
func TestContinueASpreadWindow(t *testing.T) {
	t.Parallel()
	old, next := stat.NewWindow(10, 2, epoch), stat.NewWindow(10, 4, epoch)
	old.Spread(2)
	for range 5 {
		old.ReserveBy(1, epoch, 1, 1<<40)
	}
	if _, units := old.Stocks(); units == 0 {
		t.Fatal("nothing was set aside")
	}
	next.Continue(old, epoch)
	if got := next.Total(epoch); got != 5 {
		t.Errorf("it holds %d, want 5", got)
	}
	if _, ok := old.ReserveBy(1, epoch, 1, 1<<40); ok {
		t.Error("the window before admits more")
	}
}

// What was taken back is gone also while more is set aside.
func TestUndoInASpreadWindow(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(10, 2, epoch)
	w.Spread(2)
	w.ReserveBy(0, epoch, 1, 1<<40)
	first, _ := w.ReserveBy(0, epoch, 1, 1<<40)
	if _, units := w.Stocks(); units != 63 {
		t.Fatalf("%d units are set aside, want 63", units)
	}
	w.ReserveBy(1, epoch+10, 1, 1<<40)
	if got := w.Total(epoch + 10); got != 3 {
		t.Errorf("it holds %d, want 3", got)
	}
	w.Undo(first, 2) // of a bucket that is over
	if got := w.NextRelease(epoch + 10); got != 20 {
		t.Errorf("the oldest leaves in %d, want 20", got)
	}
	w.Undo(epoch+10, 1)
	if got, next := w.Total(epoch+10), w.NextRelease(epoch+10); got != 0 || next != 0 {
		t.Errorf("it holds %d and the next leaves in %d, want nothing", got, next)
	}
}

func TestSpreadWindowAllocs(t *testing.T) { // not parallel: AllocsPerRun
	w := stat.NewWindow(10, 2, epoch)
	w.Spread(2)
	now := epoch
	if got := alloctest.Count(func() {
		now++
		w.ReserveBy(uint32(now), now, 1, 1<<40)
		w.ReserveBy(uint32(now), now, 1, 0)
	}); got != 0 {
		t.Errorf("%v allocations in 200 calls", got)
	}
}

func TestStockFillsWholeLines(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(stat.Stock{}); size != 64 {
		t.Errorf("%d bytes, want a cache line", size)
	}
}
