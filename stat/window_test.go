package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tidegate-go/tidegate/stat"
)

// windowModel is what a Window should hold: counts by bucket, and what is reserved in buckets to come.
type windowModel struct {
	length, count int64
	current       int64
	held, ahead   map[int64]int64
}

func newWindowModel(g geometry, now int64) *windowModel {
	return &windowModel{
		length: g.length(), count: g.buckets, current: now - now%g.length(),
		held: map[int64]int64{}, ahead: map[int64]int64{},
	}
}

func (m *windowModel) advance(now int64) {
	start := now - now%m.length
	if start <= m.current {
		return
	}
	m.current = start
	for at, n := range m.ahead { // also of buckets that nobody looked at
		if at <= start {
			m.held[at] += n
			delete(m.ahead, at)
		}
	}
	for at := range m.held {
		if at <= start-m.length*m.count {
			delete(m.held, at)
		}
	}
}

func sum(m map[int64]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

func (m *windowModel) total(now int64) int64 {
	m.advance(now)
	return sum(m.held)
}

func (m *windowModel) reserve(now, n, room int64) (int64, bool) {
	if m.total(now) > room {
		return 0, false
	}
	m.held[m.current] += n
	return m.current, true
}

func (m *windowModel) undo(bucket, n int64) {
	if bucket > m.current-m.length*m.count {
		m.held[bucket] -= n
	}
}

func (m *windowModel) addAhead(at, n int64) {
	if start := at - at%m.length; start > m.current {
		m.ahead[start] += n
	} else {
		m.held[m.current] += n
	}
}

func (m *windowModel) nextRelease(now int64) int64 {
	m.advance(now)
	for k := m.count - 1; k >= 0; k-- {
		if start := m.current - k*m.length; m.held[start] > 0 {
			return start + m.length*m.count - now
		}
	}
	return 0
}

// occupy is the text of the reference's tryOccupyNext, with T the timeout, L the bucket's and I the window's length.
func (m *windowModel) occupy(now, n int64, most float64, timeout int64) (int64, bool) {
	passed, borrowed := m.total(now), sum(m.ahead)
	if float64(borrowed) >= most {
		return 0, false
	}
	e := now - now%m.length + m.length - m.length*m.count
	for k := int64(0); e < now; k++ {
		wait := k*m.length + m.length - now%m.length
		if wait >= timeout {
			return 0, false
		}
		leaving := m.held[e]
		if float64(passed+borrowed+n-leaving) <= most {
			at := now + wait
			m.ahead[at-at%m.length] += n
			return wait, true
		}
		e += m.length
		passed -= leaving
	}
	return 0, false
}

func TestWindowAgainstModel(t *testing.T) {
	t.Parallel()
	for _, g := range geometries() {
		for seed := range uint64(10) {
			playWindow(t, g, seed)
		}
	}
}

func playWindow(t *testing.T, g geometry, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 11))
	now := epoch + random.Int64N(g.interval*ms)
	w, m := stat.NewWindow(g.length(), g.buckets, now), newWindowModel(g, now)
	type reservation struct{ bucket, n int64 }
	var made []reservation
	for step := range 400 {
		switch random.IntN(12) {
		case 0:
			now += random.Int64N(3 * g.interval * ms)
		case 1:
			now += g.length() - now%g.length()
		default:
			now += random.Int64N(g.length()/3 + 1)
		}
		n, limit := 1+random.Int64N(3), 5+random.Int64N(20)
		var got, want [2]int64
		switch random.IntN(8) {
		case 0, 1, 2:
			bucket, ok := w.Reserve(now, n, limit-n)
			wantBucket, wantOK := m.reserve(now, n, limit-n)
			got, want = pair(bucket, ok), pair(wantBucket, wantOK)
			if ok {
				made = append(made, reservation{bucket, n})
			}
		case 3:
			if len(made) == 0 {
				continue
			}
			i := random.IntN(len(made))
			w.Undo(made[i].bucket, made[i].n)
			m.undo(made[i].bucket, made[i].n)
			made = append(made[:i], made[i+1:]...)
		case 4, 5:
			timeout := g.length() * (1 + random.Int64N(3))
			wait, ok := w.Occupy(now, n, float64(limit), timeout)
			wantWait, wantOK := m.occupy(now, n, float64(limit), timeout)
			got, want = pair(wait, ok), pair(wantWait, wantOK)
		case 6:
			at := now + random.Int64N(2*g.length())
			if random.IntN(3) == 0 {
				n = -n
			}
			w.Total(now) // as every caller does
			m.total(now)
			w.AddAhead(at, n)
			m.addAhead(at, n)
		default:
			got[0], want[0] = w.NextRelease(now), m.nextRelease(now)
		}
		if got != want {
			t.Fatalf("%v seed %d step %d: got %v, want %v", g, seed, step, got, want)
		}
		if random.IntN(2) == 0 {
			if got, want := w.Total(now), m.total(now); got != want {
				t.Fatalf("%v seed %d step %d: holds %d, want %d", g, seed, step, got, want)
			}
		}
	}
}

func pair(n int64, ok bool) [2]int64 {
	if !ok {
		return [2]int64{-1, -1}
	}
	return [2]int64{n, 1}
}

func TestWindowUndoInLaterBuckets(t *testing.T) {
	t.Parallel()
	for _, later := range []int64{0, 400, 500, 999, 1000, 5000} {
		w := stat.NewWindow(500*ms, 2, epoch)
		bucket, _ := w.Reserve(epoch, 3, 10)
		kept, _ := w.Reserve(epoch+later*ms, 2, 10)
		w.Undo(bucket, 3)
		if got := w.Total(epoch + later*ms); got != 2 {
			t.Errorf("undone %d ms later: %d left, want 2", later, got)
		}
		w.Undo(kept, 2)
		for at := later; at < later+3000; at += 250 {
			if got := w.Total(epoch + at*ms); got != 0 {
				t.Errorf("undone %d ms later: %d at %d, want 0", later, got, at)
			}
		}
	}
}

func TestWindowRoom(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(500*ms, 2, epoch)
	if _, ok := w.Reserve(epoch, 1, -1); ok {
		t.Error("a negative room let a call in")
	}
	if _, ok := w.Reserve(epoch, math.MaxInt64, math.MaxInt64); !ok {
		t.Error("no limit refused")
	}
	if _, ok := w.Reserve(epoch, math.MaxInt64, 10); ok || w.Total(epoch) != math.MaxInt64 {
		t.Error("the count wrapped round")
	}
	if got := w.Total(epoch + 2*second); got != 0 {
		t.Errorf("later it holds %d", got)
	}
}

func TestWindowTimeThatStepsBack(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(500*ms, 2, epoch)
	w.Reserve(epoch+700*ms, 1, 10)
	bucket, ok := w.Reserve(epoch+100*ms, 1, 10)
	if !ok || bucket != epoch+500*ms {
		t.Errorf("an older reading of the clock got bucket +%d", (bucket-epoch)/ms)
	}
	if w.Total(epoch) != 2 {
		t.Errorf("holds %d, want 2", w.Total(epoch))
	}
}

func TestReserveGap(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(500*ms, 2, epoch)
	if _, ever := w.Latest(); ever {
		t.Error("a new window says it admitted a call")
	}
	pass := func(at int64) (previous int64, ok bool) { return w.ReserveGap(epoch+at*ms, 2*second) }
	previous, ok := pass(0)
	if !ok {
		t.Fatal("the first call was refused")
	}
	if _, ok := pass(1999); ok {
		t.Error("1999 ms after the first one passed")
	}
	if w.Total(epoch) != 0 {
		t.Error("noting the time counted the call")
	}
	w.UndoGap(epoch, previous)
	if _, ever := w.Latest(); ever {
		t.Error("undone, but there is a latest call")
	}
	if _, ok := pass(1999); !ok {
		t.Error("refused though the call before was undone")
	}
	if _, ok := pass(3998); ok {
		t.Error("1999 ms after the second one passed")
	}
	if _, ok := pass(3999); !ok {
		t.Error("refused 2000 ms after the second")
	}
	if last, ever := w.Latest(); !ever || last != epoch+3999*ms {
		t.Errorf("latest is +%d", (last-epoch)/ms)
	}
	w.UndoGap(epoch, previous) // too late: others came since
	if last, _ := w.Latest(); last != epoch+3999*ms {
		t.Error("a late undo changed the latest call")
	}
	if stat.GapOver(epoch, epoch+second, 2*second) || !stat.GapOver(epoch, epoch+2*second, 2*second) || !stat.GapOver(previous, epoch, 1<<62) {
		t.Error("GapOver")
	}
}

func TestWindowStartsFromTheNode(t *testing.T) {
	t.Parallel()
	for _, g := range geometries() {
		n := stat.NewNode(g.scope(t))
		now := epoch
		for i := range g.buckets + 1 {
			now = epoch + i*g.length()
			n.Pass(0, now, i+1)
		}
		n.Borrow(0, now, now+g.length(), 2)
		w, s := n.Window(now), n.Snapshot(now)
		if got, want := float64(w.Total(now)), s.PassQPS*float64(g.interval)/1000; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: starts from %v, want %v", g, got, want)
		}
		for i := range g.buckets + 2 {
			at := now + i*g.length()
			if got, want := float64(w.Total(at)), n.Snapshot(at).PassQPS*float64(g.interval)/1000; math.Abs(got-want) > 1e-9 {
				t.Errorf("%v: %d buckets later holds %v, want %v", g, i, got, want)
			}
		}
	}
}

func TestExactWordsAreKept(t *testing.T) {
	t.Parallel()
	n := stat.NewNode(scope(t, 1e9, 2))
	x := n.Exact()
	if x.Any() || x.OpenGate() != nil {
		t.Error("a scope without rules has exact words")
	}
	w, own, gate := n.Window(epoch), x.OwnWindow(ms, 10, epoch), x.Gate()
	if n.Window(epoch) != w || x.OwnWindow(ms, 10, epoch) != own || x.Gate() != gate || x.OwnWindow(ms, 5, epoch) == own {
		t.Error("asked again, another word came")
	}
	x.Keep(stat.Need{Window: true, Own: func(_, count int64) bool { return count == 10 }})
	if n.Window(epoch) != w || x.OwnWindow(ms, 10, epoch) != own || x.OpenGate() != nil {
		t.Error("kept the wrong words")
	}
	if x.Gate() != gate {
		t.Error("the gate must outlive its rules: calls still hold permits")
	}
	x.Keep(stat.Need{})
	if x.Any() {
		t.Error("words are left that nobody needs")
	}
	if n.Window(epoch) == w {
		t.Error("a dropped window came back with its old counts")
	}
}

// A caller whose time is behind the window's gets a wait by its own time, so that the place it is told is the one it has.
func TestOccupyBehindTheWindow(t *testing.T) {
	t.Parallel()
	w := stat.NewWindow(100, 2, 0)
	w.Add(0, 10)
	w.Total(100) // another caller is ahead
	const now = 99
	wait, ok := w.Occupy(now, 1, 10, 1000)
	if !ok || now+wait != 200 {
		t.Fatalf("wait %d, %v", wait, ok)
	}
	w.UndoAhead(now+wait, 1) // its caller leaves
	if _, ok := w.Reserve(150, 1, 9); ok {
		t.Error("an eleventh call was let in")
	}
	if got := w.Total(200); got != 0 {
		t.Errorf("%d in the window at 200", got)
	}
}

// Moving a call to a bucket that another caller has begun meanwhile moves it, and undoing that takes it from there.
func TestMoveOnIntoABucketThatHasBegun(t *testing.T) {
	t.Parallel()
	for _, undo := range []bool{false, true} {
		w := stat.NewWindow(100, 2, 0)
		w.Add(50, 1)
		w.Total(100)
		w.MoveOn(50, 100, 1)
		want := int64(1)
		if undo {
			w.UndoMove(50, 100, 1)
			want = 0
		}
		for _, at := range []int64{100, 200, 299} {
			if got := w.Total(at); got != want {
				t.Errorf("undone %v: %d at %d, want %d", undo, got, at, want)
			}
		}
		if got := w.Total(300); got != 0 || w.Counted(300) != want {
			t.Errorf("undone %v: %d at 300, %d counted, want 0 and %d", undo, got, w.Counted(300), want)
		}
	}
	w := stat.NewWindow(100, 2, 0)
	w.Total(300)
	w.AddAhead(250, 1) // its bucket has come and been followed by another one
	if got := []int64{w.Total(300), w.Total(399), w.Total(400)}; got[0] != 1 || got[1] != 1 || got[2] != 0 {
		t.Errorf("added to the bucket of 200: %v at 300, 399, 400", got)
	}
	w.UndoAhead(250, 1)
	if got := w.Total(400); got != 0 {
		t.Errorf("%d after the undo", got)
	}
}
