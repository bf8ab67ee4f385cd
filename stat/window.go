package stat

import (
	"math"
	"sync"
	"sync/atomic"
)

// Window counts admissions exactly: no number of simultaneous callers gets more reservations than a limit
// allows. It is a sliding window of buckets aligned to the epoch, like a node's, but of one word.
//
// A caller loads total, compares, and adds by compare-and-swap: one shared write per admitted call, none per
// refused one. Callers of several cores who use ReserveBy make that write for 64 admissions at once: see spread. When a
// bucket ends, one caller subtracts under the mutex what leaves the window; what the current bucket holds is the total
// less the closed buckets, so callers need not know the bucket.
//
// A window is half a cache line, so that what else a call needs of a rule can be in the other half: with many windows in
// use these lines are what calls cost. The zero value is not usable: see NewWindow and Init.
type Window struct {
	total  atomic.Int64 // of all buckets of the window, with what is set aside
	start  atomic.Int64 // of the current bucket, ns
	length int64        // of a bucket, ns
	*ledger
}

// A ledger is the rest of a window. What callers read comes first, away from what those write who hold mu.
type ledger struct {
	count  int64                  // buckets
	spread atomic.Pointer[spread] // nil: callers of several cores have not met; written under mu
	last   atomic.Int64           // time of the latest admission by ReserveGap
	gap    atomic.Int64           // of the latest ReserveGap, ns
	era    atomic.Uint32          // odd while total may hold what is set aside; written under mu
	lent   atomic.Bool            // whether future holds anything

	closed []int64   // by bucket number modulo count; 0 for the current bucket; guarded by mu
	few    [10]int64 // closed, if it has room, so that it is beside the rest
	future []loan    // reserved in buckets to come; guarded by mu
	moves  []move    // to buckets to come; guarded by mu
	sum    int64     // of closed; guarded by mu
	left   int64     // units that have left the window; guarded by mu
	mu     sync.Mutex
}

// NewWindow makes an empty window of count buckets of the length in ns. It has a cache line of its own.
func NewWindow(length, count, now int64) *Window {
	w := new(struct {
		Window
		_ [32]byte
	})
	w.Init(length, count, now)
	return &w.Window
}

// Init makes w, which is new, what NewWindow returns. Who holds it looks after what shares its cache line.
func (w *Window) Init(length, count, now int64) {
	w.length, w.ledger = length, &ledger{count: count}
	if count <= int64(len(w.few)) {
		w.closed = w.few[:count]
	} else {
		w.closed = make([]int64, count)
	}
	w.start.Store(now - now%length)
	w.last.Store(never)
}

// Interval returns the window's length in ns.
func (w *Window) Interval() int64 { return w.length * w.count }

// Reserve adds n if the total before is at most room. It returns the bucket it was added to, for Undo.
// A negative room refuses every n.
func (w *Window) Reserve(now, n, room int64) (bucket int64, ok bool) {
	w.Touch(now)
	for {
		total := w.total.Load()
		if total > room {
			if w.Full(room) {
				return 0, false
			}
			continue
		}
		bucket = w.start.Load()
		if w.total.CompareAndSwap(total, saturatingAdd(total, n)) {
			return bucket, true
		}
	}
}

// ReserveGap notes now as the time of the latest admission if the one before is at least gap ns ago. It counts nothing.
func (w *Window) ReserveGap(now, gap int64) (previous int64, ok bool) {
	for {
		previous = w.last.Load()
		if !GapOver(previous, now, gap) {
			return 0, false
		}
		if w.last.CompareAndSwap(previous, now) {
			if w.gap.Load() != gap {
				w.gap.Store(gap)
			}
			return previous, true
		}
	}
}

// GapOver says whether an admission, as ReserveGap returns it, is at least gap ns before now.
func GapOver(previous, now, gap int64) bool { return previous == never || now-previous >= gap }

// UndoGap gives back what ReserveGap noted at time reserved, if nobody came since.
func (w *Window) UndoGap(reserved, previous int64) { w.last.CompareAndSwap(reserved, previous) }

// Latest returns when ReserveGap last admitted a call, and whether it ever did.
func (w *Window) Latest() (int64, bool) {
	last := w.last.Load()
	return last, last != never
}

// Add counts n without a limit and returns the bucket.
func (w *Window) Add(now, n int64) (bucket int64) {
	bucket, _ = w.Reserve(now, n, math.MaxInt64)
	return bucket
}

// Undo takes back a reservation of n in that bucket.
func (w *Window) Undo(bucket, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.undoLocked(bucket, n)
}

func (w *Window) undoLocked(bucket, n int64) {
	current := w.start.Load()
	switch {
	case bucket == current:
		w.total.Add(-n)
	case bucket > current-w.length*w.count:
		w.closed[w.index(bucket)] -= n
		w.sum -= n
		w.total.Add(-n)
	}
}

// Total returns what the window holds at time now.
func (w *Window) Total(now int64) int64 {
	w.Touch(now)
	return w.exact()
}

// Touch moves the window on to the bucket of time now, as any use of it does.
func (w *Window) Touch(now int64) {
	if uint64(now-w.start.Load()) >= uint64(w.length) {
		w.advance(now)
	}
}

// NextRelease returns in how many ns, from now, the oldest reservation leaves the window; 0 if there is none.
func (w *Window) NextRelease(now int64) int64 {
	w.Touch(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	current := w.start.Load()
	for k := w.count - 1; k >= 0; k-- {
		start := current - k*w.length
		held := w.closed[w.index(start)]
		if k == 0 {
			held = w.exactLocked() - w.sum
		}
		if held > 0 {
			return start + w.length*w.count - now
		}
	}
	return 0
}

func (w *Window) index(start int64) int64 { return start / w.length % w.count }

// advance moves the window on to the bucket of time now. A time before the current bucket changes nothing.
func (w *Window) advance(now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advanceLocked(now)
}

func (w *Window) advanceLocked(now int64) {
	current, next := w.start.Load(), now-now%w.length
	if next <= current {
		return
	}
	w.collect()
	held := w.total.Load() - w.sum // of the bucket that ends; later adds belong to the new one
	w.closed[w.index(current)] = held
	w.sum += held
	moved := w.takeMoves(current, next)
	expired := moved
	for k := int64(1); k <= min((next-current)/w.length, w.count); k++ {
		slot := &w.closed[w.index(current+k*w.length)]
		expired += *slot
		*slot = 0
	}
	w.sum -= expired - moved
	w.left += expired - moved
	w.total.Add(w.takeLoans(next) - expired)
	w.start.Store(next)
}

// held returns what the bucket holds. The caller holds mu and has collected.
func (w *Window) held(start int64) int64 {
	switch {
	case start == w.start.Load():
		return w.total.Load() - w.sum
	case start < 0: // before the clock began
		return 0
	}
	return w.closed[w.index(start)]
}

// holds says whether a bucket that has begun is in the window. The caller holds mu.
func (w *Window) holds(start int64) bool { return start > w.start.Load()-w.length*w.count }

func saturatingAdd(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}
