// Package tidehttp guards net/http servers and clients.
//
// A server puts [Middleware] around its mux, or around single handlers of one:
//
//	mux := http.NewServeMux()
//	mux.HandleFunc("GET /orders/{id}", order)
//	guarded := tidehttp.Middleware(tidehttp.WithEngine(engine))(mux)
//
// The resource of a request is its method and the path of the pattern that matches it, such as
// GET:/orders/{id}, never the path that was requested. Requests that no pattern matches, and those that the mux
// redirects to another path, share METHOD:unmatched; methods that HTTP does not define count as OTHER.
//
// Rules about hot parameters see path wildcards under their own name, and what [WithArgs] lists as query:NAME,
// header:NAME, cookie:NAME and ip. A refused request is answered by [WriteBlock], unless [WithBlockHandler] says
// otherwise. The call of an admitted one ends with the handler: answers of 500 and above are failures, and so is a
// panic, which goes on unchanged; a request whose client left says nothing about the resource.
//
// A client wraps its transport with [Transport].
//
// White lists of callers (authority rules) should say strict: without an origin extractor, or from a caller that
// sends none, the origin is unknown.
package tidehttp
