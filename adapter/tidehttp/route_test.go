package tidehttp_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
	"github.com/tidegate-go/tidegate/chain"
)

func newEngine(t testing.TB, options ...tidegate.Option) *tidegate.Engine {
	t.Helper()
	e, err := tidegate.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// lastCall is a check that keeps resource and arguments of the last call.
type lastCall struct {
	resource, origin string
	args             map[string]any
	names            []string
}

func (l *lastCall) Name() string { return "last call" }
func (l *lastCall) Order() int   { return 0 }

func (l *lastCall) Check(c *chain.Context) error {
	l.resource, l.origin, l.args, l.names = c.Resource.Name, c.Origin, map[string]any{}, nil
	for _, a := range c.Args() {
		l.args[a.Name()] = a.Value()
		l.names = append(l.names, a.Name())
	}
	return nil
}

func TestResourceIsTheRoute(t *testing.T) {
	t.Parallel()
	seen := &lastCall{}
	e := newEngine(t, tidegate.WithCheck(seen))
	mux := http.NewServeMux()
	for _, pattern := range []string{
		"GET /users/{id}", "/any/{id}/x", "POST shop.example/cart/{item...}", "/files/", "/exact/{$}",
		"GET /a/{x}/b/{y}", "/sp%20ace/{z}", "CONNECT /tunnel/",
	} {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	h := tidehttp.Middleware(tidehttp.WithEngine(e))(mux)
	for _, c := range []struct {
		method, url, resource string
		args                  map[string]any
	}{
		{"GET", "/users/7", "GET:/users/{id}", map[string]any{"id": "7"}},
		{"HEAD", "/users/7", "HEAD:/users/{id}", map[string]any{"id": "7"}},
		{"GET", "/users/a%2Fb%20c", "GET:/users/{id}", map[string]any{"id": "a/b c"}},
		{"DELETE", "/users/7", "DELETE:unmatched", nil}, // 405
		{"PATCH", "/any/1/x", "PATCH:/any/{id}/x", map[string]any{"id": "1"}},
		{"BREW", "/any/1/x", "OTHER:/any/{id}/x", map[string]any{"id": "1"}},
		{"get", "/any/1/x", "OTHER:/any/{id}/x", map[string]any{"id": "1"}},
		{"POST", "http://shop.example:8080/cart/a/b%2Fc", "POST:/cart/{item...}", map[string]any{"item": "a/b/c"}},
		{"POST", "http://other.example/cart/a", "POST:unmatched", nil},
		{"GET", "/files/x/y", "GET:/files/", nil},
		{"GET", "/files/", "GET:/files/", nil},
		{"GET", "/files", "GET:unmatched", nil}, // redirected to /files/
		{"GET", "/exact/", "GET:/exact/{$}", nil},
		{"GET", "/exact/x", "GET:unmatched", nil},
		{"GET", "//users//7", "GET:unmatched", nil}, // redirected to /users/7
		{"GET", "/files/../users/7", "GET:unmatched", nil},
		{"GET", "/files/./y", "GET:unmatched", nil},
		{"GET", "/a/1/b/2", "GET:/a/{x}/b/{y}", map[string]any{"x": "1", "y": "2"}},
		{"GET", "/sp%20ace/1", "GET:/sp%20ace/{z}", map[string]any{"z": "1"}},
		{"CONNECT", "/tunnel", "CONNECT:unmatched", nil},
		{"CONNECT", "/tunnel/x", "CONNECT:/tunnel/", nil},
		{"GET", "/", "GET:unmatched", nil},
	} {
		r := httptest.NewRequest(c.method, c.url, nil)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if seen.resource != c.resource {
			t.Errorf("%s %s: resource %q, want %q", c.method, c.url, seen.resource, c.resource)
		}
		if len(seen.args) != len(c.args) {
			t.Errorf("%s %s: arguments %v, want %v", c.method, c.url, seen.args, c.args)
		}
		for name, want := range c.args {
			if seen.args[name] != want {
				t.Errorf("%s %s: argument %s is %v, want %v", c.method, c.url, name, seen.args[name], want)
			}
		}
	}
}

// A request for "*" belongs to no route, and a middleware under which no mux is known never takes the raw path.
func TestResourceWithoutRoute(t *testing.T) {
	t.Parallel()
	seen := &lastCall{}
	e := newEngine(t, tidegate.WithCheck(seen))
	h := tidehttp.Middleware(tidehttp.WithEngine(e))(http.NotFoundHandler())
	r := httptest.NewRequest(http.MethodOptions, "/", nil)
	r.RequestURI = "*"
	h.ServeHTTP(httptest.NewRecorder(), r)
	if seen.resource != "OPTIONS:unmatched" {
		t.Errorf("resource of * is %q", seen.resource)
	}
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/secret/7", nil))
	if seen.resource != "GET:unmatched" {
		t.Errorf("resource without a mux is %q", seen.resource)
	}
}

func TestResourceByOption(t *testing.T) {
	t.Parallel()
	seen := &lastCall{}
	e := newEngine(t, tidegate.WithCheck(seen))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(http.ResponseWriter, *http.Request) {})
	ids := map[string]string{"GET /users/{id}": "users"}
	h := tidehttp.Middleware(
		tidehttp.WithEngine(e),
		tidehttp.WithRouteName(func(_ *http.Request, pattern string) string { return ids[pattern] }),
		tidehttp.WithResource(func(r *http.Request) string { return r.Header.Get("X-Name") }),
	)(mux)
	for _, c := range []struct{ path, header, want string }{
		{"/users/7", "", "users"}, {"/users/7", "mine", "mine"}, {"/nowhere", "", "GET:unmatched"},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header.Set("X-Name", c.header)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if seen.resource != c.want {
			t.Errorf("%s: resource %q, want %q", c.path, seen.resource, c.want)
		}
	}
}

// Listed arguments keep their places; wildcards that are not listed follow.
func TestArgumentOrder(t *testing.T) {
	t.Parallel()
	seen := &lastCall{}
	e := newEngine(t, tidegate.WithCheck(seen))
	mux := http.NewServeMux()
	mux.HandleFunc("/t/{tenant}/u/{user}", func(http.ResponseWriter, *http.Request) {})
	h := tidehttp.Middleware(tidehttp.WithEngine(e), tidehttp.WithArgs(
		tidehttp.Wildcard("user"), tidehttp.Query("q"), tidehttp.Header("host"), tidehttp.Wildcard("absent"),
		tidehttp.ArgFunc("const", func(*http.Request) (string, bool) { return "c", true }),
	))(mux)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://h.example/t/1/u/2?a=b;q=x&%71=a+b%21&q=2", nil))
	if want := []string{"user", "query:q", "header:host", "absent", "const", "tenant"}; !slices.Equal(seen.names, want) {
		t.Errorf("names %q, want %q", seen.names, want)
	}
	for name, want := range map[string]any{
		"user": "2", "tenant": "1", "query:q": "a b!", "header:host": "h.example", "absent": nil, "const": "c",
	} {
		if seen.args[name] != want {
			t.Errorf("%s is %v, want %v", name, seen.args[name], want)
		}
	}
}

func TestParseArg(t *testing.T) {
	t.Parallel()
	for text, name := range map[string]string{
		"id": "id", "ip": "ip", "query:q": "query:q", "header:X-A": "header:X-A", "cookie:s": "cookie:s",
		"": "", "query:": "", "body:x": "", "form:x": "",
	} {
		arg, err := tidehttp.ParseArg(text)
		if (err != nil) != (name == "") || arg.Name() != name {
			t.Errorf("%q: %q, %v; want %q", text, arg.Name(), err, name)
		}
	}
}
