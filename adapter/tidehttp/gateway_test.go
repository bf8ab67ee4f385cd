package tidehttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/gateway"
)

// answer serves a request and returns the status; a panic is 599.
func answer(h http.Handler, r *http.Request) (status int) {
	w := httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			status = 599
		}
	}()
	h.ServeHTTP(w, r)
	return w.Code
}

func loadGateway(t *testing.T, e *tidegate.Engine, rule gateway.Rule, apis ...gateway.API) {
	t.Helper()
	if _, err := e.GatewayRules().Load(rule); err != nil {
		t.Fatal(err)
	}
	if _, err := e.APIDefinitions().Load(apis...); err != nil {
		t.Fatal(err)
	}
}

// Gateway rules see the parts of a request; an empty part is there, a missing one is not.
func TestGatewayRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		item    gateway.ParamItem
		edit    func(*http.Request)
		query   string
		refused bool
	}{
		{gateway.ParamItem{ParseStrategy: gateway.ClientIP, Pattern: "192.0.2.1"}, nil, "", true},
		{gateway.ParamItem{ParseStrategy: gateway.ClientIP, Pattern: "9.9.9.9"}, set("X-Forwarded-For", "9.9.9.9"), "", false},
		{gateway.ParamItem{ParseStrategy: gateway.Host, Pattern: "example.com"}, nil, "", true},
		{gateway.ParamItem{ParseStrategy: gateway.HeaderField, FieldName: "host", Pattern: "example.com"}, nil, "", true},
		{gateway.ParamItem{ParseStrategy: gateway.HeaderField, FieldName: "x-a", Pattern: "b"}, set("X-A", "b"), "", true},
		{gateway.ParamItem{ParseStrategy: gateway.HeaderField, FieldName: "X-A"}, set("X-A", ""), "", true},
		{gateway.ParamItem{ParseStrategy: gateway.HeaderField, FieldName: "X-A"}, nil, "", false},
		{gateway.ParamItem{ParseStrategy: gateway.URLParam, FieldName: "q", Pattern: "a b"}, nil, "?p=1&q=a+b&q=c", true},
		{gateway.ParamItem{ParseStrategy: gateway.URLParam, FieldName: "q"}, nil, "?q", true},
		{gateway.ParamItem{ParseStrategy: gateway.URLParam, FieldName: "q"}, nil, "?Q=1", false},
		{gateway.ParamItem{ParseStrategy: gateway.CookieField, FieldName: "s", Pattern: "1"}, set("Cookie", "t=2; s=1; s=3"), "", true},
		{gateway.ParamItem{ParseStrategy: gateway.CookieField, FieldName: "s"}, set("Cookie", "s="), "", true},
		{gateway.ParamItem{ParseStrategy: gateway.CookieField, FieldName: "s"}, set("Cookie", "t=2"), "", false},
	} {
		e := newEngine(t)
		loadGateway(t, e, gateway.Rule{Resource: "GET:unmatched", Count: 0, ParamItem: &c.item})
		r := httptest.NewRequest(http.MethodGet, "/x"+c.query, nil)
		if c.edit != nil {
			c.edit(r)
		}
		h := tidehttp.Middleware(tidehttp.WithEngine(e))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if got := answer(h, r) == http.StatusTooManyRequests; got != c.refused {
			t.Errorf("%+v: refused %v, want %v", c.item, got, c.refused)
		}
	}
}

func set(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func TestGatewayClientBehindProxy(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	loadGateway(t, e, gateway.Rule{Resource: "GET:unmatched", Count: 0, ParamItem: &gateway.ParamItem{Pattern: "9.9.9.9"}})
	h := tidehttp.Middleware(tidehttp.WithEngine(e), tidehttp.WithProxies(tidehttp.Proxies{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}))(http.NotFoundHandler())
	r := httptest.NewRequest(http.MethodGet, "/x", nil)
	r.Header.Set("X-Forwarded-For", "1.1.1.1, 9.9.9.9")
	if status := answer(h, r); status != http.StatusTooManyRequests {
		t.Errorf("status %d, want 429", status)
	}
}

// A request enters the groups of its cleaned path beside its route, and leaves all of them however it ends.
func TestGatewayGroups(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	loadGateway(t, e, gateway.Rule{Resource: "users", ResourceMode: gateway.APIGroup, Count: 3, IntervalSec: 60},
		gateway.API{Name: "all", Predicates: []gateway.Predicate{{Pattern: "/", MatchStrategy: gateway.Prefix}}},
		gateway.API{Name: "users", Predicates: []gateway.Predicate{{Pattern: "/users/*", MatchStrategy: gateway.Prefix}}})
	if _, err := e.FlowRules().Load(flow.Rule{Resource: "GET:/closed", Count: 0}); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(_ http.ResponseWriter, r *http.Request) {
		if n := active(e, "users") + active(e, "all") + active(e, "GET:/users/{id}"); n != 3 {
			t.Errorf("%d in flight, want 3", n)
		}
		if r.PathValue("id") == "panic" {
			panic("broken")
		}
	})
	mux.HandleFunc("GET /closed", func(http.ResponseWriter, *http.Request) {})
	h := tidehttp.Middleware(tidehttp.WithEngine(e))(mux)
	for _, c := range []struct {
		path string
		want int
	}{{"/users/1", 200}, {"/users/panic", 599}, {"/closed", 429}, {"/none", 404}, {"/users/2", 200}, {"/users/3", 429}, {"/users/%33", 429}} {
		if got := answer(h, httptest.NewRequest(http.MethodGet, c.path, nil)); got != c.want {
			t.Errorf("%s: status %d, want %d", c.path, got, c.want)
		}
	}
	for resource, want := range map[string][4]int64{ // passed, blocked, failed, in flight
		"GET:/users/{id}": {5, 0, 1, 0}, "users": {3, 2, 1, 0}, "all": {6, 0, 1, 0}, "GET:/closed": {0, 1, 0, 0},
	} {
		s, _ := e.ResourceStats(resource)
		if got := [4]int64{s.TotalPass, s.TotalBlock, s.TotalException, s.Active}; got != want {
			t.Errorf("%s: passed, blocked, failed, in flight %v, want %v", resource, got, want)
		}
	}
}

func TestEntranceName(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	h := tidehttp.Middleware(tidehttp.WithEngine(e), tidehttp.WithEntrance("other"), tidehttp.WithEntranceName(func(_ *http.Request, resource string) string {
		return "in " + resource
	}))(http.NotFoundHandler())
	answer(h, httptest.NewRequest(http.MethodGet, "/", nil))
	if s, _ := e.ContextStats("GET:unmatched", "in GET:unmatched"); s.TotalPass != 1 {
		t.Errorf("%d passed in the named context, want 1", s.TotalPass)
	}
}

// Without path values the mux is asked once, and the rest is as ever.
func TestWithoutPathValues(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.Pattern != "GET /users/{id}" {
			t.Errorf("pattern %q", r.Pattern)
		}
		if r.PathValue("id") != "" {
			t.Error("the mux was asked again")
		}
		w.WriteHeader(http.StatusAccepted)
	})
	for _, options := range [][]tidehttp.Option{{tidehttp.WithoutContext()}, nil} {
		h := tidehttp.Middleware(append(options, tidehttp.WithEngine(e), tidehttp.WithoutPathValues())...)(mux)
		for path, want := range map[string]int{"/users/1": 202, "/none": 404, "/users//1": 307} {
			if got := answer(h, httptest.NewRequest(http.MethodGet, path, nil)); got != want {
				t.Errorf("%s: status %d, want %d", path, got, want)
			}
		}
	}
	if s, _ := e.ResourceStats("GET:/users/{id}"); s.TotalPass != 2 {
		t.Errorf("%d passed, want 2", s.TotalPass)
	}
}
