package adaptertest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/flow"
)

// doorman refuses the calls of one resource as an authority rule does.
type doorman struct{ resource string }

func (d doorman) Name() string { return "doorman" }
func (d doorman) Order() int   { return chain.OrderAuthority }

func (d doorman) Check(c *chain.Context) error {
	if c.Resource.Name != d.resource {
		return nil
	}
	return chain.NewBlockError(chain.KindAuthority, d.resource, nil, tidegate.ErrAuthority, nil)
}

func answers(t *testing.T, a Adapter) {
	private, closed := a.resource(http.MethodGet, "/private"), a.resource(http.MethodGet, "/closed")
	e := newEngine(t, newClock(), tidegate.WithCheck(doorman{private}))
	load(t, e.FlowRules(), flow.Rule{ID: 42, Resource: closed, Count: 0})
	unreachable := func(x Exchange) {
		t.Error("the handler of a refused request ran")
		x.Answer(http.StatusOK, "")
	}
	c := a.start(t, Setup{Engine: e, Routes: []Route{
		{Method: http.MethodGet, Pattern: "/private", Handle: unreachable},
		{Method: http.MethodGet, Pattern: "/closed", Handle: unreachable},
	}})
	c.expect(http.StatusForbidden, "/private")

	got := c.expect(http.StatusTooManyRequests, "/closed", "Accept", "text/plain")
	if kind := got.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/plain") || !strings.Contains(got.body, "(flow)") {
		t.Errorf("text answer: %s %q, want text/plain that names the kind", kind, got.body)
	}
	got = c.expect(http.StatusTooManyRequests, "/closed", "Accept", "application/json")
	var problem struct {
		Status   int
		Resource string
		Kind     string
		RuleID   int64
	}
	if err := json.Unmarshal([]byte(got.body), &problem); err != nil {
		t.Fatalf("JSON answer %q: %v", got.body, err)
	}
	if kind := got.header.Get("Content-Type"); !strings.Contains(kind, "json") {
		t.Errorf("Content-Type of the JSON answer: %q", kind)
	}
	if problem.Status != http.StatusTooManyRequests || problem.Resource != closed || problem.Kind != "flow" || problem.RuleID != 42 {
		t.Errorf("JSON answer: %+v", problem)
	}
	if s, _ := e.ResourceStats(closed); s.TotalBlock != 2 || s.Active != 0 {
		t.Errorf("%d refused and %d in flight, want 2 and 0", s.TotalBlock, s.Active)
	}
}

func retries(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	load(t, e.FlowRules(), flow.Rule{Resource: a.resource(http.MethodGet, "/once"), Count: 1})
	c := a.start(t, Setup{Engine: e, Routes: []Route{{Method: http.MethodGet, Pattern: "/once", Handle: ok}}})
	c.expect(http.StatusOK, "/once")
	if got := c.expect(http.StatusTooManyRequests, "/once"); got.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q, want 1: the window is a second long", got.header.Get("Retry-After"))
	}
}
