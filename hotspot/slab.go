package hotspot

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// A slab holds the records of a table by place. They lie in memory in the order in which they were made, whatever their
// shards, and the clock hand meets them in that order: the processor reads ahead, both for values which came one after
// the other and come so again and for the victims of newcomers. (With a hand for each shard, victims cost 150 ns more
// beside a busy neighbour; with records in the order of the shards, hits did.)
//
// A chunk has as many records as all before it, so that few values take little memory and the chunk of a place is known
// by its highest bit. Records have no pointers: the garbage collector skips them, and the allocator puts no header
// before them, which would move every record off its cache line.
type slab struct {
	chunks [maxChunks][]value // written once, before a place of it is known to anybody
	more   [maxChunks]atomic.Pointer[[]atomic.Pointer[extra]]
	end    atomic.Uint32 // place of the next record; changed under mu

	mu   sync.Mutex
	free []uint32 // guarded by mu: places of dead values
}

const (
	firstPlace = 8  // also the records of the first chunk; so 0 is no place
	maxChunks  = 32 // by the number of bits of a place
)

// seat returns the chunk of a place and where in it its record is.
func seat(place uint32) (chunk int, at uint32) {
	chunk = bits.Len32(place) & (maxChunks - 1)
	return chunk, place ^ 1<<(uint(chunk-1)&(maxChunks-1))
}

// at returns the record at a place.
func (s *slab) at(place uint32) *value {
	chunk, at := seat(place)
	return &s.chunks[chunk][at]
}

// take returns a record that nobody uses.
func (s *slab) take() *value {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := len(s.free) - 1; last >= 0 {
		place := s.free[last]
		s.free = s.free[:last]
		return s.at(place)
	}
	place := max(firstPlace, s.end.Load())
	chunk, at := seat(place)
	if s.chunks[chunk] == nil {
		s.chunks[chunk] = make([]value, 1<<(chunk-1))
	}
	v := &s.chunks[chunk][at]
	v.place = place
	v.state.Store(stateDead)
	s.end.Store(place + 1)
	return v
}

// giveBack takes back a dead record that no index knows.
func (s *slab) giveBack(v *value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, v.place)
}

// extraOf returns what a value needs beside its record, nil if nothing.
func (s *slab) extraOf(v *value) *extra {
	chunk, at := seat(v.place)
	if more := s.more[chunk].Load(); more != nil {
		return (*more)[at].Load()
	}
	return nil
}

// setExtra sets what extraOf returns. Caller alone has the record.
func (s *slab) setExtra(v *value, x *extra) {
	chunk, at := seat(v.place)
	more := s.more[chunk].Load()
	if more == nil {
		more = s.makeExtras(chunk)
	}
	(*more)[at].Store(x)
}

func (s *slab) makeExtras(chunk int) *[]atomic.Pointer[extra] {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := s.more[chunk].Load()
	if more == nil {
		made := make([]atomic.Pointer[extra], 1<<(chunk-1))
		more = &made
		s.more[chunk].Store(more)
	}
	return more
}
