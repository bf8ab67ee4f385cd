package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
		r.checkPattern(p, at, mux, c.Routes[:i])
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

// checkPattern checks the pattern beside those of the routes before it.
func (r *Route) checkPattern(p *problems, at string, mux *http.ServeMux, before []Route) {
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
			p.add(at+".pattern", "%v", named(err, before))
		}
	}
}

// named gives the other pattern of a conflict the place of its route.
func named(err error, before []Route) error {
	conflict, ok := errors.AsType[*conflictError](err)
	if !ok {
		return err
	}
	at := slices.IndexFunc(before, func(r Route) bool { return r.text() == conflict.other })
	if at < 0 {
		return err
	}
	return fmt.Errorf("%q conflicts with %q of routes[%d]: %s", conflict.pattern, conflict.other, at, conflict.reason)
}

// conflictError says that two patterns cannot stand beside each other.
type conflictError struct{ pattern, other, reason string }

func (e *conflictError) Error() string {
	return fmt.Sprintf("%q conflicts with %q: %s", e.pattern, e.other, e.reason)
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
			err = patternError(pattern, fmt.Sprint(problem))
		}
	}()
	mux.Handle(pattern, h)
	return nil
}

// patternError reads what the mux says: of a conflict
//
//	pattern "A" (registered at FILE:LINE) conflicts with pattern "B" (registered at FILE:LINE):
//	REASON
func patternError(pattern, text string) error {
	if _, rest, found := strings.Cut(text, " conflicts with pattern "); found {
		quoted, rest, _ := strings.Cut(rest, " (registered at ")
		_, reason, _ := strings.Cut(rest, "\n")
		if other, err := strconv.Unquote(quoted); err == nil {
			return &conflictError{pattern, other, strings.Join(strings.Fields(reason), " ")}
		}
	}
	text, _, _ = strings.Cut(text, " (registered at")
	return fmt.Errorf("%q is no good: %s", pattern, strings.ReplaceAll(text, "\n", " "))
}

func (r *Route) checkUpstream(p *problems, at string, upstreams []Upstream) {
	var known []string
	for i := range upstreams {
		if name := upstreams[i].Name; name != "" && !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	there := "none has a name"
	if len(known) > 0 {
		there = "there is " + strings.Join(known, ", ")
	}
	switch {
	case p.about(at):
	case r.Upstream == "":
		p.add(at, "is missing; %s", there)
	case !slices.Contains(known, r.Upstream):
		p.add(at, "there is no upstream %q; %s", r.Upstream, there)
	}
}
