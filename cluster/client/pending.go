package client

import (
	"math"

	"github.com/tidegate-go/tidegate/cluster/wire"
)

// slot is a request that was sent and has no answer yet.
type slot struct {
	xid      int32 // 0: the slot is free
	kind     wire.Type
	sent     int64 // ns on the client's clock
	deadline int64
	waiter   *waiter // who waits; nil: nobody
	batch    *batch  // whose request it is; nil: a single one
	asked    int     // units of a batch's request
}

const leastSlots = 64

// table holds the requests without answer of a connection, by id. The place of an id is its low bits; an id whose place
// is taken is passed over. So the table stays small however long a request waits, and finding one is one look.
type table struct {
	slots []slot // as many as a power of two, at most half of them in use
	used  int
	last  int32 // the id given last
}

// add gives the next id: 1 after wire.MaxXID. The slot is valid until the next call.
func (t *table) add() *slot {
	if 2*(t.used+1) > len(t.slots) {
		t.resize(max(leastSlots, 2*len(t.slots)))
	}
	for {
		if t.last++; t.last > wire.MaxXID || t.last < 1 {
			t.last = 1
		}
		if s := t.at(t.last); s.xid == 0 {
			t.used++
			s.xid = t.last
			return s
		}
	}
}

func (t *table) at(xid int32) *slot { return &t.slots[int(xid)&(len(t.slots)-1)] }

// find returns the request of an id, nil if none waits. It is valid until the next add.
func (t *table) find(xid int32) *slot {
	if xid <= 0 || len(t.slots) == 0 {
		return nil
	}
	if s := t.at(xid); s.xid == xid {
		return s
	}
	return nil
}

func (t *table) remove(s *slot) slot {
	out := *s
	*s = slot{}
	t.used--
	return out
}

// resize needs a size at which no two requests share a place: that is so for every larger one, and for any if there are
// no requests.
func (t *table) resize(size int) {
	old := t.slots
	t.slots = make([]slot, size)
	for i := range old {
		if old[i].xid != 0 {
			*t.at(old[i].xid) = old[i]
		}
	}
}

// due removes the requests whose deadline has passed, calls expired for each, and returns the earliest deadline of the
// others. An empty table gives back the room that it needed.
func (t *table) due(now int64, expired func(slot)) (next int64) {
	next = math.MaxInt64
	for i := range t.slots {
		switch s := &t.slots[i]; {
		case s.xid == 0:
		case s.deadline <= now:
			expired(t.remove(s))
		default:
			next = min(next, s.deadline)
		}
	}
	if t.used == 0 && len(t.slots) > leastSlots {
		t.slots = make([]slot, leastSlots)
	}
	return next
}
