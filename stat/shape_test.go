package stat_test

import (
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/stat"
)

func TestShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		interval time.Duration
		buckets  int
		ok       bool
	}{
		{time.Second, 2, true},
		{time.Second, 1, true},
		{time.Second, 500, true},
		{900 * time.Millisecond, 3, true},
		{time.Millisecond, 1, true},
		{time.Minute, 60, true},
		{10 * time.Minute, 1, true},
		{0, 1, false},
		{-time.Second, 2, false},
		{time.Second, 0, false},
		{time.Second, -2, false},
		{time.Second, 3, false},
		{time.Second, 2000, false},
		{1500 * time.Microsecond, 1, false},
		{500 * time.Microsecond, 1, false},
		{7001 * time.Millisecond, 1, false}, // 1 ms counters: 7001 of them
		{time.Hour, 1, false},
	} {
		s, err := stat.NewShape(c.interval, c.buckets)
		if (err == nil) != c.ok {
			t.Errorf("%v in %d buckets: error %v", c.interval, c.buckets, err)
			continue
		}
		if err == nil && (s.Interval() != c.interval || s.Buckets() != c.buckets || s.Seconds() != c.interval.Seconds()) {
			t.Errorf("%v in %d buckets became %v in %d", c.interval, c.buckets, s.Interval(), s.Buckets())
		}
	}
}
