package outlier

import (
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

// Status is what an address looks like at one moment.
type Status struct {
	Address string
	Ejected bool // gets no calls but probes
	Breaker circuitbreaker.Status

	// While the breaker is not closed and there is active recovery:
	FailedChecks int       // in a row
	CheckError   error     // of the last one; nil if there was none
	NextCheck    time.Time // when it is planned; zero if none is, or one is at work
}

// Status returns the state of each address, in the order of Set.
func (g *Group) Status() []Status {
	now := g.time.now()
	list, nodes := g.ownStatus()
	for i, n := range nodes {
		list[i].Breaker = n.breaker.Status(now)
	}
	return list
}

func (g *Group) ownStatus() ([]Status, []*node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	nodes := g.current().nodes
	list := make([]Status, len(nodes))
	for i, n := range nodes {
		list[i] = Status{Address: n.address, Ejected: n.ejected.Load()}
		if n.failing.Load() {
			list[i].FailedChecks, list[i].CheckError = n.check.failed, n.check.err
		}
		if n.check.waiting {
			list[i].NextCheck = n.check.due
		}
	}
	return list, nodes
}

// Available returns the addresses that are not ejected, in the order of Set.
func (g *Group) Available() []string {
	g.maintain(g.time.now())
	return addresses(g.current().available, func(*node) bool { return true })
}

// Ejected returns the ejected addresses, those that are due for a probe among them, by the time of ejection.
func (g *Group) Ejected() []string {
	g.maintain(g.time.now())
	return addresses(g.current().ejected, func(*node) bool { return true })
}

// HalfOpen returns the ejected addresses that are due for a probe: Start lets the next call to them pass.
func (g *Group) HalfOpen() []string {
	now := g.time.now()
	g.maintain(now)
	return addresses(g.current().ejected, func(n *node) bool { return n.breaker.Check(now) != circuitbreaker.Refuse })
}

func addresses(nodes []*node, wanted func(*node) bool) []string {
	list := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if wanted(n) {
			list = append(list, n.address)
		}
	}
	return list
}
