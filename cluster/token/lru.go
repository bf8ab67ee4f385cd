package token

// An lru counts values and forgets the one not used for longest when it is full. The zero value is empty.
type lru struct {
	places  map[valueKey]int32
	entries []lruEntry
	newest  int32
	oldest  int32
	gone    uint64
}

type lruEntry struct {
	key          valueKey
	count        int64
	newer, older int32 // places; meaningless at the ends
}

// get returns the count of a value, which is a use of it.
func (l *lru) get(key valueKey) int64 {
	if len(l.places) == 0 {
		return 0
	}
	place, ok := l.places[key]
	if !ok {
		return 0
	}
	l.use(place)
	return l.entries[place].count
}

// add adds n to the count of a value, of most values at most.
func (l *lru) add(key valueKey, n int64, most int) {
	if place, ok := l.places[key]; ok {
		l.use(place)
		l.entries[place].count += n
		return
	}
	if l.places == nil {
		l.places = map[valueKey]int32{}
	}
	if len(l.entries) < most {
		place := int32(len(l.entries))
		l.entries = append(l.entries, lruEntry{key: key, count: n})
		if place == 0 {
			l.newest, l.oldest = 0, 0
		} else {
			l.front(place)
		}
		l.places[key] = place
		return
	}
	place := l.oldest
	delete(l.places, l.entries[place].key)
	l.gone++
	l.use(place)
	l.entries[place].key, l.entries[place].count = key, n
	l.places[key] = place
}

// use makes an entry the newest.
func (l *lru) use(place int32) {
	e := &l.entries[place]
	switch place {
	case l.newest:
		return
	case l.oldest:
		l.oldest = e.newer
	default:
		l.entries[e.newer].older = e.older
		l.entries[e.older].newer = e.newer
	}
	l.front(place)
}

// front links an entry, which is in no list, before the newest.
func (l *lru) front(place int32) {
	l.entries[place].older = l.newest
	l.entries[l.newest].newer = place
	l.newest = place
}

// each calls f with each value, the one used last at the end.
func (l *lru) each(f func(key valueKey, n int64)) {
	place := l.oldest
	for range len(l.entries) {
		e := &l.entries[place]
		f(e.key, e.count)
		place = e.newer
	}
}

// clear forgets all values and keeps the memory.
func (l *lru) clear() {
	clear(l.places)
	l.entries = l.entries[:0]
}
