package stat

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/internal/nametable"
)

// DefaultEntrance is the name of the entrance of calls that name none.
const DefaultEntrance = "sentinel_default_context"

// Overflow is the name of the entrance, the origin and the resource that stand for all beyond a cap.
const Overflow = "__overflow__"

// Tree is the invocation tree: a root, below it an entrance for each context name, below that the nodes of
// resources, nested by call. All methods are safe for concurrent use.
type Tree struct {
	scope     *Scope
	entrances *nametable.Table[*Entrance]
	most      int
	Named     func(name string) bool // whether a rule names an entrance, which then is never refused; set before use
	refused   atomic.Int64
	edges     sync.Mutex // held to add nodes and to take nodes out
}

// NewTree makes a tree that holds at most that many entrances.
func NewTree(scope *Scope, most int) *Tree {
	return &Tree{scope: scope, entrances: nametable.New[*Entrance](), most: most}
}

// Scope returns the settings of the tree's nodes.
func (t *Tree) Scope() *Scope { return t.scope }

// Overflowed returns how many times a new entrance was refused because of the cap.
func (t *Tree) Overflowed() int64 { return t.refused.Load() }

// Entrance returns the entrance of that name, made if need be; beyond the cap it is the one named Overflow.
func (t *Tree) Entrance(name string) *Entrance {
	e, ok := t.entrances.GetOrAdd(name, func(name string) (*Entrance, bool) {
		room := t.entrances.Len() < t.most || name == DefaultEntrance || name == Overflow || t.Named != nil && t.Named(name)
		return &Entrance{Name: name, tree: t}, room
	})
	if !ok {
		t.refused.Add(1)
		return t.Entrance(Overflow)
	}
	return e
}

// Find returns the entrance of that name, nil if there is none.
func (t *Tree) Find(name string) *Entrance {
	e, _ := t.entrances.Get(name)
	return e
}

// Entrances returns the entrances in order of name.
func (t *Tree) Entrances() []*Entrance {
	var list []*Entrance
	t.entrances.Range(func(_ string, e *Entrance) bool {
		list = append(list, e)
		return true
	})
	slices.SortFunc(list, func(a, b *Entrance) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Tend removes entrances without nodes, but the default one.
func (t *Tree) Tend() {
	for _, e := range t.Entrances() {
		if e.Name != DefaultEntrance {
			t.entrances.Delete(e.Name, func(e *Entrance) bool { return len(e.below.list()) == 0 })
		}
	}
}

// family is the nodes below another, in the order in which they came. Most nodes have none.
type family struct {
	mu      sync.Mutex
	members *members // guarded by mu; nil: none
}

// members is a list whose nodes know their places, so that one is taken out in constant time, however many there are.
type members struct {
	nodes []*ContextNode // nil where one was taken out
	gaps  int
}

func (f *family) add(n *ContextNode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members == nil {
		f.members = &members{}
	}
	n.place = len(f.members.nodes)
	f.members.nodes = append(f.members.nodes, n)
}

func (f *family) remove(n *ContextNode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.members
	if m == nil || n.place >= len(m.nodes) || m.nodes[n.place] != n {
		return
	}
	m.nodes[n.place] = nil
	m.gaps++
	switch {
	case m.gaps == len(m.nodes):
		f.members = nil
	case m.gaps > len(m.nodes)/2:
		f.members = m.compact()
	}
}

// compact returns the members without gaps.
func (m *members) compact() *members {
	next := &members{nodes: make([]*ContextNode, 0, len(m.nodes)-m.gaps)}
	for _, n := range m.nodes {
		if n != nil {
			n.place = len(next.nodes)
			next.nodes = append(next.nodes, n)
		}
	}
	return next
}

func (f *family) list() []*ContextNode {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.members.nodes), func(n *ContextNode) bool { return n == nil })
}

// Entrance is where calls of one context name come in. It records nothing itself.
type Entrance struct {
	Name  string
	tree  *Tree
	below family
}

// Children returns the nodes directly below.
func (e *Entrance) Children() []*ContextNode { return e.below.list() }

// Snapshot derives the entrance's figures from the nodes directly below: sums, and the response times weighed
// by passes. Figures that Sentinel does not sum (totals of successes and exceptions, previous values) are empty.
func (e *Entrance) Snapshot(now int64) Snapshot {
	sum := Snapshot{
		Time: time.Unix(0, now), MaxSuccessQPS: float64(e.tree.scope.Shape().count) / e.tree.scope.Shape().Seconds(),
		MinRT: max(1, float64(e.tree.scope.MaxRT())/float64(time.Millisecond)),
	}
	var weighed float64
	for _, child := range e.below.list() {
		s := child.Snapshot(now)
		sum.BlockQPS += s.BlockQPS
		sum.PassQPS += s.PassQPS
		sum.SuccessQPS += s.SuccessQPS
		sum.TotalQPS += s.TotalQPS
		sum.Active += s.Active
		sum.TotalRequest += s.TotalRequest
		sum.TotalPass += s.TotalPass
		sum.TotalBlock += s.TotalBlock
		weighed += s.AvgRT * s.PassQPS
	}
	if sum.PassQPS > 0 {
		weighed /= sum.PassQPS
	}
	sum.AvgRT = weighed
	return sum
}

// ContextNode counts a resource's calls within one context.
type ContextNode struct {
	Node
	resource *Resource
	entrance *Entrance
	parent   *ContextNode // nil: directly below the entrance; guarded by the tree's edges
	place    int          // among its siblings; guarded by their family's mu
	gone     bool         // taken out of the tree; guarded by the tree's edges
	below    family
}

// In says whether the node belongs to the tree.
func (n *ContextNode) In(t *Tree) bool { return n.entrance.tree == t }

// Resource returns the resource the node belongs to.
func (n *ContextNode) Resource() *Resource { return n.resource }

// Entrance returns the entrance the node is below of.
func (n *ContextNode) Entrance() *Entrance { return n.entrance }

// Children returns the nodes directly below.
func (n *ContextNode) Children() []*ContextNode { return n.below.list() }

// attach puts a new node into the tree: below its parent if that is there and in the same context.
func (n *ContextNode) attach(parent *ContextNode) {
	t := n.entrance.tree
	t.edges.Lock()
	defer t.edges.Unlock()
	if n.resource.forgotten {
		n.gone = true // a late call of a resource that is no longer in the tree
		return
	}
	if parent != nil && parent.entrance == n.entrance && !parent.gone {
		n.parent = parent
		parent.below.add(n)
		return
	}
	n.entrance.below.add(n)
}

// detach takes the node out of the tree; what is below it moves up.
func (n *ContextNode) detach() {
	t := n.entrance.tree
	t.edges.Lock()
	defer t.edges.Unlock()
	if n.gone {
		return
	}
	n.gone = true
	above := &n.entrance.below
	if n.parent != nil {
		above = &n.parent.below
	}
	above.remove(n)
	for _, child := range n.below.list() {
		n.below.remove(child)
		child.parent = n.parent
		above.add(child)
	}
}
