package stat_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidegate-go/tidegate/stat"
)

const cores = 64

// A simulation of 64 cores, each of whose callers has a hint of its own: which cache lines does a call of each of them
// write, in the steady state of a bucket?
func TestCacheLinesOfManyCores(t *testing.T) { // not parallel: GOMAXPROCS
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	n := stat.NewNode(scope(t, 1e9, 2))
	calm := writers(t, n.Lines, func(core uint32) { callNode(n, core) })
	if len(calm) != 1 {
		t.Errorf("a node that nobody met on is written in %d lines, want 1", len(calm))
	}
	n.Inflate()
	hot := writers(t, n.Lines, func(core uint32) { callNode(n, core) })
	if len(hot) != cores {
		t.Errorf("64 cores write %d lines of an inflated node, want one each", len(hot))
	}
	for line, by := range hot {
		if len(by) != 1 {
			t.Errorf("line %#x is written by cores %v", line, by)
		}
	}
	w := n.Window(epoch)
	if by := writers(t, w.Lines, func(uint32) { w.Reserve(epoch, 1, 1<<40) }); len(by) != 1 {
		t.Errorf("admissions write %d lines of a window, want 1", len(by))
	}
	if by := writers(t, w.Lines, func(uint32) { w.Reserve(epoch, 1, 0) }); len(by) != 0 {
		t.Errorf("refusals write %d lines of a window, want none", len(by))
	}
	testSpreadLines(t)
	if other := stat.NewNode(scope(t, 1e9, 2)); shareLine(n.Lines(), other.Lines()) {
		t.Error("two nodes share a line that calls write")
	}
}

// testSpreadLines counts who writes what of a window that callers of many cores meet on, far from its limit.
func testSpreadLines(t *testing.T) {
	t.Helper()
	w := stat.NewWindow(second, 2, epoch)
	w.ReserveBy(0, epoch, 1, 1<<40)
	by := writers(t, w.Lines, func(core uint32) { w.ReserveBy(core, epoch, 1, 1<<40) })
	if len(by) != cores {
		t.Errorf("64 cores write %d lines of a spread window, want one each", len(by))
	}
	for line, of := range by {
		if len(of) != 1 {
			t.Errorf("line %#x is written by cores %v", line, of)
		}
	}
	const calls = 20_000
	shared := 0
	for i := range uint32(calls) {
		before := w.Shared()
		w.ReserveBy(i%cores, epoch, 1, 1<<40)
		if w.Shared() != before {
			shared++
		}
	}
	if shared > calls/60 {
		t.Errorf("%d of %d admissions write the line that all share, want one in 60 at most", shared, calls)
	}
	if by := writers(t, w.Lines, func(core uint32) { w.ReserveBy(core, epoch, 1, 0) }); len(by) != 0 {
		t.Errorf("refusals write %d lines of a spread window, want none", len(by))
	}
}

func callNode(n *stat.Node, core uint32) {
	n.Pass(core, epoch, 1)
	n.Complete(core, epoch+ms, 1, ms, false)
}

// writers lets every core make a call, after each has made one that prepares its counters, and returns which cores
// wrote which line. A call must write one line at most.
func writers(t *testing.T, lines func() stat.Lines, call func(core uint32)) map[uintptr][]uint32 {
	t.Helper()
	for core := range uint32(cores) {
		call(core)
	}
	by := map[uintptr][]uint32{}
	for core := range uint32(cores) {
		before := lines()
		call(core)
		changed := lines().Changed(before)
		if len(changed) > 1 {
			t.Errorf("core %d: a call writes %d lines, want 1 at most", core, len(changed))
		}
		for _, line := range changed {
			by[line] = append(by[line], core)
		}
	}
	return by
}

func shareLine(a, b stat.Lines) bool {
	for line := range a {
		if _, both := b[line]; both {
			return true
		}
	}
	return false
}

// Many more callers than cores, whatever the number of processors: no count is lost, no limit exceeded, nobody is left
// in flight.
func TestManyCores(t *testing.T) { // not parallel: GOMAXPROCS
	for _, procs := range []int{1, 2, 8, cores} {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			newCrowd(t).run(t)
		})
	}
}

// crowd is what callers meet on: a node, a limit on admissions in a frozen window and one on calls in flight.
type crowd struct {
	node     *stat.Node
	window   *stat.Window
	gate     *stat.Gate
	admitted atomic.Int64
	blocked  atomic.Int64
	flying   atomic.Int64
	most     atomic.Int64
}

const (
	crowdCallers = 4 * cores
	crowdCalls   = 300
	crowdLimit   = crowdCallers * crowdCalls / 2
	crowdPermits = cores / 2
)

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	n := stat.NewNode(scope(t, 1e9, 2))
	return &crowd{node: n, window: n.Window(epoch), gate: n.Exact().Gate()}
}

func (c *crowd) run(t *testing.T) {
	t.Helper()
	var wg sync.WaitGroup
	for caller := range uint32(crowdCallers) {
		wg.Go(func() {
			for range crowdCalls {
				c.call(caller)
			}
		})
	}
	wg.Wait()
	s := c.node.Snapshot(epoch)
	if s.TotalPass != c.admitted.Load() || s.TotalSuccess != c.admitted.Load() || s.TotalBlock != c.blocked.Load() {
		t.Errorf("counted %d passed, %d completed, %d blocked; want %d, %d, %d",
			s.TotalPass, s.TotalSuccess, s.TotalBlock, c.admitted.Load(), c.admitted.Load(), c.blocked.Load())
	}
	if got := c.window.Total(epoch); got != c.admitted.Load() || got > crowdLimit {
		t.Errorf("the window holds %d of %d admitted, limit %d", got, c.admitted.Load(), crowdLimit)
	}
	if c.most.Load() > crowdPermits || c.gate.Held(c.node.Active) != 0 || s.Active != 0 {
		t.Errorf("%d in flight at most, limit %d; at the end %d permits and %d in flight",
			c.most.Load(), crowdPermits, c.gate.Held(c.node.Active), s.Active)
	}
}

// call is one guarded call by the same steps as the engine's.
func (c *crowd) call(caller uint32) {
	p, ok := c.gate.Acquire(1, crowdPermits-1, c.node.Active)
	if !ok {
		c.node.Block(caller, epoch, 1)
		c.blocked.Add(1)
		return
	}
	bucket, ok := c.reserve(caller)
	if !ok {
		c.gate.Release(p)
		c.node.Block(caller, epoch, 1)
		c.blocked.Add(1)
		return
	}
	if caller%16 == 0 { // gives up after all
		c.window.Undo(bucket, 1)
		c.gate.Release(p)
		return
	}
	c.admitted.Add(1)
	c.node.Pass(caller, epoch, 1)
	c.gate.Arrived(&p)
	for flying := c.flying.Add(1); ; {
		most := c.most.Load()
		if flying <= most || c.most.CompareAndSwap(most, flying) {
			break
		}
	}
	c.flying.Add(-1)
	c.gate.Release(p)
	c.node.Complete(caller, epoch+ms, 1, ms, false)
}

func (c *crowd) reserve(caller uint32) (bucket int64, ok bool) {
	if c.node.Spread() {
		return c.window.ReserveBy(caller, epoch, 1, crowdLimit-1)
	}
	return c.window.Reserve(epoch, 1, crowdLimit-1)
}

// A set of nodes forgets each in constant time and keeps the others in order.
func TestChildrenComeAndGo(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 100)
	var want []string
	resources := map[string]*stat.Resource{}
	for i := range 2_000 {
		name := fmt.Sprint("r", i)
		resources[name] = newResource(tree, name)
		resources[name].Node("web", nil)
		want = append(want, name)
		if i%3 != 0 {
			at := (i * 7919) % len(want)
			resources[want[at]].Detach()
			want = slices.Delete(want, at, at+1)
		}
	}
	var got []string
	for _, n := range tree.Find("web").Children() {
		got = append(got, n.Resource().Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d children, want %d in the order of their coming", len(got), len(want))
	}
}
