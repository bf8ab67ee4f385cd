package client

import (
	"fmt"
	"testing"
)

// However many chains there are, every call is woken once, and those of a chain wake each other in order.
func TestWakeInChains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		calls, chains int
		want          []int // the calls that are woken at once
	}{
		{0, 2, nil},
		{1, 1, []int{0}},
		{1, 4, []int{0}},
		{5, 1, []int{0}},
		{5, 2, []int{0, 3}},
		{5, 5, []int{0, 1, 2, 3, 4}},
		{5, 9, []int{0, 1, 2, 3, 4}},
		{7, 3, []int{0, 3, 5}},
	} {
		t.Run(fmt.Sprint(c.calls, " in ", c.chains), func(t *testing.T) {
			t.Parallel()
			var q queue
			all := make([]*waiter, c.calls)
			for i := range all {
				all[i] = &waiter{done: make(chan answered, 1)}
				q.push(all[i])
			}
			q.wake(c.chains)
			if q != (queue{}) {
				t.Errorf("left %+v", q)
			}
			head := map[int]bool{}
			for _, i := range c.want {
				head[i] = true
			}
			for i, w := range all {
				if woken := len(w.done) == 1; woken != head[i] {
					t.Errorf("call %d woken at once: %v", i, woken)
				}
				if next, want := w.next, i+1 < len(all) && !head[i+1]; want && next != all[i+1] || !want && next != nil {
					t.Errorf("call %d wakes another: %v, want %v", i, next != nil, want)
				}
			}
		})
	}
}
