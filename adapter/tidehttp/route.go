package tidehttp

import (
	"net/http"
	"path"
	"strings"
	"sync"
)

// router is what http.ServeMux offers for finding the pattern of a request without serving it.
type router interface {
	Handler(r *http.Request) (h http.Handler, pattern string)
}

// route is what a request was matched to.
type route struct {
	pattern *pattern     // nil: no route
	handler http.Handler // of the route in the wrapped mux; nil: not known
	values  []string     // of the wildcards, in their order; nil: ask the request
}

// value returns the value of the i-th wildcard.
func (t *route) value(r *http.Request, i int) string {
	if t.values != nil {
		return t.values[i]
	}
	return r.PathValue(t.pattern.wildcards[i])
}

// routes finds the route of requests. It remembers patterns, of which a mux has a fixed number.
type routes struct {
	router    router // nil: the mux has set Request.Pattern
	wrapped   bool   // the router is the wrapped handler
	known     sync.Map
	unmatched *resources
}

func newRoutes(next http.Handler, mux router) *routes {
	own, wrapped := next.(router)
	if mux == nil {
		mux = own
	} else if wrapped {
		wrapped = mux == own
	}
	return &routes{router: mux, wrapped: wrapped, unmatched: newResources("")}
}

// of returns the request's route. The values of wildcards are appended to buffer.
func (s *routes) of(r *http.Request, buffer []string) route {
	switch {
	case r.RequestURI == "*" || r.URL == nil:
		return route{}
	case s.router == nil && r.Pattern == "":
		return route{}
	case s.router == nil:
		return route{pattern: s.pattern(r.Pattern)}
	}
	h, text := s.router.Handler(r)
	if text == "" {
		return route{}
	}
	escaped := r.URL.EscapedPath()
	p := parsed(s, r.Method, text)
	// A path that does not match its pattern, or is not clean, is going to be redirected. The redirect belongs to
	// no route: the request that follows it does.
	values, ok := p.match(escaped, buffer[:0])
	if !ok || r.Method != http.MethodConnect && cleanPath(escaped) != escaped {
		return route{}
	}
	if !s.wrapped {
		h = nil
	}
	return route{pattern: p, values: values, handler: h}
}

// parsed returns the pattern. What a mux returns for a redirected CONNECT request is made from its path, so that
// it must not be remembered.
func parsed(s *routes, method, text string) *pattern {
	if method == http.MethodConnect {
		return parsePattern(text)
	}
	return s.pattern(text)
}

func (s *routes) pattern(text string) *pattern {
	if p, ok := s.known.Load(text); ok {
		return p.(*pattern)
	}
	p, _ := s.known.LoadOrStore(text, parsePattern(text))
	return p.(*pattern)
}

// resource returns the route's resource.
func (s *routes) resource(r *http.Request, t route) string {
	if t.pattern == nil {
		return s.unmatched.of(r.Method)
	}
	return t.pattern.resources.of(r.Method)
}

// cleanPath returns the path that http.ServeMux serves under; it redirects from others.
func cleanPath(p string) string {
	if p == "" {
		return "/"
	}
	if p[0] != '/' {
		p = "/" + p
	}
	clean := path.Clean(p)
	if p[len(p)-1] != '/' || clean == "/" {
		return clean
	}
	if len(p) == len(clean)+1 && strings.HasPrefix(p, clean) {
		return p
	}
	return clean + "/"
}
