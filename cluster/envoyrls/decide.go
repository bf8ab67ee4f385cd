package envoyrls

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// longKey is the length from which a key is kept as its SHA-256, so that counters stay small.
const longKey = 256

// item is one descriptor of a request being decided.
type item struct {
	rule *rule // nil: no limit
	limit
	hits     int64
	refund   bool
	from, to int // of its key, in decision.keys
	shard    uint8
	counter  *counter
	own      bool  // the counter is its own
	added    int64 // to the counter
	over     bool  // no room
	left     int64 // hits that would still be admitted
	reset    int64 // end of the window, ns from now
}

// decision is the state of one decision; it is used again for others.
type decision struct {
	items   []item
	keys    []byte
	refused bool
}

// counted says whether the item has a limit that hits are counted for.
func (it *item) counted() bool { return it.rule != nil && !it.rule.unlimited }

// decide takes the hits of all descriptors of a request that was checked, or of none. It is exact: no number of
// simultaneous callers gets more than a limit allows.
func (s *Service) decide(now int64, rules map[string]*domain, req *rls.RateLimitRequest, d *decision) {
	d.items, d.keys, d.refused = d.items[:0], d.keys[:0], false
	found := rules[req.Domain]
	for _, descriptor := range req.Descriptors {
		it := item{hits: hitsOf(req, descriptor), refund: descriptor.IsNegativeHits}
		if found != nil {
			d.keys = it.find(found, descriptor, d.keys)
		}
		d.items = append(d.items, it)
	}
	if found != nil && found.replacing {
		d.replace()
	}
	var set uint64
	for i := range d.items {
		if it := &d.items[i]; it.counted() {
			it.shard = s.table.shardOf(d.keys[it.from:it.to])
			set |= 1 << it.shard
		}
	}
	if set != 0 {
		s.table.lock(set)
		s.table.take(d, now, s.countRefused)
		s.table.unlock(set)
	}
	d.tally()
}

// find finds the limit of an item and appends the key that it is counted under.
func (it *item) find(in *domain, descriptor *rlDescriptor, keys []byte) []byte {
	it.from = len(keys)
	keys = appendText(keys, in.name)
	if override := descriptor.Limit; override != nil {
		it.rule, it.limit = in.overrides, limitOf(override)
		for _, e := range descriptor.Entries {
			keys = appendEntry(keys, e.Key, e.Value, false)
		}
	} else if it.rule, keys = in.match(descriptor.Entries, keys); it.rule != nil {
		it.limit = it.rule.limit
	}
	keys = binary.AppendUvarint(keys, uint64(it.length))
	if len(keys)-it.from > longKey {
		sum := sha256.Sum256(keys[it.from:])
		keys = append(keys[:it.from], sum[:]...)
	}
	it.to = len(keys)
	return keys
}

// replace takes the rules out that other rules of the request replace.
func (d *decision) replace() {
	for i := range d.items {
		r := d.items[i].rule
		if r == nil || r.current.GetName() == "" {
			continue
		}
		for j := range d.items {
			if by := d.items[j].rule; by != nil && slices.Contains(by.replaces, r.current.GetName()) {
				d.items[i].rule = nil
				break
			}
		}
	}
}

// take charges all items, and takes all of it back if one is refused. Caller holds the shards.
func (t *table) take(d *decision, now int64, anyway bool) {
	overflowing := false
	for i := range d.items {
		it := &d.items[i]
		if !it.counted() {
			continue
		}
		it.counter = t.get(&t.shards[it.shard], d.keys[it.from:it.to], it.limit, now)
		if it.own = it.counter != nil; !it.own {
			if !overflowing {
				overflowing = true
				t.overflowing.Lock()
				defer t.overflowing.Unlock()
			}
			t.overflow.Add(1)
			it.counter = it.rule.tally.shareOverflow(it.limit)
		}
		it.counter.charge(it, now, anyway)
		d.refused = d.refused || it.over && !it.rule.soft()
		t.settle(it)
	}
	for i := range d.items {
		it := &d.items[i]
		if it.counter == nil {
			continue
		}
		if d.refused && !anyway {
			it.counter.used -= it.added
			it.added = 0
			t.settle(it)
		}
		it.left = max(0, it.most-it.counter.used)
		it.reset = it.counter.reset(now)
	}
}

// settle puts the item's counter where it belongs. Caller holds the shard.
func (t *table) settle(it *item) {
	if s := &t.shards[it.shard]; it.own && s.counters[it.counter.key] == it.counter {
		s.place(it.counter, it.limit)
	}
}

// shareOverflow returns the counter that descriptors share for which there is no room: they are admitted less than
// they should be, never more. Caller holds table.overflowing.
func (t *tally) shareOverflow(l limit) *counter {
	if c := &t.overflow; l.length > c.length {
		c.start, c.length = c.start-c.start%l.length, l.length
	}
	return &t.overflow
}

// tally counts what became of the items in the figures of their rules.
func (d *decision) tally() {
	for i := range d.items {
		it := &d.items[i]
		if it.rule == nil || it.refund {
			continue
		}
		t, hits := it.rule.tally, uint64(it.hits)
		t.total.Add(hits)
		switch {
		case it.over:
			t.over.Add(hits)
			if it.rule.shadow {
				t.shadow.Add(hits)
			}
		case it.rule.unlimited:
			t.within.Add(hits)
		case it.added > 0:
			t.within.Add(hits)
			if near := it.near(); near > 0 {
				t.near.Add(uint64(near))
			}
		}
	}
}

// near returns how many of the added hits are above four fifths of the limit.
func (it *item) near() int64 {
	return min(it.added, it.most-it.left-it.most*4/5)
}

// hitsOf returns how many hits a descriptor asks for: what it says itself, 0 included, else what the request says, where
// 0 stands for 1.
func hitsOf(req *rls.RateLimitRequest, descriptor *rlDescriptor) int64 {
	if own := descriptor.HitsAddend; own != nil {
		return int64(min(own.Value, math.MaxInt64))
	}
	return max(1, int64(req.HitsAddend))
}
