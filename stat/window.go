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

// move is a count that goes from its bucket to a later one when that begins.
type move struct{ from, to, count int64 }

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

// takeMoves takes what is to move to buckets up to next out of where it is, leaves it to takeLoans and returns how
// much that is.
func (w *Window) takeMoves(current, next int64) (count int64) {
	kept := w.moves[:0]
	for _, m := range w.moves {
		if m.to > next {
			kept = append(kept, m)
			continue
		}
		if m.from > current-w.length*w.count {
			w.closed[w.index(m.from)] -= m.count
			w.sum -= m.count
			count += m.count
		}
		w.reserveAhead(m.to, m.count)
	}
	w.moves = kept
	return count
}

// UndoMove takes back n that MoveOn moved.
func (w *Window) UndoMove(from, at, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, to := from-from%w.length, at-at%w.length
	for i, m := range w.moves {
		if m == (move{from, to, n}) {
			w.moves = append(w.moves[:i], w.moves[i+1:]...)
			w.undoLocked(from, n)
			return
		}
	}
	if to > w.start.Load() {
		w.reserveAhead(at, -n)
		return
	}
	w.undoLocked(to, n)
}

// takeLoans counts what was reserved in buckets up to the one that begins at start, and returns how much that is.
// Nobody may have looked while an earlier one was current: it is closed at once.
func (w *Window) takeLoans(start int64) (count int64) {
	kept := w.future[:0]
	for _, l := range w.future {
		switch {
		case l.start > start:
			kept = append(kept, l)
		case l.start > start-w.length*w.count:
			count += l.count
			if l.start < start {
				w.closed[w.index(l.start)] += l.count
				w.sum += l.count
			}
		default: // it has come and gone
			w.left += l.count
		}
	}
	w.future = kept
	w.lent.Store(len(kept) > 0 || len(w.moves) > 0)
	return count
}

// settle lets what is reserved in the bucket of time now count, where nobody asks for the window's total meanwhile.
func (w *Window) settle(now int64) {
	if w.lent.Load() {
		w.advance(now)
	}
}

// Occupy reserves n in a bucket to come, for a prioritized call, if what will have left the window by then
// makes room below most. It returns how long the call must wait, in ns; false if not less than timeout.
// The algorithm is Sentinel's tryOccupyNext.
func (w *Window) Occupy(now, n int64, most float64, timeout int64) (wait int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advanceLocked(now)
	w.collect()
	asked := now
	now = max(now, w.start.Load()) // another caller may be ahead
	waiting := w.waiting()
	if float64(waiting) >= most {
		return 0, false
	}
	passed := w.total.Load()
	earliest := now - now%w.length + w.length - w.length*w.count
	for at := now - now%w.length + w.length; earliest < now; at += w.length {
		if at-asked >= timeout {
			return 0, false
		}
		leaving := w.held(earliest)
		if float64(passed+waiting+n-leaving) <= most {
			w.reserveAhead(at, n)
			return at - asked, true
		}
		earliest += w.length
		passed -= leaving
	}
	return 0, false
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

func (w *Window) waiting() (n int64) {
	for _, l := range w.future {
		n += l.count
	}
	return n
}

// UndoAhead takes back n counted in the bucket of time at, which may have come meanwhile.
func (w *Window) UndoAhead(at, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	start := at - at%w.length
	if start > w.start.Load() {
		w.reserveAhead(at, -n)
		return
	}
	w.undoLocked(start, n)
}

// MoveOn moves n, counted in the bucket of time from, to the bucket of the later time at when that begins. Until then
// it counts where it is.
func (w *Window) MoveOn(from, at, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from, to, current := from-from%w.length, at-at%w.length, w.start.Load()
	switch {
	case to <= from:
	case to <= current: // another caller has come there already
		w.moveNow(from, to, n)
	case from > current: // both are yet to come
		w.reserveAhead(from, -n)
		w.reserveAhead(to, n)
	default:
		w.moves = append(w.moves, move{from: from, to: to, count: n})
		w.lent.Store(true)
	}
}

// moveNow moves n to a bucket that has begun, without total being less meanwhile. The caller holds mu.
func (w *Window) moveNow(from, to, n int64) {
	if w.holds(from) {
		w.closed[w.index(from)] -= n
		w.sum -= n
	} else { // it has left the window
		w.total.Add(n)
		w.left -= n
	}
	switch {
	case to == w.start.Load():
	case w.holds(to):
		w.closed[w.index(to)] += n
		w.sum += n
	default:
		w.total.Add(-n)
		w.left += n
	}
}

// holds says whether a bucket that has begun is in the window. The caller holds mu.
func (w *Window) holds(start int64) bool { return start > w.start.Load()-w.length*w.count }

// AddAhead counts n in the bucket of a later time, without a limit.
func (w *Window) AddAhead(at, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch start, current := at-at%w.length, w.start.Load(); {
	case start > current:
		w.reserveAhead(at, n)
	case start == current: // it has come
		w.total.Add(n)
	case w.holds(start):
		w.closed[w.index(start)] += n
		w.sum += n
		w.total.Add(n)
	default:
		w.left += n
	}
}

func (w *Window) reserveAhead(at, n int64) {
	start := at - at%w.length
	for i := range w.future {
		if w.future[i].start == start {
			w.future[i].count += n
			return
		}
	}
	w.future = append(w.future, loan{start: start, count: n})
	w.lent.Store(true)
}

func saturatingAdd(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}
