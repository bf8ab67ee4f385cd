package stat

import "reflect"

// lineSize is the length of a cache line.
const lineSize = 64

// Lines are cache lines, by address, with a digest of what is in them.
type Lines map[uintptr]int64

// add notes the line in which the word is.
func (l Lines) add(word any, value int64) {
	line := reflect.ValueOf(word).Pointer() / lineSize
	l[line] = l[line]*1_000_003 + value
}

// Changed returns the lines that are not as they were before.
func (l Lines) Changed(before Lines) (lines []uintptr) {
	for line, digest := range l {
		if before[line] != digest {
			lines = append(lines, line)
		}
	}
	return lines
}

// Lines returns the lines of the node's counters.
func (n *Node) Lines() Lines {
	l := Lines{}
	for _, r := range n.rings() {
		l.add(&r.extra, r.extra.Load())
		for i := range r.buckets {
			b := &r.buckets[i]
			l.add(&b.start, b.start.Load())
			l.add(&b.pass, b.pass.Load())
			l.add(&b.block, b.block.Load())
			l.add(&b.exception, b.exception.Load())
			l.add(&b.done, int64(b.done.Load()))
			l.add(&b.occupied, b.occupied.Load())
			l.add(&b.minRT, b.minRT.Load())
		}
	}
	return l
}

// Lines returns the lines of the window's words.
func (w *Window) Lines() Lines {
	l := Lines{}
	l.add(&w.total, w.total.Load())
	l.add(&w.start, w.start.Load())
	l.add(&w.last, w.last.Load())
	l.add(&w.gap, w.gap.Load())
	l.add(&w.sum, w.sum)
	for i := range w.closed {
		l.add(&w.closed[i], w.closed[i])
	}
	l.add(&w.era, int64(w.era.Load()))
	if s := w.spread.Load(); s != nil {
		for i := range s.stocks {
			l.add(&s.stocks[i].word, int64(s.stocks[i].word.Load()))
		}
	}
	return l
}

// Shared returns the word that all callers of the window share: what is admitted or set aside.
func (w *Window) Shared() int64 { return w.total.Load() }

// Stock is what one core's callers may admit.
type Stock = stock

// Spread gives the window stocks for so many cores, a power of two.
func (w *Window) Spread(cores int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spread.Store(&spread{stocks: make([]stock, cores)})
}

// Gather makes the window one word again.
func (w *Window) Gather() { w.gather() }

// Stocks returns for how many cores the window has stocks, and what is in them.
func (w *Window) Stocks() (cores int, units int64) {
	s := w.spread.Load()
	if s == nil {
		return 0, 0
	}
	for i := range s.stocks {
		units += int64(s.stocks[i].word.Load() & unitsLeft)
	}
	return len(s.stocks), units
}

// Inflate gives every core's callers counters of their own, as happens when callers meet.
func (n *Node) Inflate() { n.inflate() }

// Rings returns how many sets of counters the node has.
func (n *Node) Rings() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.rings())
}

// HasHistory says whether the node keeps seconds that left its counters, and in how many chunks.
func (n *Node) HasHistory() (chunks int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.history == nil {
		return 0
	}
	for _, c := range n.history.chunk {
		if c != nil {
			chunks++
		}
	}
	return chunks
}

// Settling says whether the gate still counts calls that entered before it.
func (g *Gate) Settling() bool { return g.settling.Load() }

// OpenGate returns the gate if rules ask for one, else nil.
func (x *Exact) OpenGate() *Gate {
	_, _, gate := x.Words()
	return gate
}
