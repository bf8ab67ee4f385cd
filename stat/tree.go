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

// family is a set of nodes below another.
type family struct {
	mu    sync.Mutex
	nodes []*ContextNode // guarded by mu
}

func (f *family) add(n *ContextNode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes = append(f.nodes, n)
}

func (f *family) remove(n *ContextNode) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.nodes, n); i >= 0 {
		f.nodes = slices.Delete(f.nodes, i, i+1)
	}
}

func (f *family) list() []*ContextNode {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.nodes)
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
