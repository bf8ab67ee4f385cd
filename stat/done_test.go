package stat_test

import (
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/stat"
)

// Completions share a word with their response times. No number of them and no response time is too large for it.
func TestManyAndLongCompletionsInOneBucket(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		calls int
		units int64
		rt    time.Duration
	}{
		"many calls":       {1<<20 + 7, 1, time.Microsecond},
		"almost a second":  {20_000, 1, 1<<30 - 1},
		"more than second": {1000, 1, 3 * time.Hour},
		"many units":       {1000, 1 << 40, time.Millisecond},
		"no units":         {1000, 0, time.Millisecond},
	} {
		n := stat.NewNode(scope(t, 1e9, 2))
		for range test.calls {
			n.Pass(0, epoch, test.units)
			n.Complete(0, epoch, test.units, int64(test.rt), false)
		}
		success, rt := int64(test.calls)*test.units, int64(test.calls)*int64(test.rt)
		if got := n.Recent(epoch); got.Success != success || got.RT != rt {
			t.Errorf("%s: %d successes in %d ns, want %d in %d", name, got.Success, got.RT, success, rt)
		}
		if s := n.Snapshot(epoch); s.TotalSuccess != success || s.Active != 0 {
			t.Errorf("%s: %d successes, %d in flight; want %d and 0", name, s.TotalSuccess, s.Active, success)
		}
		seconds := n.Seconds(epoch+1000*ms, time.Time{})
		if success > 0 && (len(seconds) != 1 || seconds[0].Success != success || int64(seconds[0].RT) != rt) {
			t.Errorf("%s: the second holds %+v, want %d successes in %d ns", name, seconds, success, rt)
		}
		n.Pass(0, epoch+5000*ms, 1) // what the bucket held goes to the history
		if s := n.Snapshot(epoch + 5000*ms); s.TotalSuccess != success || s.Active != 1 {
			t.Errorf("%s: later %d successes, %d in flight; want %d and 1", name, s.TotalSuccess, s.Active, success)
		}
	}
}
