package ruleset_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/internal/ruleset"
)

// rule is a kind of rule for tests: behaviour is Count, everything but Note is compared.
type rule struct {
	Name     string
	Regex    bool
	Disabled bool
	Mode     chain.Mode
	Count    int
	Note     []string
}

func (r rule) Head() chain.Head {
	return chain.Head{Resource: r.Name, Regex: r.Regex, Disabled: r.Disabled, Mode: r.Mode}
}

func (r rule) Validate() error {
	if err := ruleset.CheckHead(r.Head()); err != nil {
		return err
	}
	if r.Count < 0 {
		return chain.Refuse("count", "must not be negative: %d", r.Count)
	}
	return nil
}

func (r rule) Equal(o rule) bool {
	return r.Name == o.Name && r.Regex == o.Regex && r.Count == o.Count
}

func (r rule) Clone() rule {
	r.Note = slices.Clone(r.Note)
	return r
}

// controller remembers what it was built from.
type controller struct{ count int }

const (
	panics = 99 // a count whose controller cannot be built: it panics
	fails  = 98 // or it returns an error
)

type set struct {
	*ruleset.Set[rule, *controller]
	built   int
	changes []ruleset.Change
}

func newSet(options ruleset.Options[rule]) *set {
	s := &set{}
	s.Set = ruleset.New(chain.KindFlow, func(r rule) (*controller, error) {
		switch r.Count {
		case panics:
			panic("no such behaviour")
		case fails:
			return nil, errors.New("cannot be built")
		}
		s.built++
		return &controller{r.Count}, nil
	}, options)
	s.OnChange(func(c ruleset.Change) {
		slices.Sort(c.Resources)
		s.changes = append(s.changes, c)
	})
	return s
}

// changed returns the changes since it was called last, as text.
func (s *set) changed() string {
	var list []string
	for _, c := range s.changes {
		text := strings.Join(c.Resources, ",")
		if c.All {
			text += "*"
		}
		list = append(list, text)
	}
	s.changes = nil
	return strings.Join(list, ";")
}

// inForce returns the rules in force for a resource as "count@source".
func (s *set) inForce(resource string) string {
	var list []string
	for _, b := range s.Table().For(resource) {
		list = append(list, fmt.Sprintf("%d@%s", b.Rule.Count, b.Source))
	}
	return strings.Join(list, " ")
}

func (s *set) controllers(resource string) []*controller {
	var list []*controller
	for _, b := range s.Table().For(resource) {
		list = append(list, b.Controller)
	}
	return list
}

func verdicts(r chain.Report) string {
	var list []string
	for _, rule := range r.Rules {
		list = append(list, rule.Verdict.String())
	}
	return strings.Join(list, " ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{Warn: func(r rule) []string {
		if r.Count == 0 {
			return []string{"refuses all"}
		}
		return nil
	}})
	report := s.Load("", []rule{
		{Name: "a", Count: 1},
		{Name: "a", Count: 1},
		{Name: "a", Count: 2, Mode: chain.ModeObserve},
		{Name: "b", Count: 1, Disabled: true},
		{Name: "b", Count: 1, Mode: chain.ModeOff},
		{Name: "b", Count: -1},
		{Name: " ", Count: 1},
		{Name: "[", Regex: true},
		{Name: "c", Count: panics},
		{Name: "c", Count: fails},
		{Name: "c", Mode: 7},
		{Name: "c"},
	})
	expect(t, "verdicts", verdicts(report),
		"loaded duplicate observed disabled disabled refused refused refused refused refused refused loaded")
	for i, want := range map[int]string{
		0:  "flow[0] a: loaded",
		1:  "flow[1] a: duplicate",
		5:  "flow[5] b: refused: count: must not be negative: -1",
		6:  "flow[6] -: refused: resource: must not be blank",
		8:  "flow[8] c: refused: building the rule's controller panicked: no such behaviour",
		9:  "flow[9] c: refused: cannot be built",
		10: "flow[10] c: refused: mode: mode(7) is not one of enforce, observe, off",
	} {
		expect(t, "report", report.Rules[i].String(), want)
	}
	if r := report.Rules[7]; r.Member != "resource" || !strings.Contains(r.Reason, "regular expression") {
		t.Errorf("pattern: %+v", r)
	}
	if w := report.Rules[11].Warnings; len(w) != 1 || w[0] != "refuses all" {
		t.Errorf("warnings %q", w)
	}
	if w := report.Rules[0].Warnings; len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
	err := report.Err()
	for _, part := range []string{"flow[5]", "flow[6]", "flow[7]", "flow[8]", "flow[9]", "flow[10]"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not name %s", err, part)
		}
	}
	expect(t, "a", s.inForce("a"), "1@ 2@")
	expect(t, "b", s.inForce("b"), "")
	expect(t, "c", s.inForce("c"), "0@")
	if report.Count(chain.Refused) != 6 {
		t.Errorf("%d refused", report.Count(chain.Refused))
	}
	if !s.Table().For("a")[1].Observed || s.Table().For("a")[0].Observed {
		t.Error("which rule only observes is wrong")
	}
}

func TestSourcesMergeInNameOrder(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("z", []rule{{Name: "r", Count: 3}})
	s.Load("m", []rule{{Name: "r", Count: 2}, {Name: "other", Count: 1}})
	s.Load("", []rule{{Name: "r", Count: 1}})
	expect(t, "order", s.inForce("r"), "1@ 2@m 3@z")

	// Each source replaces its own rules only.
	s.Load("m", []rule{{Name: "r", Count: 5}})
	expect(t, "after m", s.inForce("r"), "1@ 5@m 3@z")
	expect(t, "other is gone", s.inForce("other"), "")
	s.Load("", nil)
	expect(t, "without code", s.inForce("r"), "5@m 3@z")

	// An equal rule of a later source is a duplicate, and comes into force when the first one goes.
	report := s.Load("n", []rule{{Name: "r", Count: 5}})
	expect(t, "duplicate", report.Rules[0].String(), `flow[0] r: duplicate`)
	held := s.controllers("r")[0]
	s.Load("m", nil)
	expect(t, "taken over", s.inForce("r"), "5@n 3@z")
	if s.controllers("r")[0] != held {
		t.Error("the rule that took over lost the controller")
	}
	expect(t, "status", verdicts(s.Status()), "loaded loaded")
}

func TestStatusIsOfNow(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("b", []rule{{Name: "r", Count: 1}, {Name: "x", Count: -1}})
	s.Load("a", []rule{{Name: "r", Count: 1}})
	var lines []string
	for _, r := range s.Status().Rules {
		lines = append(lines, r.Source+":"+r.String())
	}
	expect(t, "status", strings.Join(lines, "; "), `a:flow[0] r: loaded; b:flow[0] r: duplicate; `+
		`b:flow[1] x: refused: count: must not be negative: -1`)
}

func TestItemsThatDidNotDecode(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	report := s.LoadItems("file", []ruleset.Item[rule]{
		{Rule: rule{Name: "a", Count: 1}, Warnings: []string{"unknown member"}},
		{Rule: rule{Name: "b"}, Err: chain.Refuse("count", "is a string")},
		{Err: errors.New("not an object")},
	})
	expect(t, "verdicts", verdicts(report), "loaded refused refused")
	expect(t, "member", report.Rules[1].String(), "flow[1] b: refused: count: is a string")
	expect(t, "no member", report.Rules[2].String(), "flow[2] -: refused: not an object")
	if w := report.Rules[0].Warnings; len(w) != 1 || w[0] != "unknown member" {
		t.Errorf("warnings %q", w)
	}
	expect(t, "a", s.inForce("a"), "1@file")
	expect(t, "b", s.inForce("b"), "")
}

// A bad rule never takes the good ones with it and never clears what works.
func TestB69BuildThatPanics(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("", []rule{{Name: "r", Count: 0}})
	report := s.Load("", []rule{{Name: "r", Count: 5}, {Name: "r", Count: panics}})
	expect(t, "verdicts", verdicts(report), "loaded refused")
	if report.Err() == nil {
		t.Error("no error")
	}
	expect(t, "in force", s.inForce("r"), "5@")
	report = s.Load("", []rule{{Name: "r", Count: 5}})
	if report.Err() != nil || s.built != 2 {
		t.Errorf("afterwards %v, %d built", report.Err(), s.built)
	}
}

func TestEqualRulesKeepTheirController(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("", []rule{{Name: "r", Count: 1}, {Name: "r", Count: 2}, {Name: "p.*", Regex: true, Count: 3}})
	first := s.controllers("r")
	pattern := s.controllers("px")[0]
	s.Load("", []rule{{Name: "p.*", Regex: true, Count: 3, Note: []string{"x"}}, {Name: "r", Count: 2, Mode: chain.ModeObserve}, {Name: "r", Count: 7}, {Name: "r", Count: 1}})
	now := s.controllers("r")
	if now[0] != first[1] || now[2] != first[0] || now[1].count != 7 {
		t.Error("equal rules lost their controllers, or a new one has an old one")
	}
	if s.controllers("px")[0] != pattern {
		t.Error("the pattern lost its controller")
	}
	if s.built != 4 {
		t.Errorf("%d controllers built, want 4", s.built)
	}
	// A rule that was disabled meanwhile starts anew.
	s.Load("", []rule{{Name: "r", Count: 2, Disabled: true}})
	s.Load("", []rule{{Name: "r", Count: 2}})
	if s.controllers("r")[0] == first[1] {
		t.Error("a rule that was out of force kept its controller")
	}
}

func TestFirstOnly(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{FirstOnly: true})
	report := s.Load("", []rule{{Name: "r", Count: 1}, {Name: "r", Count: 2}, {Name: "s", Count: 2}, {Name: "r", Regex: true, Count: 3}})
	expect(t, "verdicts", verdicts(report), "loaded duplicate loaded loaded")
	expect(t, "in force", s.inForce("r"), "1@ 3@")
	report = s.Load("b", []rule{{Name: "s", Count: 9}})
	expect(t, "second source", verdicts(report), "duplicate")
	// A rule that is not in force does not keep the others out.
	report = s.Load("", []rule{{Name: "r", Count: 1, Disabled: true}, {Name: "r", Count: -1}, {Name: "r", Count: 2}})
	expect(t, "verdicts", verdicts(report), "disabled refused loaded")
	expect(t, "in force", s.inForce("s"), "9@b")
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("", []rule{{Name: "a|ab", Regex: true, Count: 1}, {Name: "ab", Count: 2}, {Name: "a.", Regex: true, Count: 3}, {Name: "a|ab", Count: 4}})
	for resource, want := range map[string]string{
		"a":    "1@",
		"ab":   "2@ 1@ 3@",
		"abc":  "",
		"xab":  "",
		"a|ab": "4@",
		"a\n":  "",
	} {
		expect(t, resource, s.inForce(resource), want)
	}
	if !s.Table().HasPatterns() || len(s.Table().All()) != 4 || len(s.Table().Plain("a.")) != 0 {
		t.Error("the table's parts are wrong")
	}
	// The slice of plain rules is shared: appending patterns must not change it.
	plain := s.Table().Plain("ab")
	s.Table().For("ab")
	s.Table().For("ab")
	if len(plain) != 1 || plain[0].Rule.Count != 2 {
		t.Error("the plain rules changed")
	}
}

func TestChangesAreExact(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	load := func(want string, rules ...rule) {
		t.Helper()
		s.Load("", rules)
		expect(t, fmt.Sprint(rules), s.changed(), want)
	}
	load("")
	load("a,b", rule{Name: "a", Count: 1}, rule{Name: "b", Count: 1})
	load("", rule{Name: "a", Count: 1}, rule{Name: "b", Count: 1})
	load("b", rule{Name: "a", Count: 1}, rule{Name: "b", Count: 2})
	load("b", rule{Name: "a", Count: 1}, rule{Name: "b", Count: 2, Mode: chain.ModeObserve})
	load("b", rule{Name: "a", Count: 1}, rule{Name: "b", Count: 2, Note: []string{"x"}})
	load("", rule{Name: "a", Count: 1}, rule{Name: "b", Count: 2, Note: []string{"x"}}, rule{Name: "c", Count: -1})
	load("", rule{Name: "a", Count: 1}, rule{Name: "b", Count: 2, Note: []string{"x"}}, rule{Name: "c", Disabled: true})
	load("a", rule{Name: "b", Count: 2, Note: []string{"x"}, Disabled: false}, rule{Name: "a", Count: -1})
	load("b*", rule{Name: "a.*", Regex: true, Count: 1})
	load("*", rule{Name: "a.*", Regex: true, Count: 1}, rule{Name: "b.*", Regex: true, Count: 1})
	load("a", rule{Name: "a.*", Regex: true, Count: 1}, rule{Name: "b.*", Regex: true, Count: 1}, rule{Name: "a", Count: 1})
	load("a*")
}

func TestLoadResource(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("file", []rule{{Name: "a", Count: 1}, {Name: "b", Count: 2}})
	s.Load("", []rule{{Name: "a", Count: 3}, {Name: "c", Count: 4}})
	s.changed()
	report := s.LoadResource("a", []rule{{Name: "a", Count: 5}, {Name: "x", Count: 6}, {Name: "a", Count: -1}})
	expect(t, "verdicts", verdicts(report), "loaded refused refused")
	if r := report.Rules[1]; r.Member != "resource" || !strings.Contains(r.Reason, `"x"`) {
		t.Errorf("rule of another resource: %+v", r)
	}
	expect(t, "changed", s.changed(), "a")
	expect(t, "a", s.inForce("a"), "5@")
	expect(t, "b", s.inForce("b"), "2@file")
	expect(t, "c", s.inForce("c"), "4@")
	expect(t, "x", s.inForce("x"), "")

	if report := s.LoadResource("a", nil); len(report.Rules) != 0 || report.Err() != nil {
		t.Errorf("clearing reports %+v", report)
	}
	expect(t, "cleared", s.inForce("a"), "")
	s.Load("file", []rule{{Name: "a", Count: 1}})
	expect(t, "back", s.inForce("a"), "1@file")
	expect(t, "b went with the file", s.inForce("b"), "")
	s.LoadResource("c", nil)
	s.LoadResource("a", nil)
	if len(s.Status().Rules) != 0 {
		t.Errorf("left: %+v", s.Status())
	}
}

func TestLoadResourceReportsItsIndexes(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("", []rule{{Name: "c", Count: 4}, {Name: "d", Count: 4}})
	report := s.LoadResource("a", []rule{{Name: "a", Count: 1}, {Name: "a", Count: -1}})
	if len(report.Rules) != 2 || report.Rules[0].Index != 0 || report.Rules[1].Index != 1 {
		t.Errorf("the report %v does not count from the given list's start", report.Rules)
	}
}

func TestOffAndOn(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("", []rule{{Name: "a", Count: 1}, {Name: "b", Count: 2}})
	held := s.controllers("a")[0]
	s.changed()
	if s.Off() {
		t.Error("off at first")
	}
	s.SetOff(true)
	expect(t, "switched off", s.changed(), "a,b")
	expect(t, "in force", s.inForce("a"), "")
	expect(t, "verdicts", verdicts(s.Status()), "disabled disabled")
	expect(t, "reason", s.Status().Rules[0].Reason, "rules of this kind are switched off")
	if len(s.Rules()) != 0 || len(s.Known().All()) != 2 || !s.Off() {
		t.Error("rules are in force, or forgotten")
	}
	s.SetOff(true)
	expect(t, "again", s.changed(), "")
	report := s.Load("", []rule{{Name: "a", Count: 1}, {Name: "b", Count: -2}, {Name: "c", Count: 3}})
	expect(t, "loading while off", verdicts(report), "disabled refused disabled")
	expect(t, "nothing changes", s.changed(), "")
	s.SetOff(false)
	expect(t, "switched on", s.changed(), "a,c")
	if s.controllers("a")[0] != held {
		t.Error("the controller did not survive")
	}
}

func TestSubscribe(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	var heard [][]rule
	cancel := s.Subscribe(func(rules []rule) { heard = append(heard, rules) })
	other := 0
	cancelOther := s.Subscribe(func(rules []rule) { other++ })
	s.Load("", []rule{{Name: "a", Count: 1, Note: []string{"mine"}}})
	s.Load("", []rule{{Name: "a", Count: 1, Note: []string{"mine"}}})
	s.Load("x", []rule{{Name: "b", Count: -1}})
	if len(heard) != 1 || len(heard[0]) != 1 {
		t.Fatalf("heard %v, want one change", heard)
	}
	heard[0][0].Note[0] = "changed"
	if s.Rules()[0].Note[0] != "mine" {
		t.Error("a listener changed the rules")
	}
	s.Load("", nil)
	if len(heard) != 2 || len(heard[1]) != 0 {
		t.Errorf("heard %v", heard)
	}
	cancel()
	cancel()
	s.Load("", []rule{{Name: "a", Count: 2}})
	if len(heard) != 2 || other != 3 {
		t.Errorf("heard %d after cancel, the other %d", len(heard), other)
	}
	cancelOther()
}

func TestRulesAreCopies(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	mine := []rule{{Name: "a", Count: 1, Note: []string{"x"}}}
	s.Load("", mine)
	mine[0].Note[0] = "changed"
	mine[0].Count = 9
	got := s.Rules()
	if got[0].Note[0] != "x" || got[0].Count != 1 {
		t.Errorf("in force %+v: the caller's copy reached in", got[0])
	}
	got[0].Note[0] = "changed"
	if s.Rules()[0].Note[0] != "x" {
		t.Error("what was handed out reached in")
	}
	one := []rule{{Name: "a", Count: 2, Note: []string{"y"}}}
	s.LoadResource("a", one)
	one[0].Note[0] = "changed"
	if s.Rules()[0].Note[0] != "y" {
		t.Error("LoadResource kept the caller's slice")
	}
	report := s.Load("w", []rule{{Name: "z", Count: 3}})
	report.Rules[0].Resource = "changed"
	if s.Status().Rules[1].Resource != "z" {
		t.Error("the report is shared")
	}
}

func TestCompilePattern(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"[", "(", "a)|(b", "*", "(?<x"} {
		if _, err := ruleset.CompilePattern(bad); err == nil {
			t.Errorf("%q compiled", bad)
		}
	}
	p, err := ruleset.CompilePattern("a|b")
	if err != nil || p.MatchString("ax") || p.MatchString("xb") || !p.MatchString("b") {
		t.Errorf("a|b does not match whole names: %v", err)
	}
}

func TestPatternThatEndsInAQuotation(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`\Qa.b`, `\Qa.b\E`} {
		p, err := ruleset.CompilePattern(text)
		if err != nil || !p.MatchString("a.b") || p.MatchString("axb") || p.MatchString("a.bc") {
			t.Errorf("%s: %v %v", text, p, err)
		}
	}
}

// A list without a valid rule is a mistake as a whole: what works stays.
func TestListWithoutAValidRule(t *testing.T) {
	t.Parallel()
	s := newSet(ruleset.Options[rule]{})
	s.Load("a", []rule{{Name: "r", Count: 1}})
	report := s.Load("a", []rule{{Name: "r", Count: -1}, {}})
	if report.Count(chain.Refused) != 2 || len(s.Rules()) != 1 {
		t.Errorf("%v; in force: %v", report.Rules, s.Rules())
	}
	s.Load("a", nil)
	if len(s.Rules()) != 0 {
		t.Errorf("after an empty list: %v", s.Rules())
	}
}
