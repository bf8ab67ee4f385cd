package server

// A ring is a list of connections by age. Its lock is the server's mu.
type ring struct {
	head link // before the oldest and behind the youngest
	size int
}

// A link is a connection's place in a ring.
type link struct {
	prev, next *link
	conn       *conn
}

// push puts a connection last, if it is not in the ring yet.
func (r *ring) push(l *link) {
	if l.next != nil {
		return
	}
	if r.head.next == nil {
		r.head.next, r.head.prev = &r.head, &r.head
	}
	l.prev, l.next = r.head.prev, &r.head
	l.prev.next, r.head.prev = l, l
	r.size++
}

// remove takes a connection out, if it is in the ring.
func (r *ring) remove(l *link) {
	if l.next == nil {
		return
	}
	l.prev.next, l.next.prev = l.next, l.prev
	l.prev, l.next = nil, nil
	r.size--
}

// overflow takes the oldest out if there are more than most.
func (r *ring) overflow(most int) *conn {
	if r.size <= most {
		return nil
	}
	oldest := r.head.next
	r.remove(oldest)
	return oldest.conn
}
