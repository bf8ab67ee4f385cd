package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/rulejson"
)

// host is what a Member needs of an engine.
type host interface {
	AppName() string
	SetTokenService(s chain.TokenService)
	FlowRules() *tidegate.RuleSet[flow.Rule]
	ParamRules() *tidegate.RuleSet[hotspot.Rule]
	GatewayRules() *tidegate.RuleSet[gateway.Rule]
}

// Member is an engine's place in a cluster. It starts without a role; settings give it one. It alone says which token service
// the engine's rules in cluster mode ask, from the first role on. All methods return at once but Close, and are safe for concurrent
// use. One that New did not make has no role and takes no settings.
type Member struct {
	engine host
	config config

	wake   chan struct{} // the settings have changed; holds one
	cancel context.CancelFunc
	ended  chan struct{}

	mu       sync.Mutex
	closed   bool           // guarded by mu
	settings Settings       // guarded by mu
	defaults Settings       // guarded by mu
	document DocumentStatus // guarded by mu
	state    state          // guarded by mu

	// The loop's own.
	current, next *running
	connected     int       // the last connected count that a role knew
	lastStart     time.Time // of a role
	retry         retry
	retired       sync.WaitGroup
}

// running is a role that was started, and what it was started for.
type running struct {
	spec
	role
}

// New makes a member for the engine, nil meaning the default engine; the engine's application name is the member's
// namespace unless WithNamespace gives another. It has one goroutine; Close ends it and every role.
func New(e *tidegate.Engine, opts ...Option) *Member {
	if e == nil {
		e = tidegate.Default()
	}
	return newMember(e, opts)
}

func newMember(engine host, opts []Option) *Member {
	ctx, cancel := context.WithCancel(context.Background())
	m := &Member{
		engine: engine, config: newConfig(opts), cancel: cancel,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	m.state = state{wanted: spec{mode: ModeNone}, phaseSince: m.config.now()}
	go m.run(ctx)
	return m
}

func (m *Member) made() bool { return m != nil && m.engine != nil }

// Close leaves the cluster and ends everything. Requests in flight, also those of other clients to an embedded server, get up to a
// second to be answered. The engine's rules in cluster mode follow their fallback from then on. It may be called again.
func (m *Member) Close() error {
	if !m.made() {
		return nil
	}
	m.mu.Lock()
	m.closed, m.settings, m.defaults = true, Settings{}, Settings{}
	m.mu.Unlock()
	m.cancel()
	<-m.ended
	return nil
}

// Identity returns the name by which cluster maps know this machine.
func (m *Member) Identity() string {
	if !m.made() {
		return ""
	}
	return m.config.identity
}

// Apply puts settings in place of those before. It does not wait for a role to change: [Member.Status] tells how that goes.
// Of what is wrong with them, which the error joins, the last good parts stay.
func (m *Member) Apply(s Settings) error {
	checked, err := s.clone().checked()
	return errors.Join(err, m.put(nil, func(before Settings) Settings { return checked.after(before, m.config.identity) }))
}

// ApplyDocument is Apply for the document member "cluster". The warnings are about what is legal but probably not
// meant, such as a machine in two groups.
func (m *Member) ApplyDocument(member json.RawMessage) (warnings []string, err error) {
	s, warnings, err := ParseSettings(member)
	if s.broken == nil {
		return nil, err // not JSON, or no object: nothing is said
	}
	return warnings, errors.Join(err, m.put(warnings, func(before Settings) Settings { return s.after(before, m.config.identity) }))
}

// SetMode asks for a role by hand, in place of the map or mode of the settings; assignment and port stay those in
// force. The next settings that speak of the role take it back.
func (m *Member) SetMode(mode Mode) error {
	if err := rulejson.CheckEnum("mode", mode, ModeNone, ModeClient, ModeServer); err != nil {
		return err
	}
	return m.change(func(before Settings) Settings {
		before = before.settled(m.config.identity)
		before.Map, before.Mode = nil, &mode
		return before
	})
}

// SetAssign says by hand which token server to ask, in place of the map or assignment of the settings; the role stays. The
// next settings that speak of it take it back.
func (m *Member) SetAssign(a Assign) error {
	if err := a.Validate(); err != nil {
		return err
	}
	return m.change(func(before Settings) Settings {
		if before.Map != nil {
			mode := PlaceOf(before.Map, m.config.identity).Mode
			before = before.settled(m.config.identity)
			before.Map, before.Mode = nil, &mode
		}
		before.Assign = &a
		return before
	})
}

// SetDefaults gives the settings that hold for each part of which nothing else speaks, neither a document nor somebody by hand:
// what a machine's own configuration says. The role is one part, whether a map or a mode gives it. Wrong settings are
// refused as a whole.
func (m *Member) SetDefaults(s Settings) error {
	checked, err := s.clone().checked()
	if err != nil {
		return err
	}
	checked.broken = nil
	return m.change(func(before Settings) Settings {
		m.defaults = checked
		return before
	})
}

// put applies a change of the settings that a document asked for.
func (m *Member) put(warnings []string, change func(before Settings) Settings) error {
	return m.change(func(before Settings) Settings {
		m.document = DocumentStatus{Present: true, LastApplied: m.config.now(), Warnings: slices.Clone(warnings)}
		return change(before)
	})
}

// change applies a change of the settings, which is made under mu.
func (m *Member) change(change func(before Settings) Settings) error {
	if !m.made() {
		return errors.New("this cluster.Member has no engine; make one with New")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errors.New("the cluster member is closed")
	}
	m.settings = change(m.settings)
	m.poke()
	return nil
}

// DocumentLost says that the document with the settings, or the member "cluster" in it, is not there any more. Nothing changes but what
// Status tells of it: to leave a cluster takes an empty map or mode -1.
func (m *Member) DocumentLost() {
	if !m.made() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.document.Present {
		m.document.Present, m.document.LostSince = false, m.config.now()
	}
}

// poke makes the loop look at the settings.
func (m *Member) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// wish returns what the settings demand.
func (m *Member) wish() wish {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.demanded()
}

// demanded returns what the settings and their defaults demand. The caller holds mu.
func (m *Member) demanded() wish { return m.settings.or(m.defaults).wish(&m.config) }

// namespace returns the member's namespace.
func (m *Member) namespace() string {
	if m.config.namespace != "" {
		return m.config.namespace
	}
	return m.engine.AppName()
}

// wish returns what the settings demand of this machine.
func (s Settings) wish(c *config) wish {
	w := wish{settings: s, idle: s.transport().idle()}
	place := Place{Mode: ModeNone}
	switch {
	case s.Map != nil:
		place = PlaceOf(s.Map, c.identity)
	case s.Mode != nil:
		place.Mode = *s.Mode
	}
	switch w.mode = place.Mode; w.mode {
	case ModeClient:
		w.timeout = ClientConfig{DefaultRequestTimeout}.timeout()
		if s.ClientConfig != nil {
			w.timeout = s.ClientConfig.timeout()
		}
		if place.Group != nil {
			w.assign = place.Group.Addr()
		} else if s.Assign != nil {
			w.assign = s.Assign.Addr()
		}
	case ModeServer:
		port := s.transport().port()
		if place.Group != nil {
			port = place.Group.Port
		}
		w.listen = address(c.listenHost(), port)
	case ModeNone:
	}
	return w
}
