package stat

// MostUnits is the highest limit that Take and Borrow may be asked for.
const MostUnits = int64(1) << 60

// sealed is more than any limit: a window that holds as much admits nothing.
const sealed = MostUnits << 1

// Take adds n if the window then holds at most most. It returns what the window holds, with n if it was added; on a
// window that ReserveBy has spread that includes what is set aside.
func (w *Window) Take(now, n, most int64) (total int64, ok bool) {
	w.Touch(now)
	for {
		total = w.total.Load()
		if total > most-n {
			if w.Full(most - n) {
				return total, false
			}
			continue
		}
		if w.total.CompareAndSwap(total, total+n) {
			return total + n, true
		}
	}
}

// Borrow adds n for a call that waits for the start of the first bucket by which enough has left the window that it
// holds at most most. Until then n counts at once, so that nobody takes the room meanwhile; from then on it counts in
// that bucket. It returns how long the call must wait, in ns; false if that is more than longest. On a window with
// Borrow nobody may use UndoMove.
func (w *Window) Borrow(now, n, most, longest int64) (wait int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advanceLocked(now)
	w.collect()
	for {
		total := w.total.Load()
		at, ok := w.roomAt(total+n-most, now, longest)
		if !ok {
			return 0, false
		}
		if w.total.CompareAndSwap(total, total+n) {
			w.moveTo(at, n)
			return at - now, true
		}
	}
}

// roomAt returns the start of the first bucket by which need units have left the window. The caller holds mu.
func (w *Window) roomAt(need, now, longest int64) (at int64, ok bool) {
	at = w.start.Load()
	for range w.count {
		at += w.length
		if at-now > longest {
			break
		}
		if need -= w.leaving(at - w.length*w.count); need <= 0 {
			return at, true
		}
	}
	return 0, false
}

// leaving returns how much of a bucket leaves the window with it. The caller holds mu.
func (w *Window) leaving(start int64) int64 {
	held := w.held(start)
	for _, m := range w.moves {
		if m.from == start {
			held -= m.count
		}
	}
	return held
}

// moveTo notes that n of the current bucket go to a later one when that begins. The caller holds mu.
func (w *Window) moveTo(at, n int64) {
	from := w.start.Load()
	w.lent.Store(true)
	for i := range w.moves {
		if m := &w.moves[i]; m.from == from && m.to == at {
			m.count += n
			return
		}
	}
	w.moves = append(w.moves, move{from: from, to: at, count: n})
}

// Counted returns the sum of everything that was ever added and not undone while it was in the window. What is
// reserved in buckets to come counts when they have begun.
func (w *Window) Counted(now int64) int64 {
	w.Touch(now)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left + w.exactLocked()
}

// Continue makes w, which is new, count what old still holds of its buckets and ends old: from then on old admits
// nothing (Sealed). Each of its buckets is added to the one of w in which it began. Counted goes on.
func (w *Window) Continue(old *Window, now int64) {
	old.mu.Lock()
	defer old.mu.Unlock()
	old.advanceLocked(now)
	old.collect()
	total := old.total.Swap(sealed)
	current := old.start.Load()
	w.advance(max(now, current)) // others may be ahead of now
	w.mu.Lock()
	w.left += old.left + total
	w.mu.Unlock()
	for k := range old.count {
		start := current - k*old.length
		if k == 0 {
			w.inherit(start, total-old.sum)
		} else {
			w.inherit(start, old.held(start))
		}
	}
	for _, m := range old.moves {
		w.MoveOn(m.from, m.to, m.count)
	}
	old.start.Store(sealed) // nothing leaves it any more
}

// inherit adds what another window counted in its bucket of that start, if it is in this one.
func (w *Window) inherit(start, held int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	current := w.start.Load()
	start = min(start-start%w.length, current)
	if held == 0 || start <= current-w.length*w.count {
		return
	}
	w.left -= held
	w.total.Add(held)
	if start < current {
		w.closed[w.index(start)] += held
		w.sum += held
	}
}

// Sealed says whether a total that Take returned is that of a window which another has taken over from.
func Sealed(total int64) bool { return total > MostUnits+MostUnits/2 }
