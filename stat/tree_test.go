package stat_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidegate-go/tidegate/stat"
)

func newTree(t *testing.T, most int) *stat.Tree {
	t.Helper()
	return stat.NewTree(scope(t, 1e9, 2), most)
}

func newResource(tree *stat.Tree, name string) *stat.Resource {
	r := &stat.Resource{}
	stat.InitResource(r, tree, name, name, 0)
	return r
}

// draw writes the tree as entrance(a(b c) d).
func draw(tree *stat.Tree) string {
	var list []string
	for _, e := range tree.Entrances() {
		list = append(list, e.Name+drawNodes(e.Children()))
	}
	return strings.Join(list, " ")
}

func drawNodes(nodes []*stat.ContextNode) string {
	if len(nodes) == 0 {
		return ""
	}
	var list []string
	for _, n := range nodes {
		list = append(list, n.Resource().Name+drawNodes(n.Children()))
	}
	slices.Sort(list)
	return "(" + strings.Join(list, " ") + ")"
}

func expectTree(t *testing.T, tree *stat.Tree, want string) {
	t.Helper()
	if got := draw(tree); got != want {
		t.Errorf("tree %s, want %s", got, want)
	}
}

func TestTreeNests(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 100)
	a, b, c := newResource(tree, "a"), newResource(tree, "b"), newResource(tree, "c")
	web := a.Node("web", nil)
	b.Node("web", web)
	c.Node("web", b.Node("web", nil)) // the first parent stays
	b.Node("", nil)
	c.Node(stat.DefaultEntrance, b.Node("", nil))
	expectTree(t, tree, "sentinel_default_context(b(c)) web(a(b(c)))")
	if b.Node("web", nil) != b.FindNode("web") || b.FindNode("other") != nil || b.FindNode("") != b.Node("", web) {
		t.Error("nodes are not found again")
	}
	if web.Resource() != a || web.Entrance() != tree.Find("web") {
		t.Error("the node does not know where it belongs")
	}

	// The parent of another context is none: each context has a tree of its own.
	d := newResource(tree, "d")
	d.Node("job", web)
	expectTree(t, tree, "job(d) sentinel_default_context(b(c)) web(a(b(c)))")

	// What was below a resource that is gone moves up.
	b.Detach()
	b.Detach()
	expectTree(t, tree, "job(d) sentinel_default_context(c) web(a(c))")
	newResource(tree, "e").Node("web", b.FindNode("web")) // a call still inside b
	expectTree(t, tree, "job(d) sentinel_default_context(c) web(a(c) e)")
	a.Detach()
	expectTree(t, tree, "job(d) sentinel_default_context(c) web(c e)")
	d.Detach()
	tree.Tend()
	expectTree(t, tree, "sentinel_default_context(c) web(c e)")
}

func TestTreeIsCapped(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 3)
	r := newResource(tree, "r")
	for i := range 10 {
		r.Node(fmt.Sprint("e", i), nil).Pass(0, epoch, 1)
	}
	r.Node("", nil)
	expectTree(t, tree, "__overflow__(r) e0(r) e1(r) e2(r) sentinel_default_context(r)")
	if tree.Overflowed() < 7 {
		t.Errorf("%d refusals counted, want one for each of 7 names", tree.Overflowed())
	}
	if s := r.FindNode(stat.Overflow).Snapshot(epoch); s.TotalPass != 7 {
		t.Errorf("the overflow counts %d, want 7", s.TotalPass)
	}
	if s := r.Snapshot(epoch); s.TotalPass != 10 || s.Active != 10 {
		t.Errorf("the resource counts %+v", s)
	}
}

func TestCapsHoldUnderConcurrency(t *testing.T) {
	t.Parallel()
	for range 20 {
		tree := newTree(t, 5)
		r := newResource(tree, "r")
		var wg sync.WaitGroup
		for w := range 16 {
			wg.Go(func() {
				for i := range 20 {
					r.Node(fmt.Sprint("e", w, "-", i), nil)
					if n, _, _ := r.Origin(fmt.Sprint("o", w, "-", i), 7); n == nil {
						t.Error("no node")
					}
				}
			})
		}
		wg.Wait()
		origins := 0
		r.Origins(func(string, *stat.Node) { origins++ })
		if entrances := len(tree.Entrances()); entrances > 6 || origins > 8 {
			t.Fatalf("%d entrances and %d origins, want 5 and 7 and one more for the rest", entrances, origins)
		}
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 3)
	r := newResource(tree, "r")
	if r.FindOrigin("a") != nil {
		t.Error("an origin that never called has a node")
	}
	for i, overflowed := range []bool{false, false, true, true} {
		n, _, over := r.Origin(fmt.Sprint(i), 2)
		n.Pass(0, epoch, 1)
		if over != overflowed {
			t.Errorf("origin %d: overflowed %v", i, over)
		}
	}
	if n, _, over := r.Origin("0", 2); over || n != r.FindOrigin("0") {
		t.Error("a known origin lost its node")
	}
	if s := r.FindOrigin(stat.Overflow).Snapshot(epoch); s.TotalPass != 2 {
		t.Errorf("the overflow counts %d, want 2", s.TotalPass)
	}
}

func TestIdleNodesGo(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 10)
	r, inner := newResource(tree, "r"), newResource(tree, "inner")
	idle := 2 * minute
	web := r.Node("web", nil)
	web.Pass(0, epoch, 1)
	inner.Node("web", web).Pass(0, epoch+idle, 1)
	inner.Node("web", web).Complete(0, epoch+idle, 1, ms, false)
	r.Node("", nil).Pass(0, epoch, 1)
	o, _, _ := r.Origin("o", 10)
	o.Pass(0, epoch, 1)
	used, active := r.Tend(epoch+10*minute, idle)
	if used != epoch || active != 2 || r.FindNode("web") == nil || r.FindOrigin("o") == nil {
		t.Errorf("calls in flight: used +%d, %d active", (used-epoch)/ms, active)
	}
	web.Complete(0, epoch+ms, 1, ms, false)
	o.Complete(0, epoch+ms, 1, ms, false)
	r.Tend(epoch+idle, idle)
	if r.FindNode("web") == nil || r.FindOrigin("o") == nil {
		t.Error("gone before the time")
	}
	r.Tend(epoch+idle+second, idle)
	if r.FindNode("web") != nil || r.FindOrigin("o") != nil || r.FindNode("") == nil {
		t.Error("idle nodes are still there, or the default one is gone")
	}
	expectTree(t, tree, "sentinel_default_context(r) web(inner)")
	inner.Detach()
	tree.Tend()
	expectTree(t, tree, "sentinel_default_context(r)")
}

func TestEntranceFigures(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 10)
	a, b, c := newResource(tree, "a"), newResource(tree, "b"), newResource(tree, "c")
	call := func(n *stat.ContextNode, passes, blocks, rt int64) {
		for range passes {
			n.Pass(0, epoch, 1)
			n.Complete(0, epoch, 1, rt*ms, true)
		}
		n.Pass(0, epoch, 1) // stays in flight
		n.Block(0, epoch, blocks)
	}
	na := a.Node("web", nil)
	call(na, 3, 2, 10)
	call(b.Node("web", nil), 1, 1, 50)
	call(c.Node("web", na), 5, 5, 7) // not directly below the entrance
	s := tree.Find("web").Snapshot(epoch)
	want := stat.Snapshot{
		Time: s.Time, PassQPS: 6, BlockQPS: 3, SuccessQPS: 4, TotalQPS: 9, Active: 2, TotalRequest: 9, TotalPass: 6, TotalBlock: 3,
		MaxSuccessQPS: 2, MinRT: 5000, AvgRT: (10*4 + 50*2) / 6.0,
	}
	if math.Abs(s.AvgRT-want.AvgRT) > 1e-9 {
		t.Errorf("average %v, want %v", s.AvgRT, want.AvgRT)
	}
	s.AvgRT = want.AvgRT
	if s != want {
		t.Errorf("figures\n%+v, want\n%+v", s, want)
	}
	if s := tree.Entrance("empty").Snapshot(epoch); s.AvgRT != 0 || s.PassQPS != 0 || s.MinRT != 5000 {
		t.Errorf("an entrance without nodes: %+v", s)
	}
}

func TestResourceIsTheSumOfItsContexts(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 10)
	r := newResource(tree, "r")
	for i, entrance := range []string{"", "web", "job"} {
		n := r.Node(entrance, nil)
		n.Pass(0, epoch+int64(i)*100*ms, int64(i+1))
		n.Block(0, epoch+200*ms, 1)
		n.Complete(0, epoch+300*ms, int64(i+1), int64(i+1)*10*ms, i == 1)
	}
	s := r.Snapshot(epoch + 400*ms)
	if s.PassQPS != 6 || s.BlockQPS != 3 || s.SuccessQPS != 6 || s.ExceptionQPS != 2 || s.AvgRT != 10 || s.MinRT != 10 || s.Active != 0 ||
		s.MaxSuccessQPS != 12 || s.TotalRequest != 9 {
		t.Errorf("%+v", s)
	}
	if r.PassRate(epoch+400*ms) != 6 || r.Previous(epoch+second) != 6 || r.Node("web", nil).Previous(epoch+second) != 2 || r.Node("job", nil).PassRate(epoch+second) != 0 {
		t.Error("rates differ from the snapshot")
	}
	if w := r.Window(epoch + 400*ms); w.Total(epoch+400*ms) != 6 {
		t.Errorf("the exact window starts from %d", w.Total(epoch+400*ms))
	}
	count := 0
	r.Nodes(func(*stat.ContextNode) { count++ })
	if count != 3 {
		t.Errorf("%d nodes", count)
	}
}

func TestResourceReshape(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 10)
	r := newResource(tree, "r")
	r.Node("", nil).Pass(0, epoch, 1)
	r.Node("web", nil).Pass(0, epoch, 1)
	o, _, _ := r.Origin("o", 10)
	o.Pass(0, epoch, 1)
	for _, w := range []*stat.Window{r.Window(epoch), o.Window(epoch), r.Node("web", nil).Window(epoch)} {
		if w.Interval() != second || w.Total(epoch) == 0 {
			t.Error("before")
		}
	}
	tree.Scope().SetShape(shape(t, 2e9, 4))
	r.Reshape()
	for _, w := range []*stat.Window{r.Window(epoch), o.Window(epoch), r.Node("web", nil).Window(epoch)} {
		if w.Interval() != 2*second || w.Total(epoch) != 0 {
			t.Errorf("window of %d ms with %d", w.Interval()/ms, w.Total(epoch))
		}
	}
	if s := r.Snapshot(epoch); s.PassQPS != 0 || s.TotalPass != 2 {
		t.Errorf("%+v", s)
	}
}

// Calls, housekeeping and the end of resources at once: the tree keeps no node that nobody can find.
func TestTreeUnderLoad(t *testing.T) {
	t.Parallel()
	tree := newTree(t, 20)
	resources := make([]*stat.Resource, 8)
	for i := range resources {
		resources[i] = newResource(tree, fmt.Sprint("r", i))
	}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for i := range 400 {
				entrance := fmt.Sprint("e", i%5)
				outer := resources[(w+i)%8].Node(entrance, nil)
				inner := resources[(w+i*3)%8].Node(entrance, outer)
				inner.Pass(uint32(w), epoch, 1)
				inner.Complete(uint32(w), epoch, 1, ms, false)
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 100 {
				for _, r := range resources {
					r.Tend(epoch+time10, minute)
				}
				tree.Tend()
				draw(tree)
			}
		})
	}
	wg.Wait()
	for _, r := range resources {
		r.Tend(epoch+time10, minute)
		r.Detach()
	}
	tree.Tend()
	for _, e := range tree.Entrances() {
		if len(e.Children()) > 0 {
			t.Errorf("left in the tree: %s", draw(tree))
		}
	}
}

const time10 = 10 * minute

func TestAttachments(t *testing.T) {
	t.Parallel()
	r := newResource(newTree(t, 3), "r")
	type key struct{}
	if r.Attachment(key{}) != nil {
		t.Error("something attached at first")
	}
	r.Attach(key{}, 5)
	if r.Attachment(key{}) != 5 {
		t.Error("not attached")
	}
	r.Attach(key{}, nil)
	if r.Attachment(key{}) != nil {
		t.Error("not removed")
	}
	r.Observe()
	r.Observe()
	if r.Observed() != 2 {
		t.Errorf("observed %d", r.Observed())
	}
}
