package flow

import (
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/stat"
)

// scope is whose calls a rule counts for one call: a resource over all contexts, or one node.
type scope struct {
	resource *stat.Resource
	node     *stat.Node
	related  bool // another resource: read, never reserved
}

func (s scope) none() bool { return s.resource == nil && s.node == nil }

func (s scope) exact() *stat.Exact {
	if s.node != nil {
		return s.node.Exact()
	}
	return s.resource.Exact()
}

func (s scope) window(now int64) *stat.Window {
	if s.node != nil {
		return s.node.Window(now)
	}
	return s.resource.Window(now)
}

func (s scope) active() int64 {
	if s.node != nil {
		return s.node.Active()
	}
	return s.resource.Active()
}

// previous returns the passes of the last whole second.
func (s scope) previous(now int64) int64 {
	if s.node != nil {
		return s.node.Previous(now)
	}
	return s.resource.Previous(now)
}

// scope selects whose calls the rule counts for the call. The table of choices is Sentinel's.
func (k *check) scope(c *chain.Context) scope {
	switch k.app {
	case "default":
		if k.rule.Strategy == StrategyDirect {
			return scope{resource: c.Resource}
		}
	case "other":
		if c.Origin == "" || k.peers.named(c.Origin) {
			return scope{}
		}
		if k.rule.Strategy == StrategyDirect {
			return scope{node: c.OriginNode}
		}
	default:
		if k.app != c.Origin {
			return scope{}
		}
		if k.rule.Strategy == StrategyDirect {
			return scope{node: c.OriginNode}
		}
	}
	if k.rule.Strategy == StrategyRelate {
		return scope{resource: k.slot.related(k.rule.RefResource), related: true}
	}
	if k.rule.RefResource == c.Entrance {
		return scope{node: &c.Node.Node}
	}
	return scope{}
}
