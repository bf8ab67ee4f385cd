package gateway

import (
	"strings"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// Groups holds the API definitions of an engine and finds the groups that a path belongs to.
type Groups struct {
	set *ruleset.Set[API, *pathMatcher]
}

// NewGroups makes a set without definitions.
func NewGroups() *Groups {
	build := func(a API) (*pathMatcher, error) { return newPathMatcher(a.Predicates) }
	return &Groups{set: ruleset.New(chain.KindAPI, build, ruleset.Options[API]{FirstOnly: true, Warn: API.Warnings})}
}

// Set returns the definitions.
func (g *Groups) Set() *ruleset.Set[API, *pathMatcher] { return g.set }

// Of returns the names of the groups that the path belongs to, in the order of their definitions.
func (g *Groups) Of(path string) []string {
	var names []string
	for _, b := range g.set.Table().All() {
		if b.Controller.matches(path) {
			names = append(names, b.Rule.Name)
		}
	}
	return names
}

// pathMatcher matches paths by any of several patterns.
type pathMatcher struct{ any []func(path string) bool }

func newPathMatcher(predicates []Predicate) (*pathMatcher, error) {
	m := &pathMatcher{}
	for _, p := range predicates {
		if strings.TrimSpace(p.Pattern) == "" {
			continue
		}
		match, err := matchPath(p)
		if err != nil {
			return nil, err
		}
		m.any = append(m.any, match)
	}
	return m, nil
}

func matchPath(p Predicate) (func(path string) bool, error) {
	switch p.MatchStrategy {
	case Regex:
		pattern, err := ruleset.CompilePattern(p.Pattern)
		if err != nil {
			return nil, err
		}
		return pattern.MatchString, nil
	case Prefix:
		if strings.ContainsAny(p.Pattern, "*?") {
			return func(path string) bool { return MatchAnt(p.Pattern, path) }, nil
		}
		return func(path string) bool { return strings.HasPrefix(path, p.Pattern) }, nil
	case Exact, Contains:
	}
	return func(path string) bool { return path == p.Pattern }, nil
}

func (m *pathMatcher) matches(path string) bool {
	for _, match := range m.any {
		if match(path) {
			return true
		}
	}
	return false
}

// MatchAnt says whether the path matches an Ant-style pattern: ? stands for one character of a segment, * for any
// number of them, ** for any number of whole segments. Pattern and path must both begin with a slash, or neither.
func MatchAnt(pattern, path string) bool {
	if strings.HasPrefix(pattern, "/") != strings.HasPrefix(path, "/") {
		return false
	}
	return matchSegments(segments(pattern), segments(path))
}

func segments(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func matchSegments(pattern, path []string) bool {
	return matchRun(pattern, path, func(p string) bool { return p == "**" }, func(p, s string) bool {
		return matchSegment([]rune(p), []rune(s))
	})
}

// matchSegment matches one segment against a pattern with ? and *.
func matchSegment(pattern, text []rune) bool {
	return matchRun(pattern, text, func(p rune) bool { return p == '*' }, func(p, s rune) bool { return p == '?' || p == s })
}

// matchRun matches element by element, an element that is a star standing for any number of them. On a mismatch it goes
// back to the last star and lets it stand for one more, so its time is at most the product of the lengths.
func matchRun[E any](pattern, text []E, isStar func(E) bool, same func(pattern, text E) bool) bool {
	p, s := 0, 0
	star, mark := -1, 0
	for s < len(text) {
		switch {
		case p < len(pattern) && isStar(pattern[p]):
			star, mark = p, s
			p++
		case p < len(pattern) && same(pattern[p], text[s]):
			p++
			s++
		case star >= 0:
			mark++
			p, s = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && isStar(pattern[p]) {
		p++
	}
	return p == len(pattern)
}
