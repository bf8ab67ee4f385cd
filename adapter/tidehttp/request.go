package tidehttp

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/tidegate-go/tidegate"
	"github.com/tidegate-go/tidegate/chain"
)

// request is what gateway rules see of a request. A part that is there but empty is not absent.
type request struct {
	*http.Request

	proxies *Proxies
}

// ClientIP returns the client's address, seen through trusted proxies.
func (q request) ClientIP() (string, bool) {
	address := q.proxies.ClientIP(q.Request)
	return address, address != ""
}

// Host returns the host that the client asked for, as it wrote it, with the port if it gave one.
func (q request) Host() (string, bool) { return q.Request.Host, q.Request.Host != "" }

// Header returns the first value of a header.
func (q request) Header(name string) (string, bool) {
	name = http.CanonicalHeaderKey(name)
	if name == "Host" {
		return q.Host()
	}
	if values := q.Request.Header[name]; len(values) > 0 {
		return values[0], true
	}
	return "", false
}

// URLParam returns the first value of a parameter of the query.
func (q request) URLParam(name string) (string, bool) { return queryValue(q.Request, name) }

// Cookie returns the value of the first cookie of that name.
func (q request) Cookie(name string) (string, bool) {
	cookie, err := q.Request.Cookie(name)
	if err != nil {
		return "", false
	}
	return cookie.Value, true
}

// errGroupRefused ends a call that was let in when an API group of the same request refuses it. It says nothing about
// the resource, as when the client leaves.
var errGroupRefused = fmt.Errorf("an API group of the request refused it: %w", context.Canceled)

// admission is what a request that was let in has to exit: its resource, and the API groups that its path belongs to.
type admission struct {
	entry  tidegate.Entry
	groups []tidegate.Entry
}

// exit ends the calls, the last one first.
func (a *admission) exit(err error) {
	for _, group := range slices.Backward(a.groups) {
		group.Exit(err)
	}
	a.entry.Exit(err)
}

// enterGroups enters the API groups of the request. If one refuses, nothing of the request stays entered.
func (g *guard) enterGroups(r *http.Request, call tidegate.Call, a *admission) error {
	if r.URL == nil || r.RequestURI == "*" {
		return nil
	}
	call.Group, call.Type = true, chain.TypeGateway
	for _, name := range g.engine.APIGroups(cleanPath(r.URL.Path)) {
		entry, err := g.engine.Enter(r.Context(), name, call)
		if err != nil {
			a.exit(errGroupRefused)
			return err
		}
		a.groups = append(a.groups, entry)
	}
	return nil
}
