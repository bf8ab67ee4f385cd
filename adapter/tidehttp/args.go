package tidehttp

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidegate-go/tidegate"
)

// Arg says where an argument for rules about hot parameters comes from. Make one with Wildcard, Query, Header,
// Cookie, IP, ArgFunc or ParseArg; the zero value is an argument without name and value.
//
// An argument that a request does not have keeps its place in the list, without a value, so that rules which
// name it by position find the right one.
type Arg struct {
	name   string // as rules name it
	key    string // of the query parameter, header or cookie
	source argSource
	read   func(*http.Request) (string, bool)
}

type argSource uint8

const (
	fromNowhere argSource = iota
	fromPath
	fromQuery
	fromHeader
	fromHost
	fromCookie
	fromIP
	fromFunc
)

// Wildcard is the path wildcard of that name. Wildcards that are not listed follow those that are; listing them
// gives them a place.
func Wildcard(name string) Arg { return Arg{name: name, key: name, source: fromPath} }

// Query is the first value of a query parameter; rules name it query:NAME.
func Query(name string) Arg { return Arg{name: "query:" + name, key: name, source: fromQuery} }

// Header is the first value of a header; rules name it header:NAME, spelled as here.
func Header(name string) Arg {
	a := Arg{name: "header:" + name, key: http.CanonicalHeaderKey(name), source: fromHeader}
	if a.key == "Host" {
		a.source = fromHost
	}
	return a
}

// Cookie is the value of a cookie; rules name it cookie:NAME.
func Cookie(name string) Arg { return Arg{name: "cookie:" + name, key: name, source: fromCookie} }

// IP is the client's address, seen through the proxies of WithProxies; rules name it ip.
func IP() Arg { return Arg{name: "ip", source: fromIP} }

// ArgFunc is an argument that a function reads; false means that the request does not have it.
func ArgFunc(name string, read func(*http.Request) (string, bool)) Arg {
	return Arg{name: name, source: fromFunc, read: read}
}

// ParseArg reads an argument as configurations write it: query:NAME, header:NAME, cookie:NAME, ip, or the name of
// a path wildcard.
func ParseArg(text string) (Arg, error) {
	if text == "ip" {
		return IP(), nil
	}
	source, name, found := strings.Cut(text, ":")
	switch {
	case text == "" || found && name == "":
		return Arg{}, fmt.Errorf("argument %q has no name; use query:NAME, header:NAME, cookie:NAME, ip or a path wildcard's name", text)
	case !found:
		return Wildcard(text), nil
	case source == "query":
		return Query(name), nil
	case source == "header":
		return Header(name), nil
	case source == "cookie":
		return Cookie(name), nil
	}
	return Arg{}, fmt.Errorf("unknown source %q of argument %q; use query:NAME, header:NAME, cookie:NAME, ip or a path wildcard's name", source, text)
}

// Name returns the name by which rules find the argument.
func (a Arg) Name() string { return a.name }

// appendArgs appends the arguments of the request.
func (g *guard) appendArgs(args []tidegate.Arg, r *http.Request, t route) []tidegate.Arg {
	for i := range g.args {
		args = append(args, g.arg(&g.args[i], r, t))
	}
	if t.pattern == nil {
		return args
	}
	for i, name := range t.pattern.wildcards {
		if !g.lists(name) {
			args = append(args, tidegate.String(name, t.value(r, i)))
		}
	}
	return args
}

func (c *config) lists(wildcard string) bool {
	for i := range c.args {
		if c.args[i].source == fromPath && c.args[i].key == wildcard {
			return true
		}
	}
	return false
}

func (g *guard) arg(a *Arg, r *http.Request, t route) tidegate.Arg {
	if a.source == fromPath && t.pattern != nil {
		for i, name := range t.pattern.wildcards {
			if name == a.key {
				return tidegate.String(name, t.value(r, i))
			}
		}
	}
	return g.config.arg(a, r)
}

// arg reads an argument that needs no route.
func (c *config) arg(a *Arg, r *http.Request) tidegate.Arg {
	value, ok := "", false
	switch a.source {
	case fromQuery:
		value, ok = queryValue(r, a.key)
	case fromHeader:
		if values := r.Header[a.key]; len(values) > 0 {
			value, ok = values[0], true
		}
	case fromHost:
		value, ok = r.Host, r.Host != ""
	case fromCookie:
		if cookie, err := r.Cookie(a.key); err == nil {
			value, ok = cookie.Value, true
		}
	case fromIP:
		value = c.proxies.ClientIP(r)
		ok = value != ""
	case fromFunc:
		if a.read != nil {
			value, ok = a.read(r)
		}
	case fromNowhere, fromPath:
	}
	if !ok {
		return tidegate.Any(a.name, nil)
	}
	return tidegate.String(a.name, value)
}

// queryValue finds the first value of a query parameter without taking the whole query apart.
func queryValue(r *http.Request, name string) (string, bool) {
	if r.URL == nil {
		return "", false
	}
	for query := r.URL.RawQuery; query != ""; {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		if strings.Contains(pair, ";") || !queryEqual(key, name) {
			continue
		}
		if plain, err := url.QueryUnescape(value); err == nil {
			return plain, true
		}
	}
	return "", false
}

func queryEqual(escaped, name string) bool {
	if escaped == name && !strings.ContainsAny(escaped, "%+") {
		return true
	}
	plain, err := url.QueryUnescape(escaped)
	return err == nil && plain == name
}
