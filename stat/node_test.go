package stat_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/internal/alloctest"
	"github.com/tidegate-go/tidegate/stat"
)

func TestTendKeepsAWindowLongerThanAMinute(t *testing.T) {
	t.Parallel()
	n := stat.NewNode(scope(t, 3*time.Minute, 3))
	n.Pass(0, epoch, 18)
	n.Tend(epoch + 61*second)
	if got := n.Snapshot(epoch + 61*second).PassQPS; got != 0.1 {
		t.Errorf("%v passes per second after housekeeping, want 18 in 180 s", got)
	}
	if got := n.Window(epoch + 61*second).Total(epoch + 61*second); got != 18 {
		t.Errorf("the exact window starts from %d, want 18", got)
	}
}

func TestTendGivesMemoryBack(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	n := stat.NewNode(scope(t, time.Second, 2))
	if n.Tend(epoch) > 0 {
		t.Error("a node that was never used says when it was")
	}
	n.Inflate()
	for i := range int64(60) {
		n.Pass(uint32(i), epoch+i*second, 1)
	}
	if n.HasHistory() != 6 {
		t.Errorf("%d chunks of history, want 6", n.HasHistory())
	}
	last := epoch + 59*second
	if used := n.Tend(last + 60*second); used != last {
		t.Errorf("last used at +%d s, want +59", (used-epoch)/second)
	}
	if n.Rings() != 4 {
		t.Error("a node in use lost its rings")
	}
	n.Tend(last + 61*second)
	if n.Rings() != 1 || n.HasHistory() != 0 {
		t.Errorf("after a minute without calls %d rings and %d chunks, want 1 and 0", n.Rings(), n.HasHistory())
	}
	n.Tend(last + 121*second)
	if n.Active() != 60 {
		t.Errorf("%d in flight, want 60", n.Active())
	}
	for i := range int64(60) {
		n.Complete(uint32(i), last+70*second, 1, second, false)
	}
	if n.Active() != 0 {
		t.Errorf("%d in flight at the end, want 0", n.Active())
	}
}

func TestReshape(t *testing.T) {
	t.Parallel()
	sc := scope(t, time.Second, 2)
	n := stat.NewNode(sc)
	n.Pass(0, epoch, 3)
	n.Block(0, epoch, 2)
	n.Borrow(0, epoch, epoch+500*ms, 1)
	w := n.Window(epoch)
	if w.Total(epoch) != 3 {
		t.Errorf("the window starts from %d, want 3", w.Total(epoch))
	}
	sc.SetShape(shape(t, 2*time.Second, 4))
	n.Reshape()
	s := n.Snapshot(epoch)
	if s.PassQPS != 0 || s.Waiting != 0 || s.TotalPass != 4 || s.TotalBlock != 2 || s.Active != 1 {
		t.Errorf("after the change %+v", s)
	}
	if w := n.Window(epoch); w.Interval() != 2*second || w.Total(epoch) != 0 {
		t.Errorf("the exact window is of %v with %d", time.Duration(w.Interval()), w.Total(epoch))
	}
	n.Pass(0, epoch+second, 4)
	if s := n.Snapshot(epoch + second + 900*ms); s.PassQPS != 2 || s.TotalPass != 8 {
		t.Errorf("in the new window %+v", s)
	}
	n.Complete(0, epoch+second, 1, 5*ms, false)
	n.Complete(0, epoch+second, 1, 5*ms, false)
	if n.Active() != 0 {
		t.Errorf("%d in flight, want 0", n.Active())
	}
}

// The window changes and housekeeping runs while calls come and go: none is lost in flight.
func TestReshapeAndTendUnderLoad(t *testing.T) {
	for _, procs := range []int{2, 4} {
		old := runtime.GOMAXPROCS(procs)
		sc := scope(t, time.Second, 2)
		n := stat.NewNode(sc)
		shapes := []*stat.Shape{shape(t, time.Second, 2), shape(t, 2*time.Second, 4), shape(t, time.Second, 10)}
		var now atomic.Int64
		now.Store(epoch)
		var calls, control sync.WaitGroup
		stop := make(chan struct{})
		control.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				sc.SetShape(shapes[i%3])
				n.Reshape()
				n.Inflate()
				n.Tend(now.Load())
				n.Tend(now.Load())
				n.Snapshot(now.Load())
			}
		})
		for w := range uint32(8) {
			calls.Go(func() {
				for range 2_000 {
					n.Pass(w, now.Load(), 1)
					n.Complete(w, now.Add(ms/10), 1, ms, false)
				}
			})
		}
		calls.Wait()
		close(stop)
		control.Wait()
		n.Tend(now.Load())
		n.Tend(now.Load() + 2*minute)
		n.Tend(now.Load() + 2*minute)
		if n.Active() != 0 {
			t.Errorf("GOMAXPROCS %d: %d in flight at the end, want 0", procs, n.Active())
		}
		runtime.GOMAXPROCS(old)
	}
}

// Making the exact window reads the node and changing the node drops the window: neither may wait for the other.
func TestReshapeWhileWindowsAreMade(t *testing.T) {
	t.Parallel()
	sc := scope(t, time.Second, 2)
	n := stat.NewNode(sc)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for i := range int64(20_000) {
					n.Window(epoch+i*ms).Reserve(epoch+i*ms, 1, 10)
				}
			})
			wg.Go(func() {
				for range 5_000 {
					n.Reshape()
				}
			})
		}
		wg.Wait()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("deadlock")
	}
}

func TestCallersThatMeetInflate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	n := stat.NewNode(scope(t, time.Second, 2))
	deadline := time.Now().Add(10 * time.Second)
	var calls atomic.Int64
	for n.Rings() == 1 && time.Now().Before(deadline) {
		var wg sync.WaitGroup
		for w := range uint32(8) {
			wg.Go(func() {
				for range 2_000 {
					n.Pass(w, epoch, 1)
					n.Block(w, epoch, 1)
					n.Complete(w, epoch, 1, ms, w%2 == 0)
					calls.Add(1)
				}
			})
		}
		wg.Wait()
	}
	s := n.Snapshot(epoch)
	if total := calls.Load(); s.TotalPass != total || s.TotalBlock != total || s.TotalSuccess != total || s.TotalException != total/2 {
		t.Errorf("after %d calls with %d rings: %+v", total, n.Rings(), s)
	}
	if s.Active != 0 || s.AvgRT != 1 {
		t.Errorf("in flight %d, average response time %v", s.Active, s.AvgRT)
	}
	if n.Rings() != 4 && runtime.NumCPU() > 1 {
		t.Errorf("%d rings, want 4: callers on several cores met", n.Rings())
	}
}

func TestOneCoreIsNeverInflated(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n := stat.NewNode(scope(t, time.Second, 2))
	n.Inflate()
	if n.Rings() != 1 {
		t.Errorf("%d rings on one core", n.Rings())
	}
}

// Time moves on while callers write: no pass is lost, whichever bucket it lands in.
func TestNothingLostWhenBucketsChange(t *testing.T) {
	for _, procs := range []int{1, 2, 4} {
		old := runtime.GOMAXPROCS(procs)
		n := stat.NewNode(scope(t, time.Second, 10))
		var now atomic.Int64
		now.Store(epoch)
		const workers, rounds = 8, 4_000
		var wg sync.WaitGroup
		for w := range uint32(workers) {
			wg.Go(func() {
				for range rounds {
					n.Pass(w, now.Add(ms), 1)
					n.Complete(w, now.Load(), 1, ms, true)
				}
			})
		}
		wg.Wait() // 32 s have passed
		s := n.Snapshot(now.Load())
		if s.TotalPass != workers*rounds || s.TotalSuccess != workers*rounds || s.TotalException != workers*rounds || s.Active != 0 {
			t.Errorf("GOMAXPROCS %d: of %d calls %+v", procs, workers*rounds, s)
		}
		runtime.GOMAXPROCS(old)
	}
}

// A caller whose reading of the clock is older than the ring is counted, in the newest bucket.
func TestOldReadingOfTheClock(t *testing.T) {
	t.Parallel()
	n := stat.NewNode(scope(t, time.Second, 2))
	n.Pass(0, epoch+5*second, 1)
	n.Pass(0, epoch+5*second-300*ms, 1) // its bucket is still there
	n.Pass(0, epoch, 1)
	s := n.Snapshot(epoch + 5*second)
	if s.PassQPS != 3 || s.TotalPass != 3 {
		t.Errorf("%+v, want three passes", s)
	}
	if n.Snapshot(epoch+5*second+500*ms).PassQPS != 2 {
		t.Error("the pass of the older bucket is not where it belongs")
	}
}

func TestBorrowedPassCountsOnlyIfTheBucketIsSeen(t *testing.T) {
	t.Parallel()
	for name, see := range map[string]func(*stat.Node, int64){
		"snapshot": func(n *stat.Node, now int64) { n.Snapshot(now) },
		"touch":    func(n *stat.Node, now int64) { n.Touch(now) },
		"call":     func(n *stat.Node, now int64) { n.Block(0, now, 1) },
		"nobody":   func(*stat.Node, int64) {},
	} {
		n := stat.NewNode(scope(t, time.Second, 2))
		n.Pass(0, epoch, 1)
		n.Borrow(0, epoch+100*ms, epoch+500*ms, 2)
		if s := n.Snapshot(epoch + 100*ms); s.PassQPS != 1 || s.Waiting != 2 || s.TotalPass != 3 || s.TotalOccupied != 2 || s.Active != 1 {
			t.Errorf("%s: borrowed %+v", name, s)
		}
		see(n, epoch+700*ms)
		want := 2.0
		if name == "nobody" {
			want = 0
		}
		if s := n.Snapshot(epoch + 1100*ms); s.PassQPS != want || s.Waiting != 0 || s.TotalPass != 3 {
			t.Errorf("%s: later %+v, want %v passes", name, s, want)
		}
	}
}

func TestSecondsOfAnInflatedNode(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	n := stat.NewNode(scope(t, time.Second, 2))
	n.Inflate()
	for i := range uint32(8) {
		n.Pass(i, epoch, 1)
	}
	for i := range uint32(8) {
		n.Pass(i, epoch+second, 2)
	}
	list := n.Seconds(epoch+2*second, time.Unix(0, epoch))
	if len(list) != 2 || list[0].Pass != 8 || list[1].Pass != 16 || !list[1].Time.Equal(time.Unix(0, epoch+second)) {
		t.Errorf("seconds %+v", list)
	}
	if list := n.Seconds(epoch+2*second-1, time.Unix(0, epoch)); len(list) != 1 {
		t.Errorf("%d seconds are over, want 1", len(list))
	}
	if list := n.Seconds(epoch+2*second, time.Unix(0, epoch+1)); len(list) != 1 {
		t.Errorf("%d seconds began since, want 1", len(list))
	}
}

func TestPeakInFlight(t *testing.T) {
	t.Parallel()
	n := stat.NewNode(scope(t, time.Second, 2))
	for range 5 {
		n.Pass(0, epoch+100*ms, 1)
	}
	for range 3 {
		n.Complete(0, epoch+1100*ms, 1, ms, false)
	}
	list := n.Seconds(epoch+5*second, time.Unix(0, epoch))
	if len(list) != 2 || list[0].Peak < 2 || list[0].Peak > 5 {
		t.Errorf("seconds %+v, want a peak of 2 to 5 in the first", list)
	}
}

func TestNodeAllocs(t *testing.T) { // not parallel: it counts allocations
	n := stat.NewNode(scope(t, time.Second, 2))
	now := epoch
	for range 1000 { // fills the history, whose chunks are made once
		now += 100 * ms
		n.Pass(0, now, 1)
		n.Complete(0, now, 1, ms, false)
	}
	if got := alloctest.Count(func() {
		now += 100 * ms
		n.Pass(0, now, 1)
		n.Block(0, now, 1)
		n.Complete(0, now, 1, ms, true)
	}); got != 0 {
		t.Errorf("%v allocations per call, want 0", got)
	}
}
