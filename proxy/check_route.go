package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

func (c *Config) checkRoutes(p *problems) {
	if len(c.Routes) == 0 && !p.about("routes") {
		p.add("routes", "is missing; name at least one, such as [{pattern: /, upstream: shop}]")
	}
	mux := http.NewServeMux()
	for i := range c.Routes {
		r, at := &c.Routes[i], fmt.Sprintf("routes[%d]", i)
		r.checkPattern(p, at, mux)
		r.checkUpstream(p, at+".upstream", c.Upstreams)
		if r.StripPrefix != "" && (r.StripPrefix[0] != '/' || strings.HasSuffix(r.StripPrefix, "/")) {
			p.add(at+".stripPrefix", "must begin with / and not end with it, not %q", r.StripPrefix)
		}
		if r.ID != "" && strings.TrimSpace(r.ID) == "" {
			p.add(at+".id", "must not be blank")
		}
		checkTime(p, at+".timeout", r.Timeout)
	}
}

func (r *Route) checkPattern(p *problems, at string, mux *http.ServeMux) {
	switch {
	case p.about(at+".pattern") || p.about(at+".method"):
	case r.Pattern == "":
		p.add(at+".pattern", "is missing; give a path such as /orders/{id}, or / for all")
	case r.Method != "" && strings.ContainsAny(r.Pattern, " \t"):
		p.add(at+".pattern", "has a method already, and the route gives %q", r.Method)
	case r.Method != "" && tidehttp.Method(r.Method) != r.Method:
		p.add(at+".method", "must be a method of HTTP in upper case, not %q", r.Method)
	default:
		if err := register(mux, r.text(), http.NotFoundHandler()); err != nil {
			p.add(at+".pattern", "%v", err)
		}
	}
}

// text returns the route's pattern with its method.
func (r *Route) text() string {
	if r.Method == "" {
		return r.Pattern
	}
	return r.Method + " " + r.Pattern
}

// register adds a route to the mux, which panics on patterns that are invalid or in conflict with others.
func register(mux *http.ServeMux, pattern string, h http.Handler) (err error) {
	defer func() {
		if problem := recover(); problem != nil {
			text, _, _ := strings.Cut(fmt.Sprint(problem), " (registered at")
			err = fmt.Errorf("%q is no good: %s", pattern, strings.ReplaceAll(text, "\n", " "))
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

func (r *Route) checkUpstream(p *problems, at string, upstreams []Upstream) {
	known := make([]string, len(upstreams))
	for i := range upstreams {
		known[i] = upstreams[i].Name
	}
	switch {
	case p.about(at):
	case r.Upstream == "":
		p.add(at, "is missing; there is %s", strings.Join(known, ", "))
	case !slices.Contains(known, r.Upstream):
		p.add(at, "there is no upstream %q; there is %s", r.Upstream, strings.Join(known, ", "))
	}
}
