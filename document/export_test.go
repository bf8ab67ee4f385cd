package document

import (
	"fmt"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/authority"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/circuitbreaker"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/internal/ruleset"
	"github.com/tidegate-go/tidegate/isolation"
	"github.com/tidegate-go/tidegate/system"
)

// Recorder is an engine without engine: it keeps what was done to it, and holds the rules of every kind.
type Recorder struct {
	Calls []string
	Flow  *ruleset.Set[flow.Rule, struct{}]
}

// SetEnabled records the call.
func (r *Recorder) SetEnabled(on bool) { r.note("enabled=%v", on) }

// SetObserve records the call.
func (r *Recorder) SetObserve(on bool) { r.note("observe=%v", on) }

// SetKindEnabled records the call.
func (r *Recorder) SetKindEnabled(kind chain.Kind, on bool) { r.note("%v=%v", kind, on) }

func (r *Recorder) note(format string, args ...any) {
	r.Calls = append(r.Calls, fmt.Sprintf(format, args...))
}

// Take returns the calls recorded since the last Take.
func (r *Recorder) Take() []string {
	calls := r.Calls
	r.Calls = nil
	return calls
}

type recordedSet[R ruleset.Rule[R]] struct {
	set *ruleset.Set[R, struct{}]
	to  *Recorder
}

func (s recordedSet[R]) LoadFrom(source string, items []tidegate.Item[R]) chain.Report {
	if len(items) > 0 || len(s.set.Rules()) > 0 {
		s.to.note("load %v %d", s.set.Kind(), len(items))
	}
	return s.set.LoadItems(source, items)
}

func recorded[R ruleset.Rule[R]](r *Recorder, kind chain.Kind) recordedSet[R] {
	build := func(R) (struct{}, error) { return struct{}{}, nil }
	return recordedSet[R]{ruleset.New(kind, build, ruleset.Options[R]{FirstOnly: kind == chain.KindAuthority}), r}
}

// NewRecorder returns an empty recorder and a function that makes loaders for it.
func NewRecorder() (*Recorder, func(source string, opts ...Option) *Loader) {
	r := &Recorder{}
	flows := recorded[flow.Rule](r, chain.KindFlow)
	r.Flow = flows.set
	t := target{
		switches: r, flow: flows,
		api:       recorded[gateway.API](r, chain.KindAPI),
		gateway:   recorded[gateway.Rule](r, chain.KindGateway),
		param:     recorded[hotspot.Rule](r, chain.KindParam),
		isolation: recorded[isolation.Rule](r, chain.KindIsolation),
		degrade:   recorded[circuitbreaker.Rule](r, chain.KindDegrade),
		authority: recorded[authority.Rule](r, chain.KindAuthority),
		system:    recorded[system.Rule](r, chain.KindSystem),
	}
	return r, func(source string, opts ...Option) *Loader { return newLoader(t, source, opts...) }
}
