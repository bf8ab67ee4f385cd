package stat

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// A spread window sets admissions aside for the callers of each core. Total counts them at once, so it never says
// less than what was admitted, and a caller takes from its core's stock in a cache line of its own: of some 64
// admissions one writes the line that all cores share. It is as exact as one word:
//
//   - a stock is good for the bucket it was counted in: whoever starts the next one collects all stocks first;
//   - nobody is refused while others have something left: a caller who finds no room collects all stocks and looks
//     again;
//   - a caller compares total with its own limit, whoever set the stock aside. What it takes is in total already, so
//     if total less that is within the limit, what was admitted is too.
//
// Near a limit, where stocks would be collected again and again, nothing is set aside. Setting aside and collecting
// happen under the window's mutex; both raise the stock's generation, so that whoever takes from one knows that
// neither happened between its looks at the stock, the bucket and the total.
type spread struct{ stocks []stock }

// stock is what one core's callers may admit. It fills a cache line.
type stock struct {
	word atomic.Uint64 // generation << 32 | units left
	_    [56]byte
}

const (
	unitsLeft = 1<<32 - 1
	setAside  = 64           // units
	farEnough = 4 * setAside // for each stock that a limit must be away
)

// coreStripes returns how many sets of counters give each processor one of its own: a power of two, for hints.
func coreStripes() int { return 1 << bits.Len(uint(runtime.GOMAXPROCS(0)-1)) }

// ReserveBy is Reserve for callers who come again and again from several cores. The hint tells them apart, as that of
// Node.Pass. The first such call far from its limit spreads the window.
func (w *Window) ReserveBy(hint uint32, now, n, room int64) (bucket int64, ok bool) {
	w.Touch(now)
	far := int64(2 * farEnough)
	if s := w.spread.Load(); s != nil {
		if bucket, ok = w.takeStock(s.of(hint), n, room); ok {
			return bucket, true
		}
		far = s.far()
	}
	if bucket, ok = w.Reserve(now, n, room); ok && n <= setAside && room-w.total.Load() >= far {
		w.setAside(hint, n, room)
	}
	return bucket, ok
}

// far is how far a limit must be away for anything to be set aside.
func (s *spread) far() int64 { return int64(farEnough * len(s.stocks)) }

func (s *spread) of(hint uint32) *atomic.Uint64 { return &s.stocks[hint&uint32(len(s.stocks)-1)].word }

// takeStock takes n from the stock, if it has as much and the window's total says that the limit allows it.
func (w *Window) takeStock(c *atomic.Uint64, n, room int64) (bucket int64, ok bool) {
	word := c.Load()
	if int64(word&unitsLeft) < n {
		return 0, false
	}
	bucket = w.start.Load()
	if w.total.Load()-n > room {
		return 0, false
	}
	return bucket, c.CompareAndSwap(word, word-uint64(n))
}

// setAside fills the stock of the caller, which had less than n, if the limit is far.
func (w *Window) setAside(hint uint32, n, room int64) {
	if !w.mu.TryLock() {
		return
	}
	defer w.mu.Unlock()
	s := w.spread.Load()
	if s == nil {
		s = &spread{stocks: make([]stock, coreStripes())}
		w.spread.Store(s)
	}
	c := s.of(hint)
	word, total := c.Load(), w.total.Load()
	if int64(word&unitsLeft) >= n || room-total < s.far() {
		return
	}
	if w.era.Load()&1 == 0 {
		w.era.Add(1) // before total: see isFull
	}
	if !w.total.CompareAndSwap(total, total+setAside) {
		return
	}
	if !c.CompareAndSwap(word, word+1<<32+setAside) {
		w.total.Add(-setAside)
	}
}

// collect takes back what is set aside, so that total is exact until mu is released. The caller holds mu.
func (w *Window) collect() {
	if w.era.Load()&1 == 0 {
		return
	}
	if s := w.spread.Load(); s != nil {
		var left int64
		for i := range s.stocks {
			left += empty(&s.stocks[i].word)
		}
		w.total.Add(-left)
	}
	w.era.Add(1) // after total: see isFull
}

// empty takes all that a stock has.
func empty(c *atomic.Uint64) int64 {
	for {
		word := c.Load()
		if word&unitsLeft == 0 {
			return 0
		}
		if c.CompareAndSwap(word, word&^unitsLeft+1<<32) {
			return int64(word & unitsLeft)
		}
	}
}

// Bound returns what the window holds, with what is set aside. The caller has touched the window.
func (w *Window) Bound() int64 { return w.total.Load() }

// Full says whether the window holds more than room, for a caller who saw that in Bound. As long as nothing was ever
// set aside, that was exact.
func (w *Window) Full(room int64) bool { return w.era.Load() == 0 || w.isFull(room) }

// isFull collects what is set aside, if anything is: total counts it only while era is odd. Else it writes nothing.
func (w *Window) isFull(room int64) bool {
	if era := w.era.Load(); era&1 == 0 && w.total.Load() > room && w.era.Load() == era {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.collect()
	return w.total.Load() > room
}

// Within says whether the window holds at most most, beside n of the caller's own.
func (w *Window) Within(now, n, most int64) bool {
	w.Touch(now)
	most = saturatingAdd(most, n)
	return w.Bound() <= most || !w.Full(most)
}

// exact returns what the window holds without what is set aside.
func (w *Window) exact() int64 {
	if era := w.era.Load(); era&1 == 0 {
		if total := w.total.Load(); w.era.Load() == era {
			return total
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exactLocked()
}

// exactLocked is exact for a caller that holds mu.
func (w *Window) exactLocked() int64 {
	total := w.total.Load() // before the stocks: admissions meanwhile count, none is missed
	if w.era.Load()&1 == 0 {
		return total
	}
	s := w.spread.Load()
	for i := range s.stocks {
		total -= int64(s.stocks[i].word.Load() & unitsLeft)
	}
	return total
}

// gather makes the window one word again, whoever may use it.
func (w *Window) gather() {
	if w.spread.Load() == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.collect()
	w.spread.Store(nil)
}
