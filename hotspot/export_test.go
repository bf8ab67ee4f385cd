package hotspot

import "math/rand/v2"

// Known says whether a value is in the table.
func (c *Controller) Known(key Key) bool {
	return c.table.find(c.table.hasher.hash(&key), &key) != nil
}

// IndexMismatch runs random additions and removals on one shard, with hashes that crowd, against a map, and returns
// the number of the first step after which they differ, or -1.
func IndexMismatch(r *rand.Rand, steps int) int {
	h := newHasher()
	var s shard
	there := map[int]*value{}
	crowded := func(n int) (uint64, Key) { return uint64(n%7+1) * 3, intKey(int64(n)) }
	for step := range steps {
		n := r.IntN(60)
		hash, key := crowded(n)
		if v := there[n]; v != nil {
			s.remove(s.placeOf(v))
			delete(there, n)
		} else {
			there[n] = h.newValue(hash, &key, nil, 0, false)
			s.add(hash, there[n])
		}
		for n := range 60 {
			hash, key := crowded(n)
			if s.find(&h, hash, &key) != there[n] {
				return step
			}
		}
	}
	return -1
}
