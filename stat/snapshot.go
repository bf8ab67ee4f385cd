package stat

import (
	"math"
	"time"
)

// Snapshot holds the derived figures of a scope at one moment. Rates are per second over the second-level
// window, totals are sums over the last 60 seconds, the current one included. Counts are acquire counts, but
// response times are one per call, so AvgRT is per acquired unit.
type Snapshot struct {
	Time time.Time

	PassQPS, BlockQPS, SuccessQPS, ExceptionQPS float64
	TotalQPS                                    float64 // passed and blocked
	OccupiedPassQPS                             float64 // always 0: only the minute carries occupied passes
	MaxSuccessQPS                               float64 // of the best bucket, at least of one call
	AvgRT                                       float64 // ms; 0 without completions
	MinRT                                       float64 // ms; at least 1, the maximum RT setting without completions

	Active  int64 // calls in flight
	Waiting int64 // passes borrowed from buckets to come

	PreviousPassQPS, PreviousBlockQPS float64 // counts of the last whole second

	TotalRequest, TotalPass, TotalBlock, TotalSuccess, TotalException, TotalOccupied int64
}

// SecondStats is what happened in one whole second.
type SecondStats struct {
	Time                                          time.Time
	Pass, Block, Success, Exception, OccupiedPass int64
	RT                                            time.Duration // sum, one per completed call
	Peak                                          int64         // most calls in flight seen at a bucket change
}

// sums collects the counts of one or more nodes.
type sums struct {
	now      int64
	shape    *Shape
	sec      tally
	min      tally
	previous tally
	success  map[int64]int64 // by bucket start
	minRT    int64
	active   int64
	waiting  int64
}

func newSums(now int64, scope *Scope) *sums {
	return &sums{now: now, shape: scope.Shape(), minRT: scope.MaxRT(), success: map[int64]int64{}}
}

// add adds a node's counts.
func (s *sums) add(n *Node) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.touch(s.now)
	shape := n.first.Load().shape
	oldest := shape.oldest(s.now)
	thisSecond := s.now - s.now%second
	oldestSecond := thisSecond - minute + second
	for _, r := range n.rings() {
		for i := range r.buckets {
			s.addBucket(&r.buckets[i], shape, oldest, oldestSecond, thisSecond)
		}
	}
	if n.history != nil {
		n.history.each(oldestSecond, func(t *secondTally) {
			s.min.add(t.tally)
			if t.start == thisSecond-second {
				s.previous.add(t.tally)
			}
		})
	}
	n.borrowed.Load().each(s.now, func(l loan, ahead bool) {
		switch {
		case ahead:
			s.waiting += l.count
		case l.touched && l.start >= oldest:
			s.sec.pass += l.count
		}
	})
	s.active += n.activeLocked()
}

func (s *sums) addBucket(b *bucket, shape *Shape, oldest, oldestSecond, thisSecond int64) {
	start := b.start.Load()
	if start < oldestSecond && start < oldest {
		return
	}
	var t tally
	t.addBucket(b)
	if start >= oldest {
		in := t
		in.pass -= in.occupied
		in.occupied = 0
		s.sec.add(in)
		s.success[start-start%shape.length] += t.success
		s.minRT = min(s.minRT, b.minRT.Load())
	}
	if start >= oldestSecond {
		s.min.add(t)
	}
	if start-start%second == thisSecond-second {
		s.previous.add(t)
	}
}

// derive computes the figures of what was added.
func (s *sums) derive() Snapshot {
	seconds := s.shape.Seconds()
	rate := func(count int64) float64 { return float64(count) / seconds }
	var best int64 = 1
	for _, n := range s.success {
		best = max(best, n)
	}
	snap := Snapshot{
		Time:    time.Unix(0, s.now),
		PassQPS: rate(s.sec.pass), BlockQPS: rate(s.sec.block),
		SuccessQPS: rate(s.sec.success), ExceptionQPS: rate(s.sec.exception),
		TotalQPS:      rate(s.sec.pass + s.sec.block),
		MaxSuccessQPS: float64(best) * float64(s.shape.count) / seconds,
		MinRT:         math.Max(1, float64(s.minRT)/float64(time.Millisecond)),
		Active:        s.active, Waiting: s.waiting,
		PreviousPassQPS: float64(s.previous.pass), PreviousBlockQPS: float64(s.previous.block),
		TotalRequest: s.min.pass + s.min.block, TotalPass: s.min.pass, TotalBlock: s.min.block,
		TotalSuccess: s.min.success, TotalException: s.min.exception, TotalOccupied: s.min.occupied,
	}
	if s.sec.success > 0 {
		snap.AvgRT = float64(s.sec.rt) / float64(time.Millisecond) / float64(s.sec.success)
	}
	return snap
}

// Snapshot returns the node's figures at time now.
func (n *Node) Snapshot(now int64) Snapshot {
	s := newSums(now, n.scope)
	s.add(n)
	return s.derive()
}

// PassRate returns what passed per second over the second-level window.
func (n *Node) PassRate(now int64) float64 { return n.Snapshot(now).PassQPS }

// Seconds returns what happened in each whole second at or after since that is over at time now, at most the
// last minute, seconds without any event left out.
func (n *Node) Seconds(now int64, since time.Time) []SecondStats {
	return seconds([]*Node{n}, now, since.UnixNano())
}

func seconds(nodes []*Node, now, since int64) []SecondStats {
	end := now - now%second
	first := max(since, end-minute+second)
	found := map[int64]*secondTally{}
	at := func(start int64) *secondTally {
		t := found[start]
		if t == nil {
			t = &secondTally{start: start}
			found[start] = t
		}
		return t
	}
	for _, n := range nodes {
		n.eachSecond(first, end, func(start, peak int64, t tally) {
			into := at(start)
			into.add(t)
			into.peak += peak
		})
	}
	var list []SecondStats
	for start := first - first%second; start < end; start += second {
		t := found[start]
		if t == nil || t.tally == (tally{}) {
			continue
		}
		list = append(list, SecondStats{
			Time: time.Unix(0, start), Pass: t.pass, Block: t.block, Success: t.success,
			Exception: t.exception, OccupiedPass: t.occupied, RT: time.Duration(t.rt), Peak: t.peak,
		})
	}
	return list
}

// eachSecond calls f with the counts of seconds in [first, end), several times for one second if need be.
func (n *Node) eachSecond(first, end int64, f func(start, peak int64, t tally)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.history != nil {
		n.history.each(first, func(t *secondTally) {
			if t.start < end {
				f(t.start, t.peak, t.tally)
			}
		})
	}
	for _, r := range n.rings() {
		for i := range r.buckets {
			start := r.buckets[i].start.Load()
			if start = start - start%second; start >= first && start < end {
				var t tally
				t.addBucket(&r.buckets[i])
				f(start, 0, t)
			}
		}
	}
}
