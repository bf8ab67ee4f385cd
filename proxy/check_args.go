package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidegate-go/tidegate/adapter/tidehttp"
)

func (c *Config) checkArgs(p *problems) {
	routes := len(c.Routes) > 0 && !p.within("routes")
	first := map[string]int{}
	for i, text := range c.Args {
		at := fmt.Sprintf("args[%d]", i)
		if p.about(at) {
			continue
		}
		if err := c.checkArg(text, routes); err != nil {
			p.add(at, "%v", err)
			continue
		}
		same := text
		if source, name, found := strings.Cut(text, ":"); found && source == "header" {
			same = "header:" + http.CanonicalHeaderKey(name)
		}
		if before, again := first[same]; again {
			p.add(at, "%s is args[%d] already", text, before)
			continue
		}
		first[same] = i
	}
}

// checkArg says what is wrong with an argument; routes says that the routes could be read.
func (c *Config) checkArg(text string, routes bool) error {
	if _, err := tidehttp.ParseArg(text); err != nil {
		return err
	}
	switch source, name, found := strings.Cut(text, ":"); {
	case !found && text != "ip" && routes:
		known := c.wildcards()
		if slices.Contains(known, text) {
			return nil
		}
		if len(known) == 0 {
			return fmt.Errorf("no route's pattern has a wildcard, so there is none named %q; other arguments are query:NAME, header:NAME, cookie:NAME and ip", text)
		}
		return fmt.Errorf("no route's pattern has a wildcard named %q; there is %s", text, strings.Join(known, ", "))
	case (source == "header" || source == "cookie") && found && !isToken(name):
		return fmt.Errorf("%q is no name of a %s", name, source)
	}
	return nil
}

// wildcards returns the names of the wildcards in the routes' patterns.
func (c *Config) wildcards() []string {
	var names []string
	for i := range c.Routes {
		for rest := c.Routes[i].Pattern; ; {
			_, after, found := strings.Cut(rest, "{")
			name, next, closed := strings.Cut(after, "}")
			if !found || !closed {
				break
			}
			rest = next
			if name = strings.TrimSuffix(name, "..."); name != "$" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// isToken reports whether the text is what HTTP allows as the name of a header or cookie.
func isToken(text string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		return !letter && !strings.ContainsRune(marks, c)
	})
}
