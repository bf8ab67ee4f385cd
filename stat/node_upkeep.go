package stat

// Reshape gives the node's window the scope's shape. Second-level counts start anew; the minute is kept.
func (n *Node) Reshape() {
	n.replaceRings(n.scope.Shape())
	n.exact.dropWindow() // without mu: making a window takes the locks the other way round
}

// replaceRings puts empty rings of the shape in place of all.
func (n *Node) replaceRings(shape *Shape) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rings := n.rings()
	next := make([]*ring, len(rings))
	for i, r := range rings {
		n.foldAll(r)
		next[i] = newRing(shape)
		n.old = append(n.old, oldRing{ring: r})
	}
	n.first.Store(next[0])
	if n.more.Load() != nil {
		n.more.Store(&next)
	}
	n.borrowed.Store(nil)
}

// deflate leaves one ring. The caller holds mu.
func (n *Node) deflate() {
	for _, r := range n.rings()[1:] {
		n.old = append(n.old, oldRing{ring: r})
	}
	n.more.Store(nil)
	n.met.Store(0)
}

func (n *Node) foldAll(r *ring) {
	for i := range r.buckets {
		n.fold(&r.buckets[i])
	}
}

// forgetOld takes over what replaced rings counted, once nobody can hold them any more. The caller holds mu.
func (n *Node) forgetOld(now int64) {
	for _, r := range n.old {
		n.foldAll(r.ring)
	}
	kept := n.old[:0]
	for _, r := range n.old {
		switch {
		case r.since == 0:
			r.since = now
			kept = append(kept, r)
		case now-r.since < minute:
			kept = append(kept, r)
		default:
			n.settled -= r.extra.Swap(0)
		}
	}
	clear(n.old[len(kept):])
	n.old = kept
	if len(kept) == 0 {
		n.old = nil
	}
}

// Tend does the node's housekeeping: a node without calls for a minute gives its history, extra rings and stocks back.
// It returns when the node was last used, in ns.
func (n *Node) Tend(now int64) (lastUsed int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	lastUsed = never
	for _, r := range n.rings() {
		for i := range r.buckets {
			lastUsed = max(lastUsed, r.buckets[i].start.Load())
		}
	}
	if now-lastUsed > max(minute, n.first.Load().shape.interval) {
		for _, r := range n.rings() {
			n.foldAll(r)
		}
		if n.more.Load() != nil {
			n.deflate()
		}
		n.exact.gather()
		n.borrowed.Store(nil)
	}
	n.forgetOld(now)
	if n.history != nil && !n.history.prune(now-minute) {
		n.history = nil
	}
	return lastUsed
}
