package tidehttp

import "net/http"

// Unmatched stands for the path in the resource of requests that no route matches.
const Unmatched = "unmatched"

// other stands for methods that HTTP does not define, so that a client cannot make up resources.
const other = "OTHER"

// methods are those that HTTP defines.
var methodNames = [...]string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch,
	http.MethodHead, http.MethodOptions, http.MethodConnect, http.MethodTrace, other,
}

// methodIndex returns the position of the method in methodNames; "" is GET, as in requests of clients.
func methodIndex(method string) int {
	if method == "" {
		return 0
	}
	for i, name := range methodNames {
		if name == method {
			return i
		}
	}
	return len(methodNames) - 1
}

// Method returns the method as resources spell it: OTHER for those that HTTP does not define.
func Method(method string) string { return methodNames[methodIndex(method)] }

// Resource returns the name of a route's resource: METHOD:pattern, or METHOD:unmatched where pattern is "".
// The pattern is the route's in the router's own syntax, never a requested path.
func Resource(method, pattern string) string {
	if pattern == "" {
		pattern = Unmatched
	}
	return Method(method) + ":" + pattern
}

// resources holds the names of one pattern for every method.
type resources [len(methodNames)]string

func newResources(pattern string) *resources {
	var r resources
	for i, method := range methodNames {
		r[i] = Resource(method, pattern)
	}
	return &r
}

func (r *resources) of(method string) string { return r[methodIndex(method)] }
