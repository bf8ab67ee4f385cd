package token

import (
	"math"
	"sync"
)

// A valueShard is a part of a table: records in a slab, found by an open index. All is guarded by mu.
type valueShard struct {
	mu      sync.Mutex
	slots   []uint64 // upper half: of the hash; lower half: place of the record plus 1; 0: empty
	slab    []uint32 // records, one after the other
	hashes  []uint32 // lower halves, by place: so a record and what leads to it are fetched at the same time
	size    int      // of a record, in words
	values  int      // records
	hand    int      // of the eviction clock
	newest  uint32   // latest bucket
	fetched uint32   // what fetch read, of no meaning
	ended   bool
	gone    uint64 // values forgotten
	granted uint64 // requests
	refused uint64
	_       [64]byte // no two locks on a line
}

// A valueRecord is the count of one value: two words of the key's number, two of its class with the heat in the lowest
// bits, the number of the latest bucket, the total, and a ring of buckets. With ten buckets it is one cache line.
// Bucket numbers are taken modulo 2^32.
type valueRecord []uint32

// The words of a record.
const (
	wordNum    = 0
	wordClass  = 2
	wordBucket = 4
	wordTotal  = 5
	wordCounts = 6
)

// maxHeat bounds how often a record is passed over by eviction after its last use. It fills the bits that a key's
// class leaves free.
const maxHeat = 3

// mostOfValue is the highest limit of a value: more in one window counts as no limit.
const mostOfValue = math.MaxUint32

// recordSize returns the words of a record, an even number.
func recordSize(buckets int64) int { return (wordCounts + int(buckets) + 1) &^ 1 }

func (r valueRecord) key() valueKey {
	return valueKey{
		uint64(r[wordNum]) | uint64(r[wordNum+1])<<32,
		uint64(r[wordClass]&^maxHeat) | uint64(r[wordClass+1])<<32,
	}
}

// renew makes the record that of a new value.
func (r valueRecord) renew(key valueKey, bucket uint32) {
	clear(r)
	r[wordNum], r[wordNum+1] = uint32(key.num), uint32(key.num>>32)
	r[wordClass], r[wordClass+1] = uint32(key.class), uint32(key.class>>32)
	r[wordBucket] = bucket
}

func (r valueRecord) is(key valueKey) bool {
	return r[wordNum] == uint32(key.num) && r[wordNum+1] == uint32(key.num>>32) &&
		r[wordClass]&^maxHeat == uint32(key.class) && r[wordClass+1] == uint32(key.class>>32)
}

// heat is how often the record was used since eviction came by.
func (r valueRecord) heat() uint32 { return r[wordClass] & maxHeat }

func (r valueRecord) warm() {
	if r.heat() < maxHeat {
		r[wordClass]++
	}
}

func (r valueRecord) total() int64 { return int64(r[wordTotal]) }

// count returns the word of a bucket, by its number.
func (r valueRecord) count(bucket uint32, buckets int64) *uint32 {
	return &r[wordCounts+bucket%uint32(buckets)]
}

// mostLate is by how many buckets a caller may be behind: it read the clock before others did and was held up. Further
// back is what the number's overflow makes of the distant future.
const mostLate = 1 << 24

// late says whether a bucket is behind the record's.
func (r valueRecord) late(bucket uint32) bool { return r[wordBucket]-bucket <= mostLate }

// over says whether the window of the record is over at a bucket.
func (r valueRecord) over(bucket uint32, buckets int64) bool {
	return bucket-r[wordBucket] >= uint32(buckets) && !r.late(bucket)
}

// roll moves the record on to a bucket; one behind changes nothing.
func (r valueRecord) roll(bucket uint32, buckets int64) {
	if r.late(bucket) {
		return
	}
	if r.over(bucket, buckets) {
		clear(r[wordTotal : wordCounts+buckets])
		r[wordBucket] = bucket
		return
	}
	for r[wordBucket] != bucket {
		r[wordBucket]++
		count := r.count(r[wordBucket], buckets)
		r[wordTotal] -= *count
		*count = 0
	}
}

// add counts n in the latest bucket, no more than a word holds.
func (r valueRecord) add(n, buckets int64) {
	n = min(n, mostOfValue-r.total())
	r[wordTotal] += uint32(n)
	*r.count(r[wordBucket], buckets) += uint32(n)
}

// takeBack undoes add.
func (r valueRecord) takeBack(n, buckets int64) {
	if count := r.count(r[wordBucket], buckets); int64(*count) >= n {
		*count -= uint32(n)
		r[wordTotal] -= uint32(n)
	}
}

// record returns the record at a place.
func (s *valueShard) record(place int) valueRecord {
	return s.slab[place*s.size : (place+1)*s.size : (place+1)*s.size]
}

// note counts a request.
func (s *valueShard) note(ok bool) outcome {
	if ok {
		s.granted++
		return outcomeGranted
	}
	s.refused++
	return outcomeRefused
}

// find returns the record of a key, nil if there is none.
func (s *valueShard) find(key valueKey, hash uint64) valueRecord {
	if len(s.slots) == 0 {
		return nil
	}
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := s.slots[i]
		if slot == 0 {
			return nil
		}
		if slot>>32 == hash&math.MaxUint32 {
			if r := s.record(int(uint32(slot)) - 1); r.is(key) {
				return r
			}
		}
	}
}

// extend makes room for one more record and returns its place.
func (s *valueShard) extend(size int) (place int) {
	place, s.size = s.values, size
	s.values++
	s.slab = append(s.slab, make([]uint32, size)...)
	s.hashes = append(s.hashes, 0)
	if 3*s.values > 2*len(s.slots) {
		s.slots = make([]uint64, max(8, 2*len(s.slots)))
		for i := range place {
			s.put(i, uint64(s.hashes[i]))
		}
	}
	return place
}

// put enters a place into the index.
func (s *valueShard) put(place int, hash uint64) {
	mask := uint64(len(s.slots) - 1)
	i := hash & mask
	for s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = hash<<32 | uint64(place+1)
	s.hashes[place] = uint32(hash)
}

// forget takes a place out of the index and moves later slots of the run forward (Knuth, TAOCP 6.4, algorithm R), so
// that no tombstones collect.
func (s *valueShard) forget(place int) {
	mask := uint64(len(s.slots) - 1)
	hole := uint64(s.hashes[place]) & mask
	for uint32(s.slots[hole]) != uint32(place+1) {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		home := s.slots[i] >> 32 & mask
		if (i-home)&mask >= (i-hole)&mask {
			s.slots[hole] = s.slots[i]
			hole = i
		}
	}
	s.slots[hole] = 0
}

// victim returns the record to forget: generalized CLOCK (A. J. Smith, "Sequentiality and prefetching in database
// systems", 1978). The hand takes a record whose window is over, or one without a use since it last came by, and one
// of the uses from each of the others. Each use is taken back once, so finding one costs a step on average.
func (s *valueShard) victim(bucket uint32, buckets int64) (place int) {
	for {
		if place = s.hand; place%fetchAhead == 0 {
			s.fetch(place)
		}
		if s.hand++; s.hand >= s.values {
			s.hand = 0
		}
		r := s.record(place)
		if r.heat() == 0 || r.over(bucket, buckets) {
			return place
		}
		r[wordClass]--
	}
}

// fetchAhead is how many records are fetched from memory at once.
const fetchAhead = 8

// fetch reads the records from a place on that the hand comes to next, and their slots, so that victim and forget find
// them in the processor's cache. No read depends on another one, so they take little longer than a single one.
func (s *valueShard) fetch(place int) {
	mask := uint64(len(s.slots) - 1)
	for end := min(place+fetchAhead, s.values); place < end; place++ {
		s.fetched += s.slab[place*s.size] + uint32(s.slots[uint64(s.hashes[place])&mask])
	}
}

// reset gives back the memory of a shard.
func (s *valueShard) reset() {
	s.slots, s.slab, s.hashes, s.values, s.hand = nil, nil, nil, 0, 0
}
