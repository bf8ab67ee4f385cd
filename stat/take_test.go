package stat_test

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/tidegate-go/tidegate/stat"
)

func TestWindowsShareNoLine(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(stat.Window{}); unsafe.Sizeof(uintptr(0)) == 8 && size != 32 {
		t.Errorf("%d bytes, want half a cache line", size)
	}
	windows := make([]*stat.Window, 1000)
	for i := range windows {
		windows[i] = stat.NewWindow(1000, 2, 0)
	}
	lines := map[uintptr]int{}
	for i, w := range windows {
		line := reflect.ValueOf(w).Pointer() / 64
		if before, shared := lines[line]; shared {
			t.Fatalf("windows %d and %d share a line", before, i)
		}
		lines[line] = i
	}
}

// A grant is what a window's model knows: units that count at once until a time, from which on they are in the bucket
// that begins then; or, if it is 0, in that of their time.
type grant struct{ now, at, n int64 }

// held returns what the window of count buckets of length 10 must hold at time now.
func held(grants []grant, now, count int64) (total int64) {
	oldest := now - now%10 - (count-1)*10
	for _, g := range grants {
		if bucket := max(g.now, g.at); bucket-bucket%10 >= oldest {
			total += g.n
		}
	}
	return total
}

// Plain and borrowing callers against a model that keeps every grant: each gets a place exactly if there is one, no
// window ever holds more than the limit of what was granted, and nothing that was granted is lost.
func TestTakeAndBorrowLikeModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1))
		count, most := 1+random.Int64N(6), 1+random.Int64N(12)
		w := stat.NewWindow(10, count, 1000)
		var grants []grant
		var all int64
		for now := int64(1000); now < 4000; now += random.Int64N(9) * random.Int64N(5) {
			n := 1 + random.Int64N(3)
			before := held(grants, now, count)
			if got := w.Total(now); got != before {
				t.Fatalf("seed %d at %d: total %d, want %d", seed, now, got, before)
			}
			if total, ok := w.Take(now, n, most); ok != (before+n <= most) {
				t.Fatalf("seed %d at %d: taken %v of %d + %d", seed, now, ok, before, n)
			} else if ok {
				if total != before+n {
					t.Fatalf("seed %d at %d: %d after %d + %d", seed, now, total, before, n)
				}
				grants, all = append(grants, grant{now, 0, n}), all+n
			} else if wait, ok := w.Borrow(now, n, most, 50); ok {
				if wait <= 0 || wait > 50 || (now+wait)%10 != 0 {
					t.Fatalf("seed %d at %d: waits %d", seed, now, wait)
				}
				if earlier := now + wait - 10; earlier > now && held(grants, earlier, count)+n <= most {
					t.Fatalf("seed %d at %d: waits %d, but there is room at %d", seed, now, wait, earlier)
				}
				grants, all = append(grants, grant{now, now + wait, n}), all+n
			}
			for at := now; at < now+100; at += 10 {
				if inBucket := placed(grants, at, count); inBucket > most {
					t.Fatalf("seed %d: the window at %d holds %d of %d", seed, at, inBucket, most)
				}
			}
		}
		if got := w.Counted(10_000); got != all {
			t.Fatalf("seed %d: counted %d of %d", seed, got, all)
		}
	}
}

// placed returns what begins in the buckets of the window at a time.
func placed(grants []grant, at, count int64) (total int64) {
	oldest, newest := at-at%10-(count-1)*10, at-at%10
	for _, g := range grants {
		bucket := max(g.now, g.at)
		if bucket -= bucket % 10; bucket >= oldest && bucket <= newest {
			total += g.n
		}
	}
	return total
}

// What moves to a later bucket leaves the sum of the closed ones once, not twice.
func TestMovedUnitsStayCounted(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(10, 4, 0)
	w.Add(5, 3)
	w.MoveOn(5, 25, 3)
	for _, c := range []struct{ now, total int64 }{{15, 3}, {25, 3}, {35, 3}, {45, 3}, {59, 3}, {60, 0}, {70, 0}, {200, 0}} {
		if got := w.Total(c.now); got != c.total {
			t.Fatalf("at %d: %d, want %d", c.now, got, c.total)
		}
	}
	if got := w.Counted(200); got != 3 {
		t.Errorf("counted %d", got)
	}
}

func TestContinue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		length, count int64
		at35, at95    int64
	}{
		{"longer", 10, 20, 7, 7},
		{"same", 10, 4, 7, 0},
		{"shorter", 5, 2, 4, 0},
		{"coarser", 40, 2, 7, 0},
	} {
		old := stat.NewWindow(10, 4, 0)
		old.Add(5, 3)
		old.Add(31, 4)
		next := stat.NewWindow(c.length, c.count, 35)
		next.Continue(old, 35)
		if total, ok := old.Take(36, 1, stat.MostUnits); ok || !stat.Sealed(total) {
			t.Errorf("%s: the old window admits", c.name)
		}
		if total, ok := old.Take(36_000, 1, stat.MostUnits); ok || !stat.Sealed(total) {
			t.Errorf("%s: the old window admits later", c.name)
		}
		if _, ok := old.Borrow(36_000, 1, stat.MostUnits, 1000); ok {
			t.Errorf("%s: the old window lends", c.name)
		}
		if got := next.Total(35); got != c.at35 {
			t.Errorf("%s: at 35 %d, want %d", c.name, got, c.at35)
		}
		if got := next.Total(95); got != c.at95 {
			t.Errorf("%s: at 95 %d, want %d", c.name, got, c.at95)
		}
		if got := next.Counted(1000); got != 7 {
			t.Errorf("%s: counted %d", c.name, got)
		}
	}
	if total, _ := stat.NewWindow(10, 4, 0).Take(1, 1, stat.MostUnits); stat.Sealed(total) {
		t.Error("a window in use is not sealed")
	}
}

// A window that was made before others moved the old one on has their units where they belong.
func TestContinueBehind(t *testing.T) {
	t.Parallel()
	old, next := stat.NewWindow(10, 4, 0), stat.NewWindow(10, 4, 0)
	old.Add(205, 3)
	next.Continue(old, 0)
	for _, c := range []struct{ now, total int64 }{{0, 3}, {205, 3}, {239, 3}, {240, 0}} {
		if got := next.Total(c.now); got != c.total {
			t.Errorf("at %d: %d, want %d", c.now, got, c.total)
		}
	}
}

// Units that wait for a bucket go on to wait for it.
func TestContinueWithWaiting(t *testing.T) {
	t.Parallel()
	old := stat.NewWindow(10, 4, 0)
	old.Take(5, 4, 4)
	if wait, ok := old.Borrow(31, 2, 4, 100); !ok || wait != 9 {
		t.Fatalf("wait %d %v", wait, ok)
	}
	next := stat.NewWindow(20, 4, 32)
	next.Continue(old, 32)
	for _, c := range []struct{ now, total int64 }{{39, 6}, {59, 6}, {80, 2}, {119, 2}, {120, 0}} {
		if got := next.Total(c.now); got != c.total {
			t.Errorf("at %d: %d, want %d", c.now, got, c.total)
		}
	}
}

// Callers at once, while buckets end, get no more than the limit in any window, borrowed units included.
func TestTakeAndBorrowAtOnce(t *testing.T) {
	t.Parallel()
	const most, callers = 50, 8
	w := stat.NewWindow(10, 5, 0)
	var now, granted atomic.Int64
	for round := range int64(40) {
		now.Store(round * 50) // a window further: all that is left over are borrowed units
		before := w.Total(now.Load())
		granted.Store(before)
		var group sync.WaitGroup
		for c := range callers {
			group.Go(func() {
				for i := range int64(200) {
					at := now.Load() + i/5
					if _, ok := w.Take(at, 1, most); ok {
						granted.Add(1)
					} else if c%2 == 0 {
						w.Borrow(at, 1, most, 20)
					}
				}
			})
		}
		group.Wait()
		if got := granted.Load(); got > most {
			t.Fatalf("round %d: %d granted of %d", round, got, most)
		}
	}
}
