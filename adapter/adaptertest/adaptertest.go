// Package adaptertest is the conformance suite of adapters for HTTP frameworks. An adapter passes it with real
// servers of its framework:
//
//	func TestConformance(t *testing.T) {
//		adaptertest.Run(t, adaptertest.Adapter{Serve: serve})
//	}
package adaptertest

import (
	"context"
	"testing"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

// Adapter tells the suite how to use the adapter under test.
type Adapter struct {
	// Serve starts a server of the framework on a loopback address, with the routes guarded by the adapter, and
	// returns its URL without a slash at the end. It has the server stopped by t.Cleanup.
	Serve func(t *testing.T, s Setup) (url string)
	// Pattern turns a pattern such as /users/{id} into the framework's own syntax, as resources show it. nil: the
	// same.
	Pattern func(pattern string) string
	// Blind says that the framework does not tell handlers that their client left.
	Blind bool
	// Paths is how many different paths are requested to show that they make no resources, 0 meaning 10,000. Fewer are
	// for a second way of using an adapter that passed with the default.
	Paths int
}

// Setup is what a server is to serve and how it is to be guarded.
type Setup struct {
	Engine *tidegate.Engine
	Routes []Route
	// Args are arguments beside the path wildcards: query:NAME, header:NAME, cookie:NAME, ip.
	Args []string
	// OriginHeader is the header that names the caller; "": none does.
	OriginHeader string
}

// Route is one route of the server.
type Route struct {
	Method  string // such as GET
	Pattern string // in the syntax of http.ServeMux, without method and host
	Handle  func(x Exchange)
}

// Exchange is what a route's handler needs of the framework. A handler that does not call Answer leaves it to the
// framework what is answered.
type Exchange struct {
	Context context.Context // of the request, as handlers see it
	Param   func(wildcard string) string
	Answer  func(status int, body string)
}

// Run runs the suite.
func Run(t *testing.T, a Adapter) {
	if a.Pattern == nil {
		a.Pattern = func(pattern string) string { return pattern }
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, Adapter)
	}{
		{"names come from the route", names},
		{"B87 paths are no resources", cardinality},
		{"B30 slots are freed", slots},
		{"B46 errors are counted", errorsCounted},
		{"B46 time is counted", timeCounted},
		{"B55 arguments are handed over", arguments},
		{"B55 hot values are limited", hotValues},
		{"the caller is the origin", origins},
		{"the entry is in the context", nesting},
		{"refusals are answered", answers},
		{"refusals tell when to retry", retries},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, a) })
	}
}

// resource returns the name that the adapter must give a route.
func (a Adapter) resource(method, pattern string) string {
	return tidehttp.Resource(method, a.Pattern(pattern))
}
