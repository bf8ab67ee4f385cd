package client

import "sync/atomic"

// inbox holds the calls whose requests are not registered yet, the latest first. Callers of all cores add to it without a
// lock: what a call writes is its own waiter and this one word, so that neither the reader nor the writer ever waits for
// a caller, nor it for them. They empty it with the connection's mu held and register all calls at once.
type inbox struct {
	_      [64]byte // the word is written by all cores, its neighbours are not
	head   atomic.Pointer[waiter]
	_      [56]byte
	closed waiter // head of one that takes no more calls
}

// push adds a call. First says that there was none; open, that the call was taken.
func (i *inbox) push(w *waiter) (first, open bool) {
	for {
		head := i.head.Load()
		if head == &i.closed {
			return false, false
		}
		w.next = head
		if i.head.CompareAndSwap(head, w) {
			return head == nil, true
		}
	}
}

func (i *inbox) empty() bool {
	head := i.head.Load()
	return head == nil || head == &i.closed
}

// take empties the inbox and returns the calls in the order in which they came. Caller holds the connection's mu.
func (i *inbox) take() queue {
	if i.empty() {
		return queue{}
	}
	return inOrder(i.head.Swap(nil))
}

// close makes the inbox take no more calls and returns those in it. Caller holds the connection's mu.
func (i *inbox) close() queue {
	if head := i.head.Swap(&i.closed); head != &i.closed {
		return inOrder(head)
	}
	return queue{}
}

// inOrder turns a list with the latest first round.
func inOrder(head *waiter) queue {
	q := queue{tail: head}
	for w := head; w != nil; q.n++ {
		next := w.next
		w.next, q.head, w = q.head, w, next
	}
	return q
}
