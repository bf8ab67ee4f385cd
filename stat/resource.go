package stat

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/internal/nametable"
)

// Resource is the sum of a resource's nodes over all contexts, with a node for each origin.
// Make it with InitResource; all methods are safe for concurrent use.
type Resource struct {
	Name    string
	exact   Exact
	common  atomic.Pointer[ContextNode] // of the default entrance
	permits atomic.Pointer[Gate]        // of isolation rules; nil: none ever applied

	RuleName string // name under which rules are looked up: Name, but for a resource that stands for many
	Shared   bool   // it stands for many names, to which rules apply by pattern only
	Type     uint8  // classification given by the first call

	forgotten bool // taken out of the tree; guarded by the tree's edges
	tree      *Tree
	contexts  atomic.Pointer[nametable.Table[*ContextNode]] // of the others
	origins   atomic.Pointer[nametable.Table[*Node]]
	observed  atomic.Int64
	moved     sync.Mutex // held to make the common node
	attached  sync.Map   // what rule kinds keep with the resource, by their slot
}

// InitResource makes r, which must be zero, a resource of the tree that nobody has called yet.
// A ruleName that is not the name makes it a shared one.
func InitResource(r *Resource, tree *Tree, name, ruleName string, kind uint8) {
	r.Shared = name != ruleName
	r.Name, r.RuleName, r.Type, r.tree = name, ruleName, kind, tree
}

// Attach keeps a rule kind's state with the resource, for as long as the resource lives; nil removes it.
func (r *Resource) Attach(key, state any) {
	if state == nil {
		r.attached.Delete(key)
		return
	}
	r.attached.Store(key, state)
}

// Attachment returns what Attach kept, nil if nothing.
func (r *Resource) Attachment(key any) any {
	state, _ := r.attached.Load(key)
	return state
}

// Exact returns the exact words of the resource over all contexts.
func (r *Resource) Exact() *Exact { return &r.exact }

// Scope returns the settings of the resource's nodes.
func (r *Resource) Scope() *Scope { return r.tree.scope }

// Permits returns the gate of isolation rules, which counts what calls acquire. From then on every call of the resource
// takes permits, also when its rules are gone: so the gate is right at once when rules come back.
func (r *Resource) Permits() *Gate {
	if g := r.permits.Load(); g != nil {
		return g
	}
	g := &Gate{lasting: true}
	g.settling.Store(true)
	r.permits.CompareAndSwap(nil, g)
	return r.permits.Load()
}

// OpenPermits returns the gate of isolation rules, nil if none ever applied.
func (r *Resource) OpenPermits() *Gate { return r.permits.Load() }

// Observe counts a call that a rule in observe mode would have refused.
func (r *Resource) Observe() { r.observed.Add(1) }

// Observed returns how many calls rules in observe mode would have refused.
func (r *Resource) Observed() int64 { return r.observed.Load() }

// Window returns the exact count of the resource's admissions.
func (r *Resource) Window(now int64) *Window {
	if w := r.exact.open(); w != nil {
		return w
	}
	return r.makeWindow(now)
}

// OpenWindow returns what Window does if that has been made, else nil.
func (r *Resource) OpenWindow() *Window { return r.exact.open() }

func (r *Resource) makeWindow(now int64) *Window {
	return r.exact.Window(r.tree.scope.Shape(), now, func(add func(start, pass int64)) {
		r.eachNode(func(n *ContextNode) { n.eachPass(now, add) })
	})
}

// Node returns the node of the resource within the context; parent is the node of the call around it, if any,
// and matters only when the node is made.
func (r *Resource) Node(entrance string, parent *ContextNode) *ContextNode {
	if entrance == "" || entrance == DefaultEntrance {
		if n := r.common.Load(); n != nil {
			return n
		}
		return r.makeCommon(parent)
	}
	if contexts := r.contexts.Load(); contexts != nil {
		if n, ok := contexts.Get(entrance); ok {
			return n
		}
	}
	return r.makeNode(r.tree.Entrance(entrance), parent)
}

// Common returns the node of the resource within the default context, nil if it was never called there.
func (r *Resource) Common() *ContextNode { return r.common.Load() }

func (r *Resource) makeCommon(parent *ContextNode) *ContextNode {
	r.moved.Lock()
	defer r.moved.Unlock()
	if n := r.common.Load(); n != nil {
		return n
	}
	n := r.attach(r.tree.Entrance(DefaultEntrance), parent)
	r.common.Store(n)
	return n
}

func (r *Resource) makeNode(entrance *Entrance, parent *ContextNode) *ContextNode {
	contexts := r.contexts.Load()
	if contexts == nil {
		r.contexts.CompareAndSwap(nil, nametable.New[*ContextNode]())
		contexts = r.contexts.Load()
	}
	n, _ := contexts.GetOrAdd(entrance.Name, func(string) (*ContextNode, bool) { return r.attach(entrance, parent), true })
	return n
}

func (r *Resource) attach(entrance *Entrance, parent *ContextNode) *ContextNode {
	n := &ContextNode{Node: Node{scope: r.tree.scope}, resource: r, entrance: entrance}
	n.first.Store(newRing(r.tree.scope.Shape()))
	n.attach(parent)
	return n
}

// FindNode returns the node within the context, nil if the resource was never called there.
func (r *Resource) FindNode(entrance string) *ContextNode {
	if entrance == "" || entrance == DefaultEntrance {
		return r.common.Load()
	}
	if contexts := r.contexts.Load(); contexts != nil {
		n, _ := contexts.Get(entrance)
		return n
	}
	return nil
}

// Origin returns the node of the origin, made if need be, and the resource's own copy of the name; beyond most origins
// the node is the one named Overflow, and overflowed says so.
func (r *Resource) Origin(origin string, most int) (n *Node, own string, overflowed bool) {
	origins := r.origins.Load()
	if origins == nil {
		r.origins.CompareAndSwap(nil, nametable.New[*Node]())
		origins = r.origins.Load()
	}
	if own, n, ok := origins.Stored(origin); ok {
		return n, own, false
	}
	n, ok := origins.GetOrAdd(origin, func(string) (*Node, bool) {
		if origins.Len() >= most {
			return nil, false
		}
		return NewNode(r.tree.scope), true
	})
	if !ok {
		n, _ = origins.GetOrAdd(Overflow, func(string) (*Node, bool) { return NewNode(r.tree.scope), true })
	}
	return n, strings.Clone(origin), !ok
}

// FindOrigin returns the node of the origin, nil if it never called.
func (r *Resource) FindOrigin(origin string) *Node {
	if origins := r.origins.Load(); origins != nil {
		n, _ := origins.Get(origin)
		return n
	}
	return nil
}

// Origins calls f with each origin and its node.
func (r *Resource) Origins(f func(origin string, n *Node)) {
	if origins := r.origins.Load(); origins != nil {
		origins.Range(func(origin string, n *Node) bool { f(origin, n); return true })
	}
}

// Nodes calls f with the node of each context.
func (r *Resource) Nodes(f func(n *ContextNode)) { r.eachNode(f) }

func (r *Resource) eachNode(f func(n *ContextNode)) {
	if n := r.common.Load(); n != nil {
		f(n)
	}
	if contexts := r.contexts.Load(); contexts != nil {
		contexts.Range(func(_ string, n *ContextNode) bool { f(n); return true })
	}
}

// Active returns the resource's calls in flight.
func (r *Resource) Active() (sum int64) {
	r.eachNode(func(n *ContextNode) { sum += n.Active() })
	return sum
}

// Snapshot returns the resource's figures over all contexts.
func (r *Resource) Snapshot(now int64) Snapshot { return r.sums(now).derive() }

func (r *Resource) sums(now int64) *sums {
	r.exact.Each(func(w *Window, _ bool) { w.Touch(now) })
	s := newSums(now, r.tree.scope)
	r.eachNode(func(n *ContextNode) { s.add(&n.Node) })
	return s
}

// PassRate returns what passed per second over the second-level window.
func (r *Resource) PassRate(now int64) float64 { return r.Snapshot(now).PassQPS }

// Previous returns the passes of the last whole second.
func (r *Resource) Previous(now int64) int64 { return r.sums(now).previous.pass }

// Previous returns the passes of the last whole second.
func (n *Node) Previous(now int64) int64 {
	s := newSums(now, n.scope)
	s.add(n)
	return s.previous.pass
}

// Seconds returns what happened in each whole second that is over, as Node.Seconds.
func (r *Resource) Seconds(now int64, since time.Time) []SecondStats {
	var nodes []*Node
	r.eachNode(func(n *ContextNode) { nodes = append(nodes, &n.Node) })
	return seconds(nodes, now, since.UnixNano())
}

// Reshape gives every node of the resource the scope's shape.
func (r *Resource) Reshape() {
	r.eachNode(func(n *ContextNode) { n.Reshape() })
	r.Origins(func(_ string, n *Node) { n.Reshape() })
	r.exact.dropWindow()
}

// Keep drops exact words that no rule asks for: of the resource, of its context nodes and of its origins.
func (r *Resource) Keep(resource, context, origin Need) {
	r.exact.Keep(resource)
	r.eachNode(func(n *ContextNode) { n.exact.Keep(context) })
	r.Origins(func(_ string, n *Node) { n.exact.Keep(origin) })
}

// Tend does the housekeeping of the resource's nodes, removes those of contexts and origins idle for longer
// than idle ns, and returns when the resource was last used and its calls in flight.
func (r *Resource) Tend(now, idle int64) (lastUsed, active int64) {
	lastUsed = never
	r.eachNode(func(n *ContextNode) {
		used := n.Tend(now)
		lastUsed = max(lastUsed, used)
		flying := n.Active()
		active += flying
		if now-used > idle && flying == 0 && !n.exact.Busy(now) && n.entrance.Name != DefaultEntrance {
			r.contexts.Load().Delete(n.entrance.Name, func(have *ContextNode) bool { return have == n })
			n.dropped.Store(true)
			n.detach()
		}
	})
	r.Origins(func(origin string, n *Node) {
		if now-n.Tend(now) > idle && n.Active() == 0 && !n.exact.Busy(now) {
			r.origins.Load().Delete(origin, func(have *Node) bool { return have == n })
			n.dropped.Store(true)
		}
	})
	if now-lastUsed > minute {
		r.exact.gather()
	}
	return lastUsed, active
}

// Busy says whether an exact word of the resource, of a context or of an origin holds what a limit needs to know.
func (r *Resource) Busy(now int64) bool {
	busy := r.exact.Busy(now)
	if g := r.permits.Load(); g != nil {
		busy = busy || g.held.Load() != 0
	}
	r.eachNode(func(n *ContextNode) { busy = busy || n.exact.Busy(now) })
	r.Origins(func(_ string, n *Node) { busy = busy || n.exact.Busy(now) })
	return busy
}

// Detach takes the resource's nodes out of the invocation tree.
// Nodes that late calls make afterwards stay out of it.
func (r *Resource) Detach() {
	r.tree.edges.Lock()
	r.forgotten = true
	r.tree.edges.Unlock()
	r.eachNode(func(n *ContextNode) { n.detach() })
}
