package adaptertest

import (
	"context"
	"net/http"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/hotspot"
)

func arguments(t *testing.T, a Adapter) {
	seen := &spy{}
	e := newEngine(t, newClock(), tidegate.WithCheck(seen))
	c := a.start(t, Setup{
		Engine: e, Args: []string{"query:page", "header:X-Tenant", "cookie:session", "ip"},
		Routes: []Route{{Method: http.MethodGet, Pattern: "/item/{id}", Handle: ok}},
	})
	c.expect(http.StatusOK, "/item/a%20b?page=2&page=3", "X-Tenant", "acme", "Cookie", "session=s1")
	for name, want := range map[string]any{
		"id": "a b", "query:page": "2", "header:X-Tenant": "acme", "cookie:session": "s1", "ip": "127.0.0.1",
	} {
		if got, found := seen.arg(name); !found || got != want {
			t.Errorf("argument %s: %v (there: %v), want %v", name, got, found, want)
		}
	}
	if !seen.inbound {
		t.Error("the call is not inbound")
	}
	c.expect(http.StatusOK, "/item/7")
	for _, name := range []string{"query:page", "header:X-Tenant", "cookie:session"} {
		if got, _ := seen.arg(name); got != nil {
			t.Errorf("argument %s of a request without: %v, want none", name, got)
		}
	}
}

// hotValues: a limit for each value of a path wildcard.
func hotValues(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	load(t, e.ParamRules(), hotspot.Rule{Resource: a.resource(http.MethodGet, "/item/{id}"), ParamKey: "id", Count: 1})
	c := a.start(t, Setup{Engine: e, Routes: []Route{{Method: http.MethodGet, Pattern: "/item/{id}", Handle: ok}}})
	c.expect(http.StatusOK, "/item/7")
	c.expect(http.StatusTooManyRequests, "/item/7")
	c.expect(http.StatusOK, "/item/8")
}

func origins(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	c := a.start(t, Setup{Engine: e, OriginHeader: "X-App", Routes: []Route{{Method: http.MethodGet, Pattern: "/who", Handle: ok}}})
	c.expect(http.StatusOK, "/who", "X-App", "alice")
	c.expect(http.StatusOK, "/who", "X-App", "alice")
	c.expect(http.StatusOK, "/who")
	resource := a.resource(http.MethodGet, "/who")
	if s, _ := e.OriginStats(resource, "alice"); s.TotalPass != 2 {
		t.Errorf("%d calls of alice, want 2", s.TotalPass)
	}
	if s, _ := e.ResourceStats(resource); s.TotalPass != 3 {
		t.Errorf("%d calls in all, want 3", s.TotalPass)
	}
}

func nesting(t *testing.T, a Adapter) {
	e := newEngine(t, newClock())
	c := a.start(t, Setup{Engine: e, OriginHeader: "X-App", Routes: []Route{{
		Method: http.MethodGet, Pattern: "/outer", Handle: func(x Exchange) {
			err := tidegate.Run(x.Context, "inner", func(context.Context) error { return nil }, tidegate.On(e))
			if err != nil {
				t.Error(err)
			}
			x.Answer(http.StatusOK, "fine")
		},
	}}})
	c.expect(http.StatusOK, "/outer", "X-App", "alice")
	if s, _ := e.OriginStats("inner", "alice"); s.TotalPass != 1 {
		t.Errorf("%d inner calls of alice, want 1", s.TotalPass)
	}
	if !nested(e.Tree(), a.resource(http.MethodGet, "/outer"), "inner") {
		t.Errorf("inner is not below the route in the invocation tree: %+v", e.Tree())
	}
}

// nested reports whether inner is directly below outer somewhere in the tree.
func nested(nodes []tidegate.TreeNode, outer, inner string) bool {
	for _, n := range nodes {
		if nested(n.Children, outer, inner) {
			return true
		}
		for _, child := range n.Children {
			if n.Name == outer && child.Name == inner {
				return true
			}
		}
	}
	return false
}
