package tidegate

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidegate-go/tidegate/stat"
)

// TreeNode is a node of the invocation tree with its figures.
type TreeNode struct {
	Name     string // of the entrance or the resource
	Stats    Snapshot
	Children []TreeNode
}

// Resources returns the names of the resources that were called and not forgotten, in order.
func (e *Engine) Resources() []string {
	if !e.made() {
		return nil
	}
	var names []string
	collect := func(name string, _ *resource) bool { names = append(names, name); return true }
	e.resources.Range(collect)
	e.overflow.Range(collect)
	slices.Sort(names)
	return names
}

// ResourceStats returns the figures of a resource over all contexts; false if nobody called it.
func (e *Engine) ResourceStats(name string) (Snapshot, bool) {
	if r := e.find(name); r != nil {
		return r.Snapshot(e.clock.now()), true
	}
	return Snapshot{}, false
}

// ContextStats returns the figures of a resource within the context of that entrance, "" being the default one.
func (e *Engine) ContextStats(name, entrance string) (Snapshot, bool) {
	if r := e.find(name); r != nil {
		if n := r.FindNode(entrance); n != nil {
			now := e.clock.now()
			n.Touch(now)
			return n.Snapshot(now), true
		}
	}
	return Snapshot{}, false
}

// OriginStats returns the figures of a resource for an origin.
func (e *Engine) OriginStats(name, origin string) (Snapshot, bool) {
	if r := e.find(name); r != nil {
		if n := r.FindOrigin(origin); n != nil {
			now := e.clock.now()
			n.Touch(now)
			return n.Snapshot(now), true
		}
	}
	return Snapshot{}, false
}

// Origins returns the origins that called the resource, in order.
func (e *Engine) Origins(name string) []string {
	var origins []string
	if r := e.find(name); r != nil {
		r.Origins(func(origin string, _ *stat.Node) { origins = append(origins, origin) })
	}
	slices.Sort(origins)
	return origins
}

// EntranceStats returns the sums over the nodes directly below an entrance, "" being the default one.
func (e *Engine) EntranceStats(entrance string) (Snapshot, bool) {
	if entrance == "" {
		entrance = stat.DefaultEntrance
	}
	if !e.made() || e.tree.Find(entrance) == nil {
		return Snapshot{}, false
	}
	return e.tree.Find(entrance).Snapshot(e.clock.now()), true
}

// InboundStats returns the figures of all inbound calls together.
func (e *Engine) InboundStats() Snapshot {
	if !e.made() {
		return Snapshot{}
	}
	now := e.clock.now()
	e.inbound.Touch(now)
	return e.inbound.Snapshot(now)
}

// Seconds returns what happened to a resource in each whole second since then that is over, at most the last minute.
func (e *Engine) Seconds(name string, since time.Time) []stat.SecondStats {
	if r := e.find(name); r != nil {
		return r.Seconds(e.clock.now(), since)
	}
	return nil
}

// WouldBlock returns how many calls of the resource rules in observe mode would have refused.
func (e *Engine) WouldBlock(name string) int64 {
	if r := e.find(name); r != nil {
		return r.Observed()
	}
	return 0
}

// Breakers returns the state of the resource's circuit breakers, in the order of their rules.
func (e *Engine) Breakers(name string) []BreakerStatus {
	if r := e.find(name); r != nil {
		return e.breakers.Status(&r.Resource, e.clock.now())
	}
	return nil
}

// Tree returns the invocation tree: entrances, below them the nodes of resources, nested by call.
func (e *Engine) Tree() []TreeNode {
	if !e.made() {
		return nil
	}
	now := e.clock.now()
	var list []TreeNode
	for _, entrance := range e.tree.Entrances() {
		list = append(list, TreeNode{Name: entrance.Name, Stats: entrance.Snapshot(now), Children: treeOf(entrance.Children(), now)})
	}
	return list
}

func treeOf(nodes []*stat.ContextNode, now int64) []TreeNode {
	var list []TreeNode
	for _, n := range nodes {
		list = append(list, TreeNode{Name: n.Resource().Name, Stats: n.Snapshot(now), Children: treeOf(n.Children(), now)})
	}
	return list
}

// SetWindow changes the second-level window of every node and starts its counts anew; minutes are kept.
func (e *Engine) SetWindow(interval time.Duration, buckets int) error {
	shape, err := stat.NewShape(interval, buckets)
	if err != nil {
		return err
	}
	if !e.made() {
		return errNotMade
	}
	e.scope.SetShape(shape)
	each := func(_ string, r *resource) bool { r.Reshape(); return true }
	e.resources.Range(each)
	e.overflow.Range(each)
	e.inbound.Reshape()
	e.occupy.Store(min(e.occupy.Load(), int64(interval)))
	e.compileAll()
	return nil
}

// SetOccupyTimeout changes how long a prioritized call may wait; it must not be negative nor longer than the window.
func (e *Engine) SetOccupyTimeout(d time.Duration) error {
	if !e.made() {
		return errNotMade
	}
	if d < 0 || d > e.scope.Shape().Interval() {
		return fmt.Errorf("occupy timeout %v: must be from 0 to the window's %v", d, e.scope.Shape().Interval())
	}
	e.occupy.Store(int64(d))
	return nil
}
