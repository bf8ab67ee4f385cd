package stat

// tally is a set of event counts.
type tally struct {
	pass, block, exception, success, rt, occupied int64
}

func (t *tally) add(o tally) {
	t.pass += o.pass
	t.block += o.block
	t.exception += o.exception
	t.success += o.success
	t.rt += o.rt
	t.occupied += o.occupied
}

func (t *tally) addBucket(b *bucket) {
	occupied := b.occupied.Load()
	success, rt := b.completed()
	t.add(tally{
		pass: b.pass.Load() + occupied, block: b.block.Load(), exception: b.exception.Load(),
		success: success, rt: rt, occupied: occupied,
	})
}

// secondTally is what happened in one second.
type secondTally struct {
	start int64
	peak  int64 // most calls in flight seen at a bucket change
	tally
}

const (
	chunkSeconds = 10
	chunks       = 6
)

// history keeps the seconds of the last minute that left the ring, in chunks that exist only once used.
type history struct {
	chunk [chunks]*[chunkSeconds]secondTally
}

// slot returns the record of the second that begins at start, nil if a newer one has its place.
func (h *history) slot(start int64) *secondTally {
	number := start / second
	c := &h.chunk[number/chunkSeconds%chunks]
	if *c == nil {
		*c = new([chunkSeconds]secondTally)
		for i := range *c {
			(*c)[i].start = never
		}
	}
	s := &(*c)[number%chunkSeconds]
	switch {
	case s.start > start:
		return nil
	case s.start < start:
		*s = secondTally{start: start}
	}
	return s
}

// each calls f for every second at or after oldest.
func (h *history) each(oldest int64, f func(*secondTally)) {
	for _, c := range h.chunk {
		if c == nil {
			continue
		}
		for i := range c {
			if c[i].start >= oldest {
				f(&c[i])
			}
		}
	}
}

// prune drops chunks that hold nothing at or after oldest, and says whether any is left.
func (h *history) prune(oldest int64) (left bool) {
	for i, c := range h.chunk {
		if c == nil {
			continue
		}
		used := false
		for j := range c {
			used = used || c[j].start >= oldest
		}
		if used {
			left = true
		} else {
			h.chunk[i] = nil
		}
	}
	return left
}
