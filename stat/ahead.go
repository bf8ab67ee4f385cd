package stat

// move is a count that goes from its bucket to a later one when that begins.
type move struct{ from, to, count int64 }

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
