package ruleset

import (
	"slices"

	"github.com/tidegate-go/tidegate/chain"
)

// Load replaces the rules that the source supplied before. An empty list removes them; one in which every rule is
// refused changes nothing.
func (s *Set[R, C]) Load(source string, rules []R) chain.Report {
	items := make([]Item[R], len(rules))
	for i, r := range rules {
		items[i].Rule = r
	}
	return s.LoadItems(source, items)
}

// LoadItems is Load for a list that was decoded element by element.
func (s *Set[R, C]) LoadItems(source string, items []Item[R]) chain.Report {
	s.mu.Lock()
	defer s.unlock()
	own := make([]Item[R], len(items))
	for i, item := range items {
		own[i] = item
		if item.Err == nil {
			own[i].Rule = item.Rule.Clone()
		}
	}
	if report, none := s.noneValid(source, own); none && s.sources[source] != nil {
		return report
	}
	if len(own) == 0 {
		delete(s.sources, source)
	} else {
		s.sources[source] = &list[R]{items: own}
	}
	s.merge()
	return s.reportOf(source)
}

// noneValid reports on a list that is not empty and holds no valid rule. Such a list is a mistake as a whole, so what
// the source supplied before stays. The caller holds mu.
func (s *Set[R, C]) noneValid(source string, items []Item[R]) (report chain.Report, none bool) {
	for i := range items {
		_, err := s.compile(&items[i])
		if err == nil {
			return chain.Report{}, false
		}
		report.Rules = append(report.Rules, refused(chain.RuleReport{
			Kind: s.kind, Source: source, Index: i, Resource: items[i].Rule.Head().Resource, Warnings: items[i].Warnings,
		}, err))
	}
	return report, len(items) > 0
}

// LoadResource replaces the rules of one resource: those of every source go, the given ones join
// the source "" (code). Sources that load again bring theirs back. The report counts from the given list's start.
func (s *Set[R, C]) LoadResource(resource string, rules []R) chain.Report {
	s.mu.Lock()
	defer s.unlock()
	s.forget(resource)
	code := s.sources[""]
	if code == nil {
		code = &list[R]{}
	}
	kept := len(code.items)
	report := chain.Report{Rules: make([]chain.RuleReport, len(rules))}
	var places []int // in the report, of the rules that join
	for i, r := range rules {
		if got := r.Head().Resource; got != resource {
			err := chain.Refuse("resource", "%q is not the resource %q that is being loaded", got, resource)
			report.Rules[i] = refused(chain.RuleReport{Kind: s.kind, Index: i, Resource: got}, err)
			continue
		}
		places = append(places, i)
		code.items = append(code.items, Item[R]{Rule: r.Clone()})
	}
	if len(code.items) > 0 {
		s.sources[""] = code
	}
	s.merge()
	for i, place := range places {
		report.Rules[place] = code.report[kept+i]
		report.Rules[place].Index = place
	}
	return report
}

// forget removes the rules of a resource from every source. The caller holds mu.
func (s *Set[R, C]) forget(resource string) {
	for name, l := range s.sources {
		l.items = slices.DeleteFunc(l.items, func(i Item[R]) bool { return i.Err == nil && i.Rule.Head().Resource == resource })
		if len(l.items) == 0 {
			delete(s.sources, name)
		}
	}
}
