package cluster

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
)

// embedded is an embedded token server with the rules that it decides; it outlives a change of the port. The host counts
// as one client of its own namespace.
type embedded struct {
	service *token.Service
	server  tokenServer
	engine  host
	own     string // the host's namespace
	cancel  []func()

	mu       sync.Mutex
	users    int             // roles that use it; guarded by mu
	settings Settings        // guarded by mu
	loaded   map[string]bool // namespaces with rules; guarded by mu
	problems []string        // with the rules; guarded by mu
}

// hostMember is the name under which the host counts as a client of its own namespace.
const hostMember = "embedded host"

func newEmbedded(engine host, namespace string, c *config) *embedded {
	service := token.New(append([]token.Option{token.WithLogger(c.logger)}, c.service...)...)
	e := &embedded{
		service: service, server: c.backend.server(service), engine: engine, own: namespace, users: 1, loaded: map[string]bool{},
	}
	service.Join(hostMember, e.own)
	e.cancel = []func(){
		engine.FlowRules().Subscribe(func([]flow.Rule) { e.reload() }),
		engine.ParamRules().Subscribe(func([]hotspot.Rule) { e.reload() }),
		engine.GatewayRules().Subscribe(func([]gateway.Rule) { e.reload() }),
	}
	return e
}

// use notes one role more.
func (e *embedded) use() *embedded {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.users++
	return e
}

// release notes one role less, which listened at the address, nil for nowhere. After the last one the server ends, when requests in
// flight are answered or the context ends.
func (e *embedded) release(ctx context.Context, addr net.Addr) error {
	e.mu.Lock()
	e.users--
	last := e.users == 0
	e.mu.Unlock()
	if !last && addr != nil {
		return e.server.StopListening(addr)
	}
	if !last {
		return nil
	}
	for _, cancel := range e.cancel {
		cancel()
	}
	err := e.server.Shutdown(ctx)
	e.service.Leave(hostMember)
	return err
}

// configure puts settings into force.
func (e *embedded) configure(s Settings) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settings = s
	e.load()
	flowConfig := token.DefaultConfig()
	if s.ServerFlow != nil {
		flowConfig = *s.ServerFlow
	}
	return e.service.Configure(flowConfig)
}

// reload follows a change of the engine's rules.
func (e *embedded) reload() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.load()
}

// load makes the service's rules what the settings and the engine say. The caller holds mu.
func (e *embedded) load() {
	wanted := e.wanted()
	for namespace := range e.loaded {
		if _, stays := wanted[namespace]; !stays {
			e.service.Remove(namespace)
			delete(e.loaded, namespace)
		}
	}
	e.problems = nil
	for namespace, rules := range wanted {
		e.loaded[namespace] = true
		e.note(namespace, e.service.LoadFlow(namespace, inCluster(rules.Flow)))
		e.note(namespace, e.service.LoadParam(namespace, inCluster(rules.Param)))
	}
	slices.Sort(e.problems)
}

// note keeps what there is to say of a namespace's rules. The caller holds mu.
func (e *embedded) note(namespace string, report chain.Report) {
	for _, rule := range report.Rules {
		remarks := rule.Warnings
		switch rule.Verdict {
		case chain.Refused, chain.Duplicate:
			remarks = append(slices.Clip(remarks), rule.Reason)
		case chain.Loaded, chain.Observed, chain.Disabled:
		}
		for _, remark := range remarks {
			e.problems = append(e.problems, fmt.Sprintf("namespace %s: %v: %s", namespace, rule, remark))
		}
	}
}

// wanted returns the rules by namespace: the host's own namespace always, the others as the namespace set allows.
// The caller holds mu.
func (e *embedded) wanted() map[string]Rules {
	s := e.settings
	all := map[string]Rules{}
	for namespace, rules := range s.ServerRules {
		if s.NamespaceSet == nil || namespace == defaultNamespace || slices.Contains(s.NamespaceSet, namespace) {
			all[namespace] = rules
		}
	}
	for _, namespace := range s.NamespaceSet {
		if _, given := all[namespace]; !given {
			all[namespace] = Rules{} // known, without rules
		}
	}
	if rules, given := s.ServerRules[e.own]; given {
		all[e.own] = rules
	} else {
		all[e.own] = e.hostRules()
	}
	return all
}

// hostRules returns the engine's own rules, those of the gateway kind in the terms of a token server.
func (e *embedded) hostRules() Rules {
	rules := Rules{Flow: e.engine.FlowRules().Rules(), Param: e.engine.ParamRules().Rules()}
	for _, rule := range e.engine.GatewayRules().Rules() {
		if r, ok := rule.FlowRule(); ok {
			rules.Flow = append(rules.Flow, r)
		}
		if r, ok := rule.ParamRule(); ok {
			rules.Param = append(rules.Param, r)
		}
	}
	return rules
}

// ruleProblems tells what there is to say of the rules.
func (e *embedded) ruleProblems() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.problems)
}
