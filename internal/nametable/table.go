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
	slots atomic.Pointer[[]atomic.Pointer[entry[V]]]
	live  atomic.Int64

	mu   sync.Mutex
	used int       // places that are not empty, deleted ones included; guarded by mu
	tomb *entry[V] // marks a deleted place
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
	slots := make([]atomic.Pointer[entry[V]], least)
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

func (t *Table[V]) find(name string) *entry[V] {
	hash := maphash.String(t.seed, name)
	slots := *t.slots.Load()
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := slots[i].Load()
		if e == nil || e.hash == hash && e.name == name && e != t.tomb {
			return e
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
	if value, ok = t.Get(name); ok {
		return value, true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if value, ok = t.Get(name); ok {
		return value, true
	}
	own := strings.Clone(name) // the caller's may be a piece of a large buffer, and need not outlive the call
	value, ok = build(own)
	if ok {
		t.insert(&entry[V]{hash: maphash.String(t.seed, own), name: own, value: value})
	}
	return value, ok
}

// Delete removes the name if its value satisfies the condition, and says whether it did.
func (t *Table[V]) Delete(name string, condition func(V) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	hash := maphash.String(t.seed, name)
	slots := *t.slots.Load()
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := slots[i].Load()
		if e == nil {
			return false
		}
		if e.hash != hash || e.name != name || e == t.tomb {
			continue
		}
		if !condition(e.value) {
			return false
		}
		slots[i].Store(t.tomb)
		t.live.Add(-1)
		return true
	}
}

// Range calls f with each name and value until it returns false. Names added meanwhile may be missed.
func (t *Table[V]) Range(f func(name string, value V) bool) {
	slots := *t.slots.Load()
	for i := range slots {
		if e := slots[i].Load(); e != nil && e != t.tomb && !f(e.name, e.value) {
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
func (t *Table[V]) rebuild(old []atomic.Pointer[entry[V]]) []atomic.Pointer[entry[V]] {
	size := least
	for size < (int(t.live.Load())+1)*2 {
		size *= 2
	}
	next := make([]atomic.Pointer[entry[V]], size)
	t.used = 0
	for i := range old {
		if e := old[i].Load(); e != nil && e != t.tomb {
			place(next, e)
			t.used++
		}
	}
	t.slots.Store(&next)
	return next
}

// place puts the entry in the first empty place.
func place[V any](slots []atomic.Pointer[entry[V]], e *entry[V]) {
	mask := uint64(len(slots) - 1)
	i := e.hash & mask
	for slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].Store(e)
}
