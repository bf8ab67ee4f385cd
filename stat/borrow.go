package stat

import "sync"

// borrow keeps the passes that calls reserved in buckets yet to come.
type borrow struct {
	mu      sync.Mutex
	entries []loan // guarded by mu; few: a call can wait only until the window's end
}

// loan is what was borrowed from one bucket of the window. It becomes a pass of that bucket if the node is
// used or looked at while the bucket is the current one.
type loan struct {
	start   int64
	count   int64
	touched bool
}

// borrow adds to what is borrowed from the bucket of time at.
func (n *Node) borrow(at, count int64) {
	shape := n.first.Load().shape
	b := n.borrowed.Load()
	for b == nil {
		b = &borrow{}
		if !n.borrowed.CompareAndSwap(nil, b) {
			b = n.borrowed.Load()
		}
	}
	b.add(at-at%shape.length, count, at-2*minute)
}

func (b *borrow) add(start, count, forget int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	kept := b.entries[:0]
	found := false
	for _, l := range b.entries {
		if l.start == start {
			l.count += count
			found = true
		}
		if l.start >= forget {
			kept = append(kept, l)
		}
	}
	b.entries = kept
	if !found {
		b.entries = append(b.entries, loan{start: start, count: count})
	}
}

// touch notes that the node was used or looked at.
func (n *Node) touch(now int64) {
	b := n.borrowed.Load()
	if b == nil {
		return
	}
	length := n.first.Load().shape.length
	start := now - now%length
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.entries {
		if b.entries[i].start == start {
			b.entries[i].touched = true
		}
	}
}

// each calls f with each loan; ahead says that its bucket is yet to come.
func (b *borrow) each(now int64, f func(l loan, ahead bool)) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.entries {
		f(l, l.start > now)
	}
}
