package stat_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/stat"
)

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
	minute = 60 * second
	epoch  = 1_700_000_040 * second // a multiple of a minute
	maxRT  = 5 * second
)

func shape(t testing.TB, interval time.Duration, buckets int) *stat.Shape {
	t.Helper()
	s, err := stat.NewShape(interval, buckets)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scope(t testing.TB, interval time.Duration, buckets int) *stat.Scope {
	t.Helper()
	return stat.NewScope(shape(t, interval, buckets), maxRT)
}

// geometry is one shape of the second-level window.
type geometry struct{ interval, buckets int64 }

func (g geometry) String() string { return fmt.Sprintf("%d÷%d", g.interval, g.buckets) }

func (g geometry) length() int64 { return g.interval * ms / g.buckets }

func (g geometry) scope(t testing.TB) *stat.Scope {
	t.Helper()
	return scope(t, time.Duration(g.interval)*time.Millisecond, int(g.buckets))
}

// oldest returns the start of the oldest bucket in the window at time now.
func (g geometry) oldest(now int64) int64 { return now - now%g.length() - (g.buckets-1)*g.length() }

func geometries() []geometry {
	return []geometry{{1000, 2}, {2000, 4}, {1000, 10}, {3000, 2}, {900, 3}, {1000, 1}, {500, 5}, {90_000, 3}}
}
