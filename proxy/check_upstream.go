package proxy

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tidegate-go/tidegate/circuitbreaker"
)

func (c *Config) checkUpstreams(p *problems) {
	if len(c.Upstreams) == 0 && !p.about("upstreams") {
		p.add("upstreams", "is missing; name at least one, such as [{name: shop, urls: [http://127.0.0.1:9000]}]")
	}
	first := map[string]int{}
	for i := range c.Upstreams {
		u, at := &c.Upstreams[i], fmt.Sprintf("upstreams[%d]", i)
		switch before, again := first[u.Name]; {
		case p.about(at + ".name"):
		case u.Name == "":
			p.add(at+".name", "is missing")
		case again:
			p.add(at+".name", "%q is the name of upstreams[%d] already", u.Name, before)
		default:
			first[u.Name] = i
		}
		u.checkURLs(p, at+".urls")
		checkTime(p, at+".dialTimeout", u.Dial)
		checkTime(p, at+".responseTimeout", u.Response)
		u.Health.check(p, at+".health")
	}
}

func (u *Upstream) checkURLs(p *problems, at string) {
	if len(u.URLs) == 0 && !p.about(at) {
		p.add(at, "is missing; give at least one, such as http://127.0.0.1:9000")
	}
	for i, text := range u.URLs {
		member := fmt.Sprintf("%s[%d]", at, i)
		if p.about(member) {
			continue
		}
		if _, err := parseURL(text); err != nil {
			p.add(member, "%v", err)
		} else if slices.Contains(u.URLs[:i], text) {
			p.add(member, "%q is there twice", text)
		}
	}
}

// parseURL reads the URL of an instance.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("must be a URL such as http://127.0.0.1:9000, not %q", text)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("%q must have no user, query or fragment", text)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("port of %q must be from 1 to 65535", text)
		}
	}
	return u, nil
}

func (h *Health) check(p *problems, at string) {
	if p.about(at) {
		return
	}
	share := func(member string, value *float64) {
		if value != nil && (*value <= 0 || *value > 1) {
			p.add(at+member, "must be above 0 and at most 1, not %v", *value)
		}
	}
	share(".errorRatio", h.ErrorRatio)
	share(".maxEjected", h.MaxEjected)
	if h.MinRequests != nil && *h.MinRequests < 1 {
		p.add(at+".minRequests", "must be at least 1, not %d", *h.MinRequests)
	}
	if h.Window != nil && (*h.Window < Duration(time.Millisecond) || *h.Window > Duration(24*time.Hour)) {
		p.add(at+".window", "must be from 1ms to 24h, not %v", time.Duration(*h.Window))
	}
	if h.Recovery != nil && (*h.Recovery < Duration(time.Second) || *h.Recovery%Duration(time.Second) != 0) {
		p.add(at+".recovery", "must be whole seconds, at least 1s, not %v", time.Duration(*h.Recovery))
	}
	checkTime(p, at+".check", h.Check)
	for i, status := range h.Statuses {
		member := fmt.Sprintf("%s.statuses[%d]", at, i)
		if (status < 100 || status > 599) && !p.about(member) {
			p.add(member, "must be a status from 100 to 599, not %d", status)
		}
	}
}

// rule returns the breaker rule of the instances.
func (h *Health) rule(upstream string) circuitbreaker.Rule {
	return circuitbreaker.Rule{
		Resource: "upstream:" + upstream, Disabled: h.Disabled, Grade: circuitbreaker.ErrorRatio,
		Count: or(h.ErrorRatio, 0.5), MinRequestAmount: or(h.MinRequests, 5),
		TimeWindow:     int(time.Duration(or(h.Recovery, Duration(5*time.Second))) / time.Second),
		StatIntervalMs: time.Duration(or(h.Window, Duration(10*time.Second))).Milliseconds(),
	}
}
