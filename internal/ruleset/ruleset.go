// Package ruleset holds the rules of one kind: it validates, deduplicates and merges what several
// sources supply, keeps the controllers of rules that did not change, and publishes each new state
// as one immutable table.
package ruleset

import (
	"regexp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tidegate-go/tidegate/chain"
)

// Rule is what a kind's rule type offers to its set. Rules are values; Clone copies what they point to.
type Rule[R any] interface {
	Head() chain.Head
	Validate() error // a *chain.MemberError where one member is at fault
	Equal(R) bool    // same behaviour: everything but id, mode, enabled and remarks
	Clone() R
}

// Item is one element of a list to load: a rule, or the error that decoding it gave.
type Item[R any] struct {
	Rule     R
	Err      error
	Warnings []string
}

// Bound is a rule in force with the controller built from it. It is immutable.
type Bound[R, C any] struct {
	Rule       R
	Controller C // the same value for as long as equal rules stay loaded
	Source     string
	Index      int // position in the source's list
	Observed   bool
	pattern    *regexp.Regexp // nil: the rule names one resource
}

// Table is one immutable state of a set.
type Table[R, C any] struct {
	groups   map[groupKey][]*Bound[R, C]
	patterns []*Bound[R, C]
	all      []*Bound[R, C]
}

func newTable[R, C any](size int) *Table[R, C] {
	return &Table[R, C]{groups: make(map[groupKey][]*Bound[R, C], size)}
}

// For returns the rules in force for a resource: those naming it, then matching patterns, each in load order.
// Callers must not change the slice.
func (t *Table[R, C]) For(resource string) []*Bound[R, C] {
	found := t.Plain(resource)
	if len(t.patterns) == 0 {
		return found
	}
	return append(slices.Clip(found), t.Matching(resource)...)
}

// Applying returns the rules in force for a resource of that name, or, if shared, for one that stands for many names
// to which the same patterns apply.
func (t *Table[R, C]) Applying(name string, shared bool) []*Bound[R, C] {
	if shared {
		return t.Matching(name)
	}
	return t.For(name)
}

// Matching returns the rules whose pattern matches the resource, in load order.
func (t *Table[R, C]) Matching(resource string) (found []*Bound[R, C]) {
	for _, b := range t.patterns {
		if b.pattern.MatchString(resource) {
			found = append(found, b)
		}
	}
	return found
}

// Plain returns the rules that name the resource itself, not by a pattern.
func (t *Table[R, C]) Plain(resource string) []*Bound[R, C] {
	if len(t.groups) == 0 {
		return nil
	}
	return t.groups[groupKey{resource, false}]
}

// All returns every rule in force, sources in order of name, each in list order.
func (t *Table[R, C]) All() []*Bound[R, C] { return t.all }

// HasPatterns says whether any rule is a pattern.
func (t *Table[R, C]) HasPatterns() bool { return len(t.patterns) > 0 }

// Change says which resources a load touched.
type Change struct {
	Resources []string // names whose plain rules changed
	All       bool     // rules by pattern changed: any resource may be touched
}

// Options shape a set for its kind.
type Options[R any] struct {
	// FirstOnly keeps one rule per resource string; later ones are reported as duplicates.
	FirstOnly bool
	// Validate replaces the rule's own Validate, where users may add values to an enum.
	Validate func(rule R) error
	// Warn returns remarks on a valid rule.
	Warn func(rule R) []string
}

type list[R any] struct {
	items  []Item[R]
	report []chain.RuleReport // of the last merge, one per item
}

// Set is the rules of one kind. Readers take the table without a lock; writers are serialized.
type Set[R Rule[R], C any] struct {
	kind  chain.Kind
	build func(R) (C, error)
	opts  Options[R]
	state atomic.Pointer[tables[R, C]]

	mu        sync.Mutex          // held by loads
	off       bool                // the kind is switched off; guarded by mu
	sources   map[string]*list[R] // guarded by mu
	onChange  []func(Change)      // guarded by mu
	listeners map[int]func([]R)   // guarded by mu
	nextID    int                 // guarded by mu
	news      []*Table[R, C]      // that listeners were not told of yet; guarded by mu
	telling   bool                // somebody is telling them; guarded by mu
	after     []func()            // guarded by mu
}

// New makes an empty set. build makes the controller of a valid rule; a panic in it refuses the rule.
func New[R Rule[R], C any](kind chain.Kind, build func(R) (C, error), opts Options[R]) *Set[R, C] {
	s := &Set[R, C]{kind: kind, build: build, opts: opts, sources: map[string]*list[R]{}, listeners: map[int]func([]R){}}
	empty := newTable[R, C](0)
	s.state.Store(&tables[R, C]{empty, empty})
	return s
}

// Kind returns the set's kind.
func (s *Set[R, C]) Kind() chain.Kind { return s.kind }

// tables are what one load published.
type tables[R Rule[R], C any] struct {
	table *Table[R, C]
	known *Table[R, C] // as table, also while the kind is off
}

// Table returns the rules in force.
func (s *Set[R, C]) Table() *Table[R, C] { return s.state.Load().table }

// Known returns the rules that would be in force if the kind were switched on.
func (s *Set[R, C]) Known() *Table[R, C] { return s.state.Load().known }

// Tables returns both as of one moment: every rule in force is a known one.
func (s *Set[R, C]) Tables() (table, known *Table[R, C]) {
	t := s.state.Load()
	return t.table, t.known
}

// After registers a function that is called after each load, when no lock is held.
func (s *Set[R, C]) After(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = append(s.after, f)
}

// unlock ends a load and tells who wants to know. No lock is held meanwhile, so they may use the set.
func (s *Set[R, C]) unlock() {
	after := s.after
	s.mu.Unlock()
	for _, f := range after {
		f()
	}
	for {
		t, listeners := s.nextNews()
		if t == nil {
			return
		}
		for _, f := range listeners {
			tell(f, rulesOf(t))
		}
		s.told()
	}
}

// nextNews returns what to tell to whom; nil if there is nothing or somebody, perhaps a caller of this, is telling.
func (s *Set[R, C]) nextNews() (t *Table[R, C], listeners []func([]R)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.telling || len(s.news) == 0 {
		return nil, nil
	}
	s.telling = true
	t, s.news = s.news[0], s.news[1:]
	for id := range s.nextID {
		if f := s.listeners[id]; f != nil {
			listeners = append(listeners, f)
		}
	}
	return t, listeners
}

func (s *Set[R, C]) told() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.telling = false
}

// tell calls f; a panic ends there.
func tell[R any](f func([]R), rules []R) {
	defer func() { _ = recover() }()
	f(rules)
}

// OnChange registers a function that is called after each change of the table, within the load.
func (s *Set[R, C]) OnChange(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onChange = append(s.onChange, f)
}

// Subscribe calls f with a copy of the rules in force after every change, and returns a function that ends that.
// A nil f is never called.
func (s *Set[R, C]) Subscribe(f func([]R)) (cancel func()) {
	if f == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.nextID
	s.nextID++
	s.listeners[id] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, id)
	}
}

// SetOff switches the whole kind off or on. Off, no rule is in force; controllers keep their state.
func (s *Set[R, C]) SetOff(off bool) {
	s.mu.Lock()
	defer s.unlock()
	if s.off != off {
		s.off = off
		s.merge()
	}
}

// Off says whether the kind is switched off.
func (s *Set[R, C]) Off() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

// Status reports every rule of every source as of now.
func (s *Set[R, C]) Status() chain.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all chain.Report
	for _, name := range s.sourceNames() {
		all.Rules = append(all.Rules, s.sources[name].report...)
	}
	return all
}

// Rules returns a copy of the rules in force.
func (s *Set[R, C]) Rules() []R { return rulesOf(s.Table()) }

func rulesOf[R Rule[R], C any](t *Table[R, C]) []R {
	rules := make([]R, len(t.all))
	for i, b := range t.all {
		rules[i] = b.Rule.Clone()
	}
	return rules
}

func (s *Set[R, C]) reportOf(source string) chain.Report {
	if l := s.sources[source]; l != nil {
		return chain.Report{Rules: slices.Clone(l.report)}
	}
	return chain.Report{}
}

func (s *Set[R, C]) sourceNames() []string {
	names := make([]string, 0, len(s.sources))
	for name := range s.sources {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// merge builds and publishes the table of all sources. The caller holds mu.
func (s *Set[R, C]) merge() {
	next := newTable[R, C](len(s.Known().groups))
	for _, name := range s.sourceNames() {
		l := s.sources[name]
		l.report = make([]chain.RuleReport, len(l.items))
		for i := range l.items {
			l.report[i] = s.bind(next, name, i, &l.items[i])
		}
	}
	old := s.Table()
	published := next
	if s.off {
		published = newTable[R, C](0)
	}
	change, same := diff(old, published)
	s.state.Store(&tables[R, C]{published, next})
	if same {
		return
	}
	for _, f := range s.onChange {
		f(change)
	}
	s.news = append(s.news, published)
}
