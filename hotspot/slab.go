package hotspot

import (
	"sync"
	"sync/atomic"
)

// A slab holds the records of a table by place. They lie in memory in the order in which they were made, whatever their
// shards, so that values which came one after the other and come so again are neighbours: the processor reads ahead.
// Places are never given back: those that a shard does not use any more are for its next values.
type slab struct {
	mu     sync.Mutex
	chunks atomic.Pointer[[]atomic.Pointer[chunk]] // more than are made; a longer list replaces it
	places uint32                                  // guarded by mu
}

// A chunk has the records of eight places. 512 bytes is the largest size that the allocator gives out without a header
// before it, which would move every record off its cache line.
type chunk [chunkSize]value

const chunkSize = 8

// at returns the record at a place.
func (s *slab) at(place uint32) *value {
	return &(*s.chunks.Load())[place/chunkSize].Load()[place%chunkSize]
}

// add makes the record of a shard's value.
func (s *slab) add(shard uint32) (place uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	place = s.places
	if place%chunkSize == 0 {
		s.addChunk(int(place / chunkSize))
	}
	s.places++
	s.at(place).shard = shard
	return place
}

// addChunk makes the chunk of that number. Caller holds mu.
func (s *slab) addChunk(number int) {
	chunks := s.chunks.Load()
	if chunks == nil || number == len(*chunks) {
		more := make([]atomic.Pointer[chunk], max(1, 2*number))
		for i := range number {
			more[i].Store((*chunks)[i].Load())
		}
		s.chunks.Store(&more)
		chunks = &more
	}
	(*chunks)[number].Store(new(chunk))
}
