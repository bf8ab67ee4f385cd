package stat

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
