package stat

import (
	"fmt"
	"time"
)

const (
	second  = int64(time.Second)
	minute  = 60 * second
	never   = int64(-1) << 62 // start of a bucket that was never used
	maxRing = 600             // most buckets a ring may have
)

// Shape is the geometry of the second-level window: an interval divided into buckets.
// The zero value is not valid; use NewShape.
type Shape struct {
	interval int64 // ns
	length   int64 // of a bucket, ns
	count    int64 // buckets per interval
	base     int64 // length of a ring's bucket: divides both length and one second
	ring     int64 // buckets in a ring
}

// NewShape returns the shape of a window of the interval, in whole milliseconds, divided into that many buckets.
// The number must divide the interval.
func NewShape(interval time.Duration, buckets int) (*Shape, error) {
	ms := interval.Milliseconds()
	switch {
	case ms <= 0 || interval%time.Millisecond != 0:
		return nil, fmt.Errorf("window interval %v: must be a positive number of whole milliseconds", interval)
	case buckets <= 0:
		return nil, fmt.Errorf("window of %d buckets: must be at least 1", buckets)
	case ms%int64(buckets) != 0:
		return nil, fmt.Errorf("window interval %v: cannot be divided into %d buckets of whole milliseconds", interval, buckets)
	}
	s := &Shape{interval: int64(interval), count: int64(buckets)}
	s.length = s.interval / s.count
	s.base = gcd(s.length, second)
	s.ring = s.interval / s.base
	if s.ring > maxRing {
		return nil, fmt.Errorf("window interval %v with %d buckets: needs %d counters per node, more than %d; choose a bucket length that divides a second", interval, buckets, s.ring, maxRing)
	}
	return s, nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Interval returns the length of the window.
func (s *Shape) Interval() time.Duration { return time.Duration(s.interval) }

// Buckets returns into how many buckets the window is divided.
func (s *Shape) Buckets() int { return int(s.count) }

// Seconds returns the interval in seconds.
func (s *Shape) Seconds() float64 { return float64(s.interval) / float64(second) }

// oldest returns the start of the oldest bucket that the window still holds at time now.
func (s *Shape) oldest(now int64) int64 { return now - now%s.length - (s.count-1)*s.length }
