package token

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/stat"
)

// DefaultNamespace is the one meant by a blank name, except in the questions of Flow, Param and Acquire, where ""
// means any.
const DefaultNamespace = "default"

// A space is what the service knows of one namespace. It exists while it has rules, members or a config of its own.
type space struct {
	name      string
	limiter   *stat.Window // of requests; its word is written by every decision
	most      atomic.Int64 // requests per second; unlimited: not counted
	connected atomic.Int64

	own       *Config      // guarded by Service.mu, as all below; nil: the service's
	flows     []*flowRule  // in force
	params    []*paramRule // in force
	flowLoad  int64        // number of the load that brought them
	paramLoad int64
}

const unlimited = math.MaxInt64

// admit counts n requests against the namespace's limit, if there is room for all. The limit is Sentinel's: a sliding second of ten buckets.
func (sp *space) admit(now, n int64) bool {
	most := sp.most.Load()
	if most == unlimited {
		return true
	}
	_, ok := sp.limiter.Take(now, n, most)
	return ok
}

func (sp *space) limit(qps float64) {
	if math.IsInf(qps, 1) {
		sp.most.Store(unlimited)
		return
	}
	sp.most.Store(units(math.Floor(qps)))
}

// units converts a threshold to whole units, none below 0 or too large to count.
func units(f float64) int64 {
	if f >= float64(stat.MostUnits) {
		return stat.MostUnits
	}
	if f > 0 { // false for NaN, of no client times infinity
		return int64(f)
	}
	return 0
}

// namespace returns the effective name of a namespace.
func namespace(name string) string {
	if strings.TrimSpace(name) == "" {
		return DefaultNamespace
	}
	return name
}

// space returns the namespace's space, making it if there is none. The caller holds mu.
func (s *Service) space(ns string) *space {
	sp := s.spaces[ns]
	if sp == nil {
		sp = &space{name: ns, limiter: stat.NewWindow(int64(time.Second)/10, 10, s.Now())}
		sp.limit(s.config.MaxAllowedQPS)
		s.spaces[ns] = sp
	}
	return sp
}

// configOf returns the config in force for a space. The caller holds mu.
func (s *Service) configOf(sp *space) Config {
	if sp.own != nil {
		return *sp.own
	}
	return s.config
}

// drop forgets a space that nothing needs. The caller holds mu.
func (s *Service) drop(sp *space) {
	if len(sp.flows)+len(sp.params) == 0 && sp.own == nil && sp.connected.Load() == 0 {
		delete(s.spaces, sp.name)
	}
}

// Configure puts a config into force, at once, for all namespaces without one of their own. An invalid one is an
// error and changes nothing. Its interval and sample count are the window of rules that do not say, whose counts go
// on in the new one. With WithCompatible a change of the two gives all rules an empty window of that shape, whatever
// they say, until they are loaded with another window.
func (s *Service) Configure(c Config) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("token service: %w", err)
	}
	if s.none() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.config
	s.config = c
	for _, sp := range s.spaces {
		if sp.own == nil {
			s.reconfigure(sp, before)
		}
	}
	s.publish()
	return nil
}

// ConfigureNamespace gives a namespace a config of its own, nil none.
func (s *Service) ConfigureNamespace(ns string, c *Config) error {
	if c != nil {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("token service: namespace %q: %w", ns, err)
		}
	}
	if s.none() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.space(namespace(ns))
	before := s.configOf(sp)
	sp.own = nil
	if c != nil {
		own := *c
		sp.own = &own
	}
	s.reconfigure(sp, before)
	s.publish()
	s.drop(sp)
	return nil
}

// reconfigure applies the config in force to what the space has. The caller holds mu and publishes.
func (s *Service) reconfigure(sp *space, before Config) {
	c := s.configOf(sp)
	sp.limit(c.MaxAllowedQPS)
	var forced *shape
	if s.compatible && (before.IntervalMs != c.IntervalMs || before.SampleCount != c.SampleCount) {
		forced = &shape{int64(c.IntervalMs), int64(c.SampleCount)}
	}
	for i, f := range sp.flows {
		sp.flows[i] = s.newFlow(sp, f.rule, f, forced)
	}
	for i, p := range sp.params {
		sp.params[i] = s.newParam(sp, p.rule, p, forced)
	}
}

// Config returns the config in force for a namespace.
func (s *Service) Config(ns string) Config {
	if s.none() {
		return DefaultConfig()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sp := s.spaces[namespace(ns)]; sp != nil {
		return s.configOf(sp)
	}
	return s.config
}

// Remove forgets everything of a namespace but the members that are connected to it: rules, windows, counters, tokens
// and its config.
func (s *Service) Remove(ns string) {
	if s.none() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sp := s.spaces[namespace(ns)]
	if sp == nil {
		return
	}
	s.free(sp.flows, nil)
	sp.flows, sp.params, sp.own = nil, nil, nil
	sp.limit(s.config.MaxAllowedQPS)
	s.publish()
	s.drop(sp)
}

// Namespaces returns the names of the namespaces that have rules, members or a config of their own, in order.
func (s *Service) Namespaces() []string {
	if s.none() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, 0, len(s.spaces))
	for name := range s.spaces {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func clamp32(n int64) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }

func answer(status chain.TokenStatus) chain.TokenResult { return chain.TokenResult{Status: status} }
