package ruleset

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/chain"
)

// bind adds one item to the table being built and reports on it. The caller holds mu.
func (s *Set[R, C]) bind(next *Table[R, C], source string, index int, item *Item[R]) chain.RuleReport {
	head := item.Rule.Head()
	report := chain.RuleReport{Kind: s.kind, Source: source, Index: index, Resource: head.Resource, Warnings: item.Warnings}
	pattern, err := s.compile(item)
	if err != nil {
		return refused(report, err)
	}
	if s.opts.Warn != nil {
		report.Warnings = append(slices.Clip(report.Warnings), s.opts.Warn(item.Rule)...)
	}
	if head.Disabled || head.Mode == chain.ModeOff {
		report.Verdict = chain.Disabled
		return report
	}
	key := groupKey{head.Resource, head.Regex}
	for _, earlier := range next.groups[key] {
		if s.opts.FirstOnly || earlier.Rule.Equal(item.Rule) {
			report.Verdict = chain.Duplicate
			report.Reason = fmt.Sprintf("rule %d%s comes first", earlier.Index, from(earlier.Source, source))
			return report
		}
	}
	b, err := s.reuse(key, &Bound[R, C]{
		Rule: item.Rule, Source: source, Index: index, Observed: head.Mode == chain.ModeObserve, pattern: pattern,
	})
	if err != nil {
		return refused(report, err)
	}
	next.add(key, b)
	switch {
	case s.off:
		report.Verdict = chain.Disabled
		report.Reason = "rules of this kind are switched off"
	case b.Observed:
		report.Verdict = chain.Observed
	}
	return report
}

func from(source, own string) string {
	if source == own {
		return ""
	}
	return fmt.Sprintf(" of source %q", source)
}

// compile validates the rule and compiles its pattern.
func (s *Set[R, C]) compile(item *Item[R]) (*regexp.Regexp, error) {
	if item.Err != nil {
		return nil, item.Err
	}
	validate := R.Validate
	if s.opts.Validate != nil {
		validate = s.opts.Validate
	}
	if err := validate(item.Rule); err != nil {
		return nil, err
	}
	head := item.Rule.Head()
	if !head.Regex {
		return nil, nil
	}
	pattern, err := CompilePattern(head.Resource)
	if err != nil {
		return nil, chain.Refuse("resource", "not a regular expression: %v", err)
	}
	return pattern, nil
}

// CompilePattern compiles a resource pattern, which must match a whole name.
func CompilePattern(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil { // so that the message shows the text as written
		return nil, err
	}
	if whole, err := regexp.Compile(`^(?:` + text + `)$`); err == nil {
		return whole, nil
	}
	return regexp.Compile(`^(?:` + text + `\E)$`) // the text ends within \Q
}

// CheckHead validates what all kinds share: a resource that is not blank and, for a pattern, compiles.
func CheckHead(h chain.Head) error {
	if strings.TrimSpace(h.Resource) == "" {
		return chain.Refuse("resource", "must not be blank")
	}
	if h.Regex {
		if _, err := CompilePattern(h.Resource); err != nil {
			return chain.Refuse("resource", "not a regular expression: %v", err)
		}
	}
	if h.Mode > chain.ModeOff {
		return chain.Refuse("mode", "%v is not one of enforce, observe, off", h.Mode)
	}
	return nil
}

// reuse returns the bound rule of the last merge where nothing changed, else the new one, with the same controller
// where an equal rule was loaded. The caller holds mu.
func (s *Set[R, C]) reuse(key groupKey, b *Bound[R, C]) (*Bound[R, C], error) {
	for _, old := range s.Known().groups[key] {
		if !old.Rule.Equal(b.Rule) {
			continue
		}
		if old.Source == b.Source && old.Index == b.Index && reflect.DeepEqual(old.Rule, b.Rule) {
			return old, nil
		}
		b.Controller = old.Controller
		return b, nil
	}
	controller, err := s.safeBuild(b.Rule)
	if err != nil {
		return nil, err
	}
	b.Controller = controller
	return b, nil
}

// safeBuild builds a controller and turns a panic, as of a user's factory, into a refusal of that rule.
func (s *Set[R, C]) safeBuild(rule R) (c C, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("building the rule's controller panicked: %v", p)
		}
	}()
	return s.build(rule)
}

func refused(r chain.RuleReport, err error) chain.RuleReport {
	r.Verdict = chain.Refused
	if member, ok := errors.AsType[*chain.MemberError](err); ok {
		r.Member, r.Reason = member.Member, member.Reason
	} else {
		r.Reason = err.Error()
	}
	return r
}

// groupKey is what rules must share to be compared: the resource text, read as a name or a pattern.
type groupKey struct {
	resource string
	regex    bool
}

func (t *Table[R, C]) add(key groupKey, b *Bound[R, C]) {
	t.groups[key] = append(t.groups[key], b)
	t.all = append(t.all, b)
	if key.regex {
		t.patterns = append(t.patterns, b)
	}
}

// diff says what differs between two tables.
func diff[R, C any](old, next *Table[R, C]) (change Change, same bool) {
	for key, group := range next.groups {
		if !sameBounds(old.groups[key], group) {
			change.touch(key)
		}
	}
	for key := range old.groups {
		if _, still := next.groups[key]; !still {
			change.touch(key)
		}
	}
	return change, !change.All && len(change.Resources) == 0
}

func (c *Change) touch(key groupKey) {
	if key.regex {
		c.All = true
	} else {
		c.Resources = append(c.Resources, key.resource)
	}
}

func sameBounds[R, C any](a, b []*Bound[R, C]) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].same(b[i]) {
			return false
		}
	}
	return true
}

// same says whether both are the same rule with the same controller, wherever in the lists of its sources it stands.
func (b *Bound[R, C]) same(o *Bound[R, C]) bool {
	return b == o || b.Observed == o.Observed && any(b.Controller) == any(o.Controller) && reflect.DeepEqual(b.Rule, o.Rule)
}
