package outlier

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// maxRemembered bounds how many addresses are kept that have left the group while failing.
const maxRemembered = 1000

// Group is a set of addresses of one service. All its methods may be called by any number of goroutines.
// The zero value is a group without addresses in which nothing is ever ejected.
type Group struct {
	config Config
	time   *engineTime
	view   atomic.Pointer[view]
	turn   atomic.Uint64 // of Pick
	none   error         // what Pick returns if all are ejected
	sweep  atomic.Int64  // engine time of the next Maintain

	mu         sync.Mutex
	remembered []*node // guarded by mu; left while failing, the longest gone first
	failing    []*node // guarded by mu; of the group, breaker not closed, by the time of opening
	recovery   recovery
}

// view is what readers see; it is immutable but for the nodes' own state.
type view struct {
	nodes     []*node // in the order of Set
	byAddress map[string]*node
	available []*node // not ejected
	ejected   []*node
}

// node is an address with one breaker. An address that starts afresh gets a new node.
type node struct {
	address string
	breaker *circuitbreaker.Breaker
	refused error // what Start returns while the node is ejected

	failing atomic.Bool  // written under mu: the breaker was not closed when it was last looked at
	ejected atomic.Bool  // written under mu
	active  atomic.Int64 // engine time of the last call or check while failing

	check check // guarded by mu
}

// New returns a group without addresses. It starts no goroutine; with ActiveRecovery there is one while an
// address is failing, and at most MaxChecks more. Close the group when it is not needed any more.
func New(config Config) (*Group, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	g := &Group{config: config, time: newEngineTime(config.Clock)}
	g.none = fmt.Errorf("%s: all addresses: %w", config.Rule.Resource, ErrEjected)
	g.recovery.ctx, g.recovery.cancel = context.WithCancel(context.Background())
	return g, nil
}

// Close ends all background work and returns when it has ended; a Check that ignores its context delays it.
// Everything but active recovery goes on working. It always returns nil and may be called again,
// but not by a Check.
func (g *Group) Close() error {
	g.recovery.close(&g.mu)
	return nil
}

// Set replaces the addresses. Those that stay keep their state. Empty and repeated ones are dropped.
func (g *Group) Set(addresses []string) {
	now := g.time.now()
	g.mu.Lock()
	gone := g.replace(addresses, now)
	g.mu.Unlock()
	retire(gone, CauseForgotten)
	g.Maintain()
}

// replace returns the nodes that are dropped. The caller holds mu.
func (g *Group) replace(addresses []string, now int64) (gone []*node) {
	old := g.current().byAddress
	next := &view{byAddress: make(map[string]*node, len(addresses))}
	for _, address := range addresses {
		if _, twice := next.byAddress[address]; twice || address == "" {
			continue
		}
		n := old[address]
		if n == nil {
			n = g.recall(address)
		}
		next.byAddress[address] = n
		next.nodes = append(next.nodes, n)
	}
	for _, n := range g.current().nodes {
		switch {
		case next.byAddress[n.address] != nil:
		case n.failing.Load():
			n.active.Store(now)
			n.ejected.Store(false)
			n.check.end()
			g.remembered = append(g.remembered, n)
		default:
			gone = append(gone, n)
		}
	}
	if excess := len(g.remembered) - maxRemembered; excess > 0 {
		gone = append(gone, g.remembered[:excess]...)
		g.remembered = slices.Delete(g.remembered, 0, excess)
	}
	g.publish(next)
	return gone
}

// recall returns the node of an address that is new to the group: the one that is remembered, or a fresh
// one. The caller holds mu.
func (g *Group) recall(address string) *node {
	for i, n := range g.remembered {
		if n.address == address {
			g.remembered = slices.Delete(g.remembered, i, i+1)
			return n
		}
	}
	return g.newNode(address)
}

func (g *Group) newNode(address string) *node {
	n := &node{
		address: address,
		breaker: new(circuitbreaker.Breaker),
		refused: fmt.Errorf("%s: %s: %w", g.config.Rule.Resource, address, ErrEjected),
	}
	if !g.config.counts() {
		return n
	}
	var notify func(circuitbreaker.Event)
	if g.config.Notify != nil {
		notify = func(e circuitbreaker.Event) { g.config.Notify(address, e) }
	}
	n.breaker = circuitbreaker.NewBreaker(g.config.Rule, g.config.Rule.Resource, notify)
	return n
}

// current returns the view, never nil.
func (g *Group) current() *view {
	if v := g.view.Load(); v != nil {
		return v
	}
	return &view{}
}

// publish decides who is ejected and shows the result. The caller holds mu and hands over a view with
// nodes and byAddress set.
func (g *Group) publish(v *view) {
	g.failing = slices.DeleteFunc(g.failing, func(n *node) bool { return v.byAddress[n.address] != n || !n.failing.Load() })
	known := setOf(g.failing)
	for _, n := range v.nodes {
		if n.failing.Load() && !known[n] {
			g.failing = append(g.failing, n)
		}
	}
	v.ejected = slices.Clone(g.failing[:min(len(g.failing), g.config.maxEjected(len(v.nodes)))])
	out := setOf(v.ejected)
	for _, n := range v.nodes {
		n.ejected.Store(out[n])
		if !out[n] {
			v.available = append(v.available, n)
		}
	}
	g.view.Store(v)
	g.scheduleChecks()
}

func setOf(nodes []*node) map[*node]bool {
	set := make(map[*node]bool, len(nodes))
	for _, n := range nodes {
		set[n] = true
	}
	return set
}

// refresh publishes a view with the same addresses. The caller holds mu.
func (g *Group) refresh() {
	v := g.current()
	g.publish(&view{nodes: v.nodes, byAddress: v.byAddress})
}

// settle takes note of a breaker that has opened or closed. Whoever may have caused that calls it.
func (g *Group) settle(n *node, now int64) {
	if n.failing.Load() == (n.breaker.State() != circuitbreaker.Closed) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	failing := n.breaker.State() != circuitbreaker.Closed
	if n.failing.Load() == failing {
		return
	}
	n.active.Store(now)
	n.failing.Store(failing)
	if !failing {
		n.check.end()
	}
	if g.current().byAddress[n.address] == n {
		g.refresh()
	}
}

// renew gives the address of n a node with a closed breaker in its place. The caller holds mu and retires n.
func (g *Group) renew(n *node) (fresh *node) {
	v := g.current()
	fresh = g.newNode(n.address)
	next := &view{nodes: slices.Clone(v.nodes), byAddress: make(map[string]*node, len(v.nodes))}
	for i, old := range next.nodes {
		if old == n {
			next.nodes[i] = fresh
		}
		next.byAddress[old.address] = next.nodes[i]
	}
	g.publish(next)
	return fresh
}

// Maintain forgets the failing addresses to which nothing has happened for Config.RecycleAfter. The group
// does so by itself when it is used; call it after moving an injected clock.
func (g *Group) Maintain() {
	now := g.time.now()
	g.sweep.Store(g.nextSweep(now))
	g.mu.Lock()
	gone := g.forget(now)
	g.mu.Unlock()
	retire(gone, CauseForgotten)
}

// forget returns the nodes that are dropped. The caller holds mu.
func (g *Group) forget(now int64) (gone []*node) {
	idle := func(n *node) bool { return now-n.active.Load() >= int64(g.config.RecycleAfter) }
	for _, n := range slices.Clone(g.failing) {
		if idle(n) {
			g.renew(n)
			gone = append(gone, n)
		}
	}
	g.remembered = slices.DeleteFunc(g.remembered, func(n *node) bool {
		if idle(n) {
			gone = append(gone, n)
			return true
		}
		return false
	})
	return gone
}

// maintain is Maintain when it is time.
func (g *Group) maintain(now int64) {
	if next := g.sweep.Load(); now >= next && next != 0 && g.sweep.CompareAndSwap(next, g.nextSweep(now)) {
		g.Maintain()
	}
}

func (g *Group) nextSweep(now int64) int64 {
	return now + int64(max(g.config.RecycleAfter/10, time.Millisecond))
}

// retire ends the breakers of dropped nodes. No lock may be held, since Notify is called.
func retire(nodes []*node, cause string) {
	for _, n := range nodes {
		n.breaker.Retire(cause)
	}
}
