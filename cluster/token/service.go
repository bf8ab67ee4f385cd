package token

import (
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// A Service holds the rules of the namespaces and decides requests. It is safe for concurrent use. A nil service and
// the zero value answer TokenFail and do nothing else; use New for any other.
//
// A decision loads one pointer to an immutable table of the rules, so loading rules never makes it wait. What it
// writes is its namespace's request limit and the rule's window, one word each; a refusal writes a counter more.
// These words bound what many cores can do: the first goes round all cores that ask within one namespace, the
// second round those that ask for one rule. Everything else a decision touches is only read, and kept off the
// lines that are written. Namespaces without a limit of requests (infinite) spare the first.
type Service struct {
	clock      func() int64
	compatible bool
	occupy     int64 // ns
	maxValues  int64 // 0: by the window
	maxTokens  int64
	logger     *slog.Logger

	table  atomic.Pointer[table]
	tokens *tokens
	_      [64]byte
	odd    oddities

	mu      sync.Mutex
	config  Config             // guarded by mu
	spaces  map[string]*space  // guarded by mu
	members map[string]*member // guarded by mu
	loads   int64              // guarded by mu

	// handOver is what a load leaves for the moment before its table is published: windows that take over from others,
	// which from then on refuse everybody. Guarded by mu.
	handOver []func(now int64)
}

// oddities counts requests that no rule decided.
type oddities struct {
	bad, noRule, conflicts atomic.Uint64
}

// New makes a service without rules.
func New(opts ...Option) *Service {
	s := &Service{
		clock: realClock(), occupy: int64(500 * time.Millisecond), maxTokens: 1_000_000,
		logger: slog.New(slog.DiscardHandler), config: DefaultConfig(),
		spaces: map[string]*space{}, members: map[string]*member{},
	}
	for _, opt := range opts {
		if opt != nil {
			opt(s)
		}
	}
	s.tokens = newTokens(s.maxTokens)
	s.table.Store(&table{})
	return s
}

// realClock returns a clock of the wall time now that goes on with the monotonic clock.
func realClock() func() int64 {
	start := time.Now()
	wall := start.UnixNano()
	return func() int64 { return wall + int64(time.Since(start)) }
}

// none says whether the service is nil or was not made by New.
func (s *Service) none() bool { return s == nil || s.clock == nil }

// Now reads the service's clock: nanoseconds since the epoch.
func (s *Service) Now() int64 {
	if s.none() {
		return time.Now().UnixNano()
	}
	return max(0, s.clock())
}

// Compatible says whether the service was made with WithCompatible.
func (s *Service) Compatible() bool { return s != nil && s.compatible }

// Flow decides a request for n units of a flow rule at time now. ns is the namespace of who asks, "" for any: its rule
// of that id is meant, or the rule of that id if no other namespace has one. Where several other ones have one the
// answer is TokenNoRule, and the conflict is counted. With WithCompatible ns has no effect: the rule loaded last counts.
//
// The answer to a rule that limits concurrency (grade 0) is TokenFail, so that the client limits by itself: ask Acquire.
// With WithCompatible such a rule is decided like any other. Wait is rounded up to whole milliseconds.
func (s *Service) Flow(now int64, ns string, id int64, n int32, prioritized bool) chain.TokenResult {
	if s.none() {
		return chain.TokenResult{Status: chain.TokenFail}
	}
	if id <= 0 || n <= 0 {
		s.odd.bad.Add(1)
		return chain.TokenResult{Status: chain.TokenBadRequest}
	}
	now = max(0, now)
	f, conflict := s.table.Load().flows.find(ns, id)
	if f == nil {
		return s.unknown(conflict)
	}
	if !f.space.admit(now, 1) {
		f.cold.Load().limited.Add(1)
		return chain.TokenResult{Status: chain.TokenTooManyRequest}
	}
	return s.decide(f, now, ns, id, n, prioritized)
}

// decide decides an admitted request by the rule, or the one that takes over from it.
func (s *Service) decide(f *hotFlow, now int64, ns string, id int64, n int32, prioritized bool) chain.TokenResult {
	for {
		if r, ok := f.decide(s, now, int64(n), prioritized); ok {
			return r
		}
		runtime.Gosched() // a load is giving the rule another window, and about to publish it
		var conflict bool
		if f, conflict = s.table.Load().flows.find(ns, id); f == nil {
			return s.unknown(conflict)
		}
	}
}

// Param decides a request for n units of each of the values under a parameter rule at time now: for all of them or for
// none. A value that is there twice is charged twice. ns is as for Flow. Values are compared by
// the type they were sent with and by value, as in Java: an int 8 is another value than a long 8.
func (s *Service) Param(now int64, ns string, id int64, n int32, values []wire.Value) chain.TokenResult {
	if s.none() {
		return chain.TokenResult{Status: chain.TokenFail}
	}
	if id <= 0 || n <= 0 || len(values) == 0 {
		s.odd.bad.Add(1)
		return chain.TokenResult{Status: chain.TokenBadRequest}
	}
	now = max(0, now)
	found, conflict := s.table.Load().params.find(ns, id)
	if found == nil {
		return s.unknown(conflict)
	}
	if !found.space.admit(now, 1) {
		found.limited.Add(1)
		return chain.TokenResult{Status: chain.TokenTooManyRequest}
	}
	for {
		if r, ok := found.decide(now, int64(n), values); ok {
			return r
		}
		runtime.Gosched()
		if found, conflict = s.table.Load().params.find(ns, id); found == nil {
			return s.unknown(conflict)
		}
	}
}

func (s *Service) unknown(conflict bool) chain.TokenResult {
	if conflict {
		s.odd.conflicts.Add(1)
	}
	s.odd.noRule.Add(1)
	return chain.TokenResult{Status: chain.TokenNoRule}
}
