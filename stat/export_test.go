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
	return l
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
