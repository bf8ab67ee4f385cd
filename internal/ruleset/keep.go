package ruleset

// Keep returns a state for each of the bound rules, by controller: the one of old where it is there, else a new
// one; and the states of old whose rule is gone. A controller, as a pointer, stands for its rule for as long as
// equal rules stay loaded.
func Keep[R any, C comparable, S any](old map[C]S, bounds []*Bound[R, C], build func(*Bound[R, C]) S) (next map[C]S, gone []S) {
	next = make(map[C]S, len(bounds))
	for _, b := range bounds {
		state, ok := old[b.Controller]
		if !ok {
			state = build(b)
		}
		next[b.Controller] = state
	}
	for c, state := range old {
		if _, ok := next[c]; !ok {
			gone = append(gone, state)
		}
	}
	return next, gone
}
