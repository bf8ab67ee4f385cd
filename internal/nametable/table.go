// Package nametable is a concurrent hash table keyed by name, for few writes and many reads.
package nametable

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// Table maps names to values. Readers take no lock and write nothing, so a table of resources costs the same
// on one core and on 64; writers share a mutex and rebuild the table only when it grows or fills with deleted
// places, so names that come and go cost a constant time each. Open addressing with linear probing.
// Make it with New.
type Table[V any] struct {
	seed  maphash.Seed
	slots atomic.Pointer[[]slot[V]]
	live  atomic.Int64

	mu   sync.Mutex
	used int       // places that are not empty, deleted ones included; guarded by mu
	tomb *entry[V] // marks a deleted place
}

// slot is one place. The hash stands beside the pointer, so that looking for a name touches no entry but the one
// wanted: a name that is not there costs one or two cache lines, not one for each entry on the way.
type slot[V any] struct {
	hash  atomic.Uint64 // 0: empty; written last, and once
	entry atomic.Pointer[entry[V]]
}

// entry is immutable once published.
type entry[V any] struct {
	hash  uint64
	name  string
	value V
}

const least = 8 // places of an empty table

// New makes an empty table.
func New[V any]() *Table[V] {
	t := &Table[V]{seed: maphash.MakeSeed(), tomb: &entry[V]{}}
	slots := make([]slot[V], least)
	t.slots.Store(&slots)
	return t
}

// Get returns the value of that name.
func (t *Table[V]) Get(name string) (value V, ok bool) {
	if e := t.find(name); e != nil {
		return e.value, true
	}
	return value, false
}

// hash returns the name's hash, never 0.
func (t *Table[V]) hash(name string) uint64 { return max(1, maphash.String(t.seed, name)) }

func (t *Table[V]) find(name string) *entry[V] { return t.findHash(t.hash(name), name) }

func (t *Table[V]) findHash(hash uint64, name string) *entry[V] {
	slots := *t.slots.Load()
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &slots[i]
		switch s.hash.Load() {
		case hash:
			if e := s.entry.Load(); e.name == name && e != t.tomb {
				return e
			}
		case 0:
			return nil
		}
	}
}

// Stored returns the table's own copy of the name.
func (t *Table[V]) Stored(name string) (own string, value V, ok bool) {
	if e := t.find(name); e != nil {
		return e.name, e.value, true
	}
	return "", value, false
}

// Len returns the number of names.
func (t *Table[V]) Len() int { return int(t.live.Load()) }

// GetOrAdd returns the value of that name, or adds what build returns. Where build says no, nothing is
// added. build runs under the table's lock and must not use the table.
func (t *Table[V]) GetOrAdd(name string, build func(name string) (V, bool)) (value V, ok bool) {
	hash := t.hash(name)
	if e := t.findHash(hash, name); e != nil {
		return e.value, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.findHash(hash, name); e != nil {
		return e.value, true
	}
	own := strings.Clone(name) // the caller's may be a piece of a large buffer, and need not outlive the call
	value, ok = build(own)
	if ok {
		t.insert(&entry[V]{hash: hash, name: own, value: value})
	}
	return value, ok
}

// Delete removes the name if its value satisfies the condition, and says whether it did.
func (t *Table[V]) Delete(name string, condition func(V) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	hash := t.hash(name)
	slots := *t.slots.Load()
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		at := slots[i].hash.Load()
		if at == 0 {
			return false
		}
		e := slots[i].entry.Load()
		if at != hash || e.name != name || e == t.tomb {
			continue
		}
		if !condition(e.value) {
			return false
		}
		slots[i].entry.Store(t.tomb)
		t.live.Add(-1)
		return true
	}
}

// Range calls f with each name and value until it returns false. Names added meanwhile may be missed.
func (t *Table[V]) Range(f func(name string, value V) bool) {
	slots := *t.slots.Load()
	for i := range slots {
		if e := slots[i].entry.Load(); e != nil && e != t.tomb && !f(e.name, e.value) {
			return
		}
	}
}

// insert adds an entry whose name is not in the table. The caller holds mu.
func (t *Table[V]) insert(e *entry[V]) {
	slots := *t.slots.Load()
	if (t.used+1)*4 > len(slots)*3 {
		slots = t.rebuild(slots)
	}
	place(slots, e)
	t.used++
	t.live.Add(1)
}

// rebuild publishes a table without deleted places and with room for more. The caller holds mu.
func (t *Table[V]) rebuild(old []slot[V]) []slot[V] {
	size := least
	for size < (int(t.live.Load())+1)*2 {
		size *= 2
	}
	next := make([]slot[V], size)
	t.used = 0
	for i := range old {
		if e := old[i].entry.Load(); e != nil && e != t.tomb {
			place(next, e)
			t.used++
		}
	}
	t.slots.Store(&next)
	return next
}

// place puts the entry in the first empty place.
func place[V any](slots []slot[V], e *entry[V]) {
	mask := uint64(len(slots) - 1)
	i := e.hash & mask
	for slots[i].hash.Load() != 0 {
		i = (i + 1) & mask
	}
	slots[i].entry.Store(e)
	slots[i].hash.Store(e.hash)
}
