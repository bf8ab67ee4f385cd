package proxy

import (
	"net/http"
	"strings"

	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

// Names of the invocation contexts of a gateway, as Sentinel has them.
const (
	routeEntrance   = "sentinel_gateway_context$$route$$" // followed by the route's resource
	defaultEntrance = "sentinel_gateway_context_default"  // of requests without route
)

// entrances returns the name of the invocation context by the resource of the request.
func entrances(routes []Route) func(r *http.Request, resource string) string {
	names := map[string]string{}
	for _, method := range []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch,
		http.MethodHead, http.MethodOptions, http.MethodConnect, http.MethodTrace, "OTHER",
	} {
		names[tidehttp.Resource(method, "")] = defaultEntrance
		for i := range routes {
			resource := routes[i].ID
			if resource == "" {
				resource = tidehttp.Resource(method, routes[i].path())
			}
			names[resource] = routeEntrance + resource
		}
	}
	return func(_ *http.Request, resource string) string { return names[resource] }
}

// path returns the route's pattern without method and host.
func (r *Route) path() string {
	_, path, _ := strings.Cut(r.Pattern, "/")
	return "/" + path
}
