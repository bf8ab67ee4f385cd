package document_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/datasource"
	"github.com/tidegate-go/tidegate/document"
)

var (
	_ datasource.Handler     = (*document.Loader)(nil)
	_ datasource.RuleCounter = (*document.Loader)(nil)
)

func update(t *testing.T, l *document.Loader, text string) {
	t.Helper()
	if err := l.Update(t.Context(), []byte(text)); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

// partly expects a text that is in force but for a part.
func partly(t *testing.T, l *document.Loader, text, reason string) {
	t.Helper()
	var partial *datasource.PartialError
	if err := l.Update(t.Context(), []byte(text)); !errors.As(err, &partial) || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v, want it in force but for %q", text, err, reason)
	}
}

// refused expects a text that changes nothing.
func refused(t *testing.T, l *document.Loader, text string) {
	t.Helper()
	var partial *datasource.PartialError
	if err := l.Update(t.Context(), []byte(text)); err == nil || errors.As(err, &partial) {
		t.Errorf("%s: %v, want it refused", text, err)
	}
}

func calls(t *testing.T, r *document.Recorder, want ...string) {
	t.Helper()
	if got := r.Take(); !slices.Equal(got, want) {
		t.Errorf("did %q, want %q", got, want)
	}
}

func TestLoaderOrder(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	l := newLoader("a")
	update(t, l, complete)
	calls(t, r, "authority=false", "load api 1", "load gateway 1", "load param 1", "load flow 1", "load isolation 1", "load degrade 1",
		"load authority 1", "load system 1", "enabled=true")
	update(t, l, complete)
	calls(t, r)
	update(t, l, `{"sentinelEnabled":false,"mode":"observe","flowRules":[{"resource":"a"}]}`)
	calls(t, r, "observe=true", "enabled=false", "load api 0", "load gateway 0", "load param 0", "load flow 1", "load isolation 0",
		"load degrade 0", "load authority 0", "load system 0", "authority=true")
	update(t, l, `{}`)
	calls(t, r, "load flow 0", "observe=false", "enabled=true")
	update(t, l, `{"slots":null}`)
	calls(t, r)
}

func TestSwitchesThatCannotBeReadStay(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	l := newLoader("a")
	update(t, l, `{"sentinelEnabled":0,"mode":"observe","slots":{"flow":false,"param":false}}`)
	calls(t, r, "param=false", "flow=false", "observe=true", "enabled=false")
	partly(t, l, `{"sentinelEnabled":"no","mode":5,"slots":{"flow":"x"}}`, "sentinelEnabled")
	calls(t, r, "param=true")
	partly(t, l, `{"sentinelEnabled":"no","mode":5,"slots":7}`, "slots")
	calls(t, r)
	update(t, l, `{"sentinelEnabled":"true","mode":"enforce","slots":{"flow":true}}`)
	calls(t, r, "flow=true", "observe=false", "enabled=true")
}

func TestSectionsThatCannotBeReadStay(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	l := newLoader("a")
	update(t, l, `{"flowRules":[{"resource":"a"}],"systemRules":[{"qps":1}]}`)
	calls(t, r, "load flow 1", "load system 1")
	partly(t, l, `{"flowRules":{"resource":"a"},"systemRules":null}`, "flowRules: must be an array, not an object")
	calls(t, r, "load system 0")
	if n := len(r.Flow.Rules()); n != 1 {
		t.Errorf("%d flow rules in force, want the last good one", n)
	}
}

func TestBadRuleIsLeftOut(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	l := newLoader("a")
	text := `{"flowRules":[{"resource":"a"},{"resource":"b","count":-1},{"resource":"c"}]}`
	partly(t, l, text, "line 1, column 56: flowRules[1] b: count: must not be negative")
	calls(t, r, "load flow 3")
	if n := len(r.Flow.Rules()); n != 2 {
		t.Errorf("%d flow rules in force, want 2", n)
	}
	if accepted, bad := l.RuleCounts(); accepted != 2 || bad != 1 {
		t.Errorf("%d accepted and %d refused, want 2 and 1", accepted, bad)
	}
	partly(t, l, text, "flowRules[1] b") // the same text again says the same
	calls(t, r)
}

func TestStrict(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	l := newLoader("a", document.Strict())
	update(t, l, `{"flowRules":[{"resource":"a"}]}`)
	partly(t, l, `{"flowRules":[{"resource":"b"},{"resource":"c","count":-1}],"systemRules":[{"qps":1}]}`, "flowRules: rejected as a whole")
	calls(t, r, "load flow 1", "load system 1")
	if got := r.Flow.Rules(); len(got) != 1 || got[0].Resource != "a" {
		t.Errorf("in force %+v, want the rule for a", got)
	}
	if got := lines(l.Status().Report); !strings.Contains(got, "flow[0] b: refused: another rule") || !strings.Contains(got, "flow[1] c: refused: count") {
		t.Errorf("report\n%s", got)
	}
}

// B65: an object, garbage, a byte order mark, null and [] where a list is expected.
func TestListSources(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]document.Option{"given kind": {document.WithKind(chain.KindFlow)}, "kind by the members": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, clearing := range []string{"null", "[]"} {
				r, newLoader := document.NewRecorder()
				l := newLoader("a", opts...)
				update(t, l, `[{"resource":"r","grade":1,"count":0}]`)
				for _, bad := range []string{`{}`, `[{"resource":"r"`, ``, " \n", "5"} {
					refused(t, l, bad)
					if n := len(r.Flow.Rules()); n != 1 || l.Status().LastError == nil {
						t.Errorf("%q: %d rules in force, error %v; want the last rule and an error", bad, n, l.Status().LastError)
					}
				}
				update(t, l, "\xef\xbb\xbf"+`[{"resource":"r","grade":1,"count":0},{"resource":"s"}]`)
				if n := len(r.Flow.Rules()); n != 2 || l.Status().LastError != nil {
					t.Errorf("%d rules in force, want the two behind the byte order mark", n)
				}
				update(t, l, clearing)
				if n := len(r.Flow.Rules()); n != 0 {
					t.Errorf("%s: %d rules in force", clearing, n)
				}
			}
		})
	}
}

// Each text is read for what it is, and replaces all that the source supplied.
func TestFormAndKindMayChange(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	l := newLoader("a")
	other := newLoader("b")
	update(t, other, `[{"resource":"other"}]`)
	r.Take()
	for _, step := range []struct {
		text string
		want []string
	}{
		{`[]`, nil},
		{`[{"resource":"a"}]`, []string{"load flow 1"}},
		{`[{"resource":"a","timeWindow":1}]`, []string{"load flow 0", "load degrade 1"}},
		{`{"sentinelEnabled":false,"systemRules":[{"qps":1}]}`, []string{"enabled=false", "load flow 0", "load degrade 0", "load system 1"}},
		{`[{"resource":"a"},{"resource":"b"}]`, []string{"load flow 2", "load system 0", "enabled=true"}},
		{`{"flowRules":[{"resource":"a"}]}`, []string{"load flow 1"}},
		{`[]`, []string{"load flow 0"}},
		{`[{"qps":5}]`, []string{"load flow 0", "load system 1"}},
		{`null`, []string{"load flow 0", "load system 0"}},
		{`{"flowRules":null}`, []string{"load flow 0"}},
	} {
		update(t, l, step.text)
		if got := r.Take(); !slices.Equal(slices.DeleteFunc(got, isOther), slices.DeleteFunc(step.want, isOther)) {
			t.Errorf("%s: did %q, want %q", step.text, got, step.want)
		}
		if got := r.Flow.Rules(); got[len(got)-1].Resource != "other" {
			t.Errorf("%s: the other source's rule is gone: %+v", step.text, got)
		}
	}
}

// isOther picks out the calls that the other source's rule makes visible.
func isOther(call string) bool { return call == "load flow 0" }

// What is probably not meant to replace the rules in force does not.
func TestRulesAreNotDroppedByAccident(t *testing.T) {
	t.Parallel()
	const flows, single = `[{"resource":"a"}]`, `{"flowRules":[{"resource":"a"}]}`
	for _, c := range []struct{ before, text, reason string }{
		{flows, `{}`, "no member of a rule document"},
		{flows, `{"resource":"b"}`, "no member of a rule document"},
		{flows, `5`, "must be an object or an array, not the number 5"},
		{flows, `"x"`, "must be an object or an array, not a string"},
		{flows, `<html>`, "not JSON"},
		{flows, `[{"resource":"a","timeWindow":"x"}]`, "line 1, column 2: by its members an array of degrade rules, none of which is valid, after an array of flow rules"},
		{flows, `[{"resource":"b","timeWindow":1},{"resource":"a"}]`, "line 1, column 34: flow and degrade rules in one array"},
		{single, `null`, "must be an object or an array, not null"},
		{single, `{"resource":"b"}`, "no member of a rule document"},
		{single, `[{"count":1}]`, "by its members an array of flow rules, none of which is valid, after a single document"},
	} {
		r, newLoader := document.NewRecorder()
		l := newLoader("a")
		update(t, l, c.before)
		refused(t, l, c.text)
		if err := l.Status().LastError; err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s after %s: %v, want %q", c.text, c.before, err, c.reason)
		}
		if n := len(r.Flow.Rules()); n != 1 {
			t.Errorf("%s after %s: %d rules in force, want the last one", c.text, c.before, n)
		}
		update(t, l, `[{"resource":"a"},{"resource":"b"}]`)
	}
	r, newLoader := document.NewRecorder()
	l := newLoader("a")
	refused(t, l, "null")
	update(t, l, flows)
	partly(t, l, `[{"resource":"a","timeWindow":1},{"resource":"b","timeWindow":0}]`, "timeWindow")
	if n := len(r.Flow.Rules()); n != 0 {
		t.Errorf("%d flow rules in force after a list of degrade rules with a bad one", n)
	}
	strict := newLoader("b", document.Strict())
	update(t, strict, flows)
	refused(t, strict, `[{"resource":"a","timeWindow":1},{"resource":"b","timeWindow":0}]`)
	if n := len(r.Flow.Rules()); n != 1 {
		t.Errorf("strict: %d flow rules in force, want the last one", n)
	}
}

func TestSourcesAreMerged(t *testing.T) {
	t.Parallel()
	r, newLoader := document.NewRecorder()
	a, b := newLoader("a"), newLoader("b")
	update(t, b, `{"sentinelEnabled":false,"flowRules":[{"resource":"y"},{"resource":"x","count":1}]}`)
	update(t, a, `{"flowRules":[{"resource":"x","count":1}]}`)
	calls(t, r, "enabled=false", "load flow 2", "load flow 1")
	rules := r.Flow.Rules()
	if len(rules) != 2 || rules[0].Resource != "x" || rules[1].Resource != "y" {
		t.Errorf("in force %+v, want x of source a, y of source b", rules)
	}
	if err := b.Deleted(t.Context()); err != nil {
		t.Error(err)
	}
	calls(t, r, "load flow 0", "enabled=true")
	if rules = r.Flow.Rules(); len(rules) != 1 || rules[0].Resource != "x" {
		t.Errorf("in force %+v, want the rule of source a", rules)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	_, newLoader := document.NewRecorder()
	l := newLoader("a", document.WithNow(func() time.Time { return now }))
	if s := l.Status(); s.Source != "a" || !s.LastSuccess.IsZero() || s.Document != nil {
		t.Errorf("before anything: %+v", s)
	}
	update(t, l, `{"revision":"v1","unknown":1,"cluster":{"mode":0},"flowRules":[{"resource":"a"}]}`)
	if s := l.Status(); s.Revision != "v1" || !s.LastSuccess.Equal(now) || s.LastError != nil || s.Accepted != 1 || len(s.Warnings) != 1 || s.ClusterLost {
		t.Errorf("after good text: %+v", s)
	}
	now = now.Add(time.Second)
	refused(t, l, "garbage")
	if s := l.Status(); s.Revision != "v1" || s.LastError == nil || !s.LastErrorTime.Equal(now) || s.LastSuccess.Equal(now) {
		t.Errorf("after garbage: %+v", s)
	}
	now = now.Add(time.Second)
	update(t, l, `{"flowRules":[{"resource":"a"}]}`)
	if s := l.Status(); len(s.Revision) != 32 || s.LastError != nil || !s.LastSuccess.Equal(now) || !s.ClusterLost {
		t.Errorf("after good text again: %+v", s)
	}
	if err := l.Deleted(t.Context()); err != nil {
		t.Error(err)
	}
	if s := l.Status(); !s.Deleted || !s.ClusterLost || s.Document != nil || s.Accepted != 0 {
		t.Errorf("after deletion: %+v", s)
	}
	update(t, l, `{"flowRules":[{"resource":"a"}]}`) // the same text after a deletion is news
	if s := l.Status(); s.Deleted || s.Accepted != 1 {
		t.Errorf("after creation: %+v", s)
	}
}

func TestLoaderZeroValue(t *testing.T) {
	t.Parallel()
	for _, l := range []*document.Loader{nil, {}} {
		if l.Update(context.Background(), []byte("[]")) == nil {
			t.Error("a loader without engine takes a text")
		}
		if err := l.Deleted(context.Background()); err != nil {
			t.Error(err)
		}
		if accepted, refused := l.RuleCounts(); accepted != 0 || refused != 0 {
			t.Errorf("%d, %d rules", accepted, refused)
		}
	}
}
