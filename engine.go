package tidegate

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/nametable"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/stat"
	"github.com/tidegate-go/tidegate/system"
)

// Engine decides about guarded calls and counts them. Make it with New; two engines share nothing. All methods
// are safe for concurrent use. An engine that New did not make, nil too, lets every call pass,
// counts nothing and refuses rules.
type Engine struct {
	// What every call reads comes first, in two cache lines that nothing writes while calls run.

	enabled   atomic.Bool
	observe   atomic.Bool
	borrowing atomic.Bool              // a prioritized call has ever been admitted into a bucket to come
	flooded   atomic.Pointer[resource] // one whose latest call was refused, of many the first; nil: none
	clock     clock
	machine   *systemClock // the clock, nil if one is injected: hot paths read it without a call through an interface
	records   sync.Pool
	inbound   *stat.Node
	resources *nametable.Table[*resource]
	overflow  *nametable.Table[*resource] // stand for names beyond the cap
	general   atomic.Pointer[resource]    // of overflow, the one for names that no pattern matches; nil: not looked for yet

	config config
	log    *limitedLog

	scope   *stat.Scope
	occupy  atomic.Int64 // occupy timeout, ns
	tree    *stat.Tree
	stripes atomic.Uint32

	authority *authority.Slot
	system    *system.Slot
	gateway   *gateway.Slot
	groups    *gateway.Groups
	param     *hotspot.Slot
	flow      *flow.Slot
	isolation *isolation.Slot
	breakers  *circuitbreaker.Slot
	kinds     []kind
	tokens    chain.Tokens

	sampler   sampler
	observers observers
	counters  counters
	noting    sync.Mutex   // held to change naming and patterned
	naming    atomic.Bool  // there are rules, in force or switched off
	patterned atomic.Bool  // a rule in force is a pattern
	crowded   atomic.Bool  // an origin was refused a node of its own since the last maintenance
	pressed   atomic.Bool  // a name was refused a resource of its own since room was last made
	grown     atomic.Int64 // resources made since then
	roomAt    atomic.Int64 // when room was last made for new names, ns on the clock

	closing sync.Once
	stop    context.CancelFunc
	stopped chan struct{}
}

// New makes an engine with one goroutine, for housekeeping, and one more while a rule compares the machine's load,
// CPU usage or memory; Close ends them. It returns an error that names the
// option at fault.
func New(options ...Option) (*Engine, error) {
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	e := &Engine{config: c, log: &limitedLog{to: c.logger}}
	if c.clock != nil {
		e.clock = &steadyClock{source: c.clock}
	} else {
		e.machine = newSystemClock()
		e.clock = e.machine
	}
	e.enabled.Store(true)
	e.scope = stat.NewScope(c.shape, int64(c.maxRT))
	e.occupy.Store(int64(c.occupyTimeout))
	e.tree = stat.NewTree(e.scope, c.maxContexts)
	e.inbound = stat.NewNode(e.scope)
	e.resources = nametable.New[*resource]()
	e.overflow = nametable.New[*resource]()
	e.records.New = e.newRecord
	e.sampler.read = c.readings
	e.makeTokens()
	e.makeKinds()
	e.tree.Named = e.flow.NamesEntrance
	e.startHousekeeping()
	e.runInits()
	return e, nil
}

// Close ends the engine's goroutines. Calls in flight exit normally; the engine goes on deciding.
// It returns nil; further calls do nothing.
func (e *Engine) Close() error {
	if !e.made() {
		return nil
	}
	e.closing.Do(func() {
		e.stop()
		<-e.stopped
		e.sampler.close()
	})
	return nil
}

// Now returns the engine's time, which never decreases.
func (e *Engine) Now() time.Time {
	if !e.made() {
		return time.Now()
	}
	return time.Unix(0, e.clock.now())
}

// AppName returns the name of the application that the engine guards.
func (e *Engine) AppName() string {
	if !e.made() {
		return ""
	}
	return e.config.appName
}

// Instance returns the identity of this instance of the application.
func (e *Engine) Instance() string {
	if !e.made() {
		return ""
	}
	return e.config.instance
}

// Logger returns the engine's logger, never nil.
func (e *Engine) Logger() *slog.Logger {
	if !e.made() {
		return slog.New(slog.DiscardHandler)
	}
	return e.config.logger
}

// SetEnabled switches all protection on or off. Off, calls pass unchecked and uncounted; calls that entered
// before exit normally, and rules stay loaded.
func (e *Engine) SetEnabled(on bool) {
	if e.made() {
		e.enabled.Store(on)
	}
}

// Enabled says whether protection is on; it is after New.
func (e *Engine) Enabled() bool { return e != nil && e.enabled.Load() }

// SetObserve makes every rule count what it would refuse and refuse nothing, or ends that.
func (e *Engine) SetObserve(on bool) {
	if e.made() && e.observe.Swap(on) != on {
		e.compileAll()
	}
}

// Observe says whether every rule only observes.
func (e *Engine) Observe() bool { return e.made() && e.observe.Load() }

// made says whether New made the engine: methods of others do nothing.
func (e *Engine) made() bool { return e != nil && e.resources != nil }

// kind is one kind of rules as the engine sees it.
type kind struct {
	kind     chain.Kind
	order    int
	checks   func(*stat.Resource) []chain.Bound
	setOff   func(bool)
	off      func() bool
	any      func() bool                  // whether there are rules, in force or switched off
	patterns func() bool                  // whether a rule in force is a pattern
	plain    func(resource string) bool   // whether a rule names the resource
	match    func(resource string) string // the patterns that match it, "" if none
}
