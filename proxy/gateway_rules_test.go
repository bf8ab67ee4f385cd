package proxy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const guardedRoutes = "upstreams: [{name: shop, urls: [UPSTREAM]}]\ntrustedProxies: [127.0.0.0/8, '::1']\nroutes:\n" +
	"- {pattern: '/r/{rest...}', upstream: shop, id: shop}\n- {pattern: /, upstream: shop}\n"

// with sends a request to the route shop, changed by edit, and returns its status.
func (g *gateway) with(path string, edit func(*http.Request)) int {
	g.t.Helper()
	r := g.request(http.MethodGet, path, nil)
	if edit != nil {
		edit(r)
	}
	response, _ := g.do(r)
	return response.StatusCode
}

// passing sends requests and returns how many were let in.
func (g *gateway) passing(n int, path string, edit func(*http.Request)) (passed int) {
	g.t.Helper()
	for range n {
		switch status := g.with(path, edit); status {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
		default:
			g.t.Errorf("%s: status %d", path, status)
		}
	}
	return passed
}

func setHeader(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// Each part of a request is counted by its values; requests without it do not concern the rule.
func TestGatewayRuleParts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		item   string
		set    func(value string) func(*http.Request)
		path   string // with %s for the value
		absent bool   // the part can be absent
	}{
		"client IP": {`"parseStrategy":0`, func(v string) func(*http.Request) {
			return setHeader("X-Forwarded-For", map[string]string{"a": "192.0.2.1", "b": "203.0.113.9", "": "192.0.2.77"}[v])
		}, "/r/x", false},
		"host": {`"parseStrategy":1`, func(v string) func(*http.Request) {
			return func(r *http.Request) { r.Host = "shop-" + v + ".example" }
		}, "/r/x", false},
		"header":        {`"parseStrategy":2,"fieldName":"x-tenant"`, func(v string) func(*http.Request) { return setHeader("X-Tenant", v) }, "/r/x", true},
		"URL parameter": {`"parseStrategy":3,"fieldName":"user"`, func(string) func(*http.Request) { return nil }, "/r/x?z=1&user=%s", true},
		"cookie":        {`"parseStrategy":4,"fieldName":"sid"`, func(v string) func(*http.Request) { return setHeader("Cookie", "other=1; sid="+v) }, "/r/x", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := run(t, guardedRoutes, `[{"resource":"shop","count":2,"intervalSec":600,"paramItem":{`+c.item+`}}]`, echo)
			for _, value := range []string{"a", "b", ""} {
				path := c.path
				if strings.Contains(path, "%s") {
					path = fmt.Sprintf(path, value)
				}
				if got := g.passing(4, path, c.set(value)); got != 2 {
					t.Errorf("value %q: %d of 4 passed, want 2", value, got)
				}
			}
			if got := g.passing(4, "/r/x", nil); c.absent && got != 4 {
				t.Errorf("without it: %d of 4 passed", got)
			}
			if got := g.passing(4, "/elsewhere", c.set("a")); got != 4 {
				t.Errorf("another route: %d of 4 passed", got)
			}
		})
	}
}

func TestGatewayRuleMatches(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		`"pattern":"abc"`:                      "abc",
		`"pattern":"abc","matchStrategy":1`:    "abc abcd",
		`"pattern":"b.","matchStrategy":2`:     "bc",
		`"pattern":"bc","matchStrategy":3`:     "abc abcd bc",
		`"pattern":"a.*|bc","matchStrategy":2`: "abc abcd bc",
	} {
		t.Run(item, func(t *testing.T) {
			t.Parallel()
			g := run(t, guardedRoutes, `[{"resource":"shop","intervalSec":600,"paramItem":{"parseStrategy":2,"fieldName":"X-K",`+item+`}}]`, echo)
			var limited []string
			for _, value := range []string{"abc", "abcd", "bc", "zz"} {
				if g.with("/r/x", setHeader("X-K", value)) == http.StatusTooManyRequests {
					limited = append(limited, value)
				}
			}
			if got := strings.Join(limited, " "); got != want {
				t.Errorf("limits %q, want %q", got, want)
			}
		})
	}
}

func TestGatewayRuleBehaviors(t *testing.T) {
	t.Parallel()
	t.Run("burst and interval", func(t *testing.T) {
		t.Parallel()
		g := run(t, guardedRoutes, `[{"resource":"shop","count":2,"burst":3,"intervalSec":600}]`, echo)
		if got := g.passing(8, "/r/x", nil); got != 5 {
			t.Errorf("%d of 8 passed, want 2 and a burst of 3", got)
		}
	})
	t.Run("interval over", func(t *testing.T) {
		t.Parallel()
		g := run(t, guardedRoutes, `[{"resource":"shop","count":1,"intervalSec":1}]`, echo)
		g.expect(http.StatusOK, "/r/x")
		eventually(t, "the next interval", 15*time.Second, func() bool { status, _ := g.get("/r/x"); return status == http.StatusOK })
	})
	t.Run("throttling", func(t *testing.T) {
		t.Parallel()
		g := run(t, guardedRoutes, `[{"resource":"shop","count":5,"controlBehavior":2,"maxQueueingTimeoutMs":10000}]`, echo)
		start := time.Now()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { g.expect(http.StatusOK, "/r/x") })
		}
		wg.Wait()
		if d := time.Since(start); d < 600*time.Millisecond {
			t.Errorf("4 requests took %v, want at least 600ms at 5 per second", d)
		}
	})
	t.Run("no queue", func(t *testing.T) {
		t.Parallel()
		g := run(t, guardedRoutes, `[{"resource":"shop","count":1,"intervalSec":600,"controlBehavior":2,"maxQueueingTimeoutMs":0}]`, echo)
		if got := g.passing(3, "/r/x", nil); got != 1 {
			t.Errorf("%d of 3 passed, want 1", got)
		}
	})
	t.Run("concurrency", func(t *testing.T) {
		t.Parallel()
		arrived, leave := make(chan struct{}), make(chan struct{})
		g := run(t, guardedRoutes, `[{"resource":"shop","grade":0,"count":1,"intervalSec":1}]`, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/r/held" {
				close(arrived)
				<-leave
			}
			echo(w, r)
		})
		var wg sync.WaitGroup
		wg.Go(func() { g.expect(http.StatusOK, "/r/held") })
		<-arrived
		g.expect(http.StatusTooManyRequests, "/r/x")
		close(leave)
		wg.Wait()
		eventually(t, "the place is free", 15*time.Second, func() bool { status, _ := g.get("/r/x"); return status == http.StatusOK })
	})
}

const groups = `{"gatewayFlowRules": [
	{"resource":"exact","resourceMode":1,"count":1,"intervalSec":600},
	{"resource":"prefix","resourceMode":1,"count":1,"intervalSec":600},
	{"resource":"ant","resourceMode":1,"count":1,"intervalSec":600},
	{"resource":"regex","resourceMode":1,"count":1,"intervalSec":600,"paramItem":{"parseStrategy":2,"fieldName":"X-K"}}],
"gatewayApiDefinitions": [
	{"apiName":"exact","predicateItems":[{"pattern":"/r/one"},{"pattern":"/two"}]},
	{"apiName":"prefix","predicateItems":[{"pattern":"/r/pre","matchStrategy":1}]},
	{"apiName":"ant","predicateItems":[{"pattern":"/ant/*/x/**","matchStrategy":1}]},
	{"apiName":"regex","predicateItems":[{"pattern":"/(re|gex)/[0-9]+","matchStrategy":2}]}]}`

// Paths of one group are limited together, across routes, and what a group refuses leaves nothing behind.
func TestAPIGroups(t *testing.T) {
	t.Parallel()
	g := run(t, guardedRoutes, groups, echo)
	tenant := setHeader("X-K", "t")
	for _, c := range []struct {
		path string
		want int
	}{
		{"/r/one", 200},
		{"/two", 429},
		{"/r/one/more", 200},
		{"/r/prefix/a", 200},
		{"/r/pre", 429},
		{"/r/pr", 200},
		{"/ant/a/x/b/c", 200},
		{"/ant/q/x", 429},
		{"/ant/a/b/x", 200},
		{"/ant/a%2Fx", 429},
		{"/re/1", 200},
		{"/gex/22", 429},
		{"/re/x", 200},
	} {
		if got := g.with(c.path, tenant); got != c.want {
			t.Errorf("%s: status %d, want %d", c.path, got, c.want)
		}
	}
	if got := g.passing(3, "/re/1", nil); got != 3 {
		t.Errorf("without the group's header: %d of 3 passed", got)
	}
	for _, resource := range []string{"shop", "GET:/", "exact", "prefix", "ant", "regex"} {
		eventually(t, resource+" is left", 15*time.Second, func() bool {
			s, ok := g.Engine().ResourceStats(resource)
			return ok && s.Active == 0
		})
	}
	s, _ := g.Engine().ResourceStats("exact")
	if s.TotalPass != 1 || s.TotalBlock != 1 {
		t.Errorf("group: %d passed, %d blocked, want 1 and 1", s.TotalPass, s.TotalBlock)
	}
	if s, _ := g.Engine().ResourceStats("GET:/"); s.TotalException != 0 {
		t.Errorf("%d failures of the route", s.TotalException)
	}
	for resource, entrance := range map[string]string{
		"shop": "sentinel_gateway_context$$route$$shop", "GET:/": "sentinel_gateway_context$$route$$GET:/",
		"exact": "sentinel_gateway_context$$route$$shop",
	} {
		if _, ok := g.Engine().ContextStats(resource, entrance); !ok {
			t.Errorf("%s was not entered in the context %s", resource, entrance)
		}
	}
}

// A route that an API group refuses is neither a success nor a failure for the route's breaker.
func TestGroupRefusalIsNoOutcome(t *testing.T) {
	t.Parallel()
	failing := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/r/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	g := run(t, guardedRoutes, `{"gatewayFlowRules":[{"resource":"closed","resourceMode":1,"count":0}],
		"gatewayApiDefinitions":[{"apiName":"closed","predicateItems":[{"pattern":"/r/closed"}]}],
		"degradeRules":[{"resource":"shop","grade":1,"count":0.9,"minRequestAmount":3,"statIntervalMs":60000,"timeWindow":60}]}`, failing)
	if got := g.passing(5, "/r/closed", nil); got != 0 {
		t.Errorf("%d of 5 passed a closed group", got)
	}
	for range 3 {
		g.expect(http.StatusInternalServerError, "/r/bad")
	}
	eventually(t, "the breaker opens", 15*time.Second, func() bool { status, _ := g.get("/r/good"); return status == http.StatusTooManyRequests })
}

// Gateway rules and API definitions come and go with their files.
func TestGatewayRulesReload(t *testing.T) {
	t.Parallel()
	g := run(t, guardedRoutes, `{}`, echo)
	if got := g.passing(3, "/r/one", nil); got != 3 {
		t.Errorf("without rules: %d of 3 passed", got)
	}
	status := func(want int, path string) func() bool {
		return func() bool { got, _ := g.get(path); return got == want }
	}
	const closed = `{"gatewayFlowRules":[{"resource":"all","resourceMode":1,"count":0}],"gatewayApiDefinitions":[{"apiName":"all","predicateItems":[%s]}]}`
	g.rewrite(fmt.Sprintf(closed, `{"pattern":"/**","matchStrategy":1}`))
	eventually(t, "the group is in force", 15*time.Second, status(http.StatusTooManyRequests, "/elsewhere"))
	g.rewrite(fmt.Sprintf(closed, `{"pattern":"/r/two"}`))
	eventually(t, "the group is smaller", 15*time.Second, status(http.StatusOK, "/elsewhere"))
	g.expect(http.StatusTooManyRequests, "/r/two")
	g.expect(http.StatusOK, "/r/one")
	g.rewrite(`{}`)
	eventually(t, "nothing is limited", 15*time.Second, status(http.StatusOK, "/r/two"))
}

// Arrays of gateway rules and of API definitions are told apart by their members.
func TestGatewayRuleArrays(t *testing.T) {
	t.Parallel()
	u := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(u.Close)
	dir := write(t, map[string]string{
		"gateway.yaml": "listen: 127.0.0.1:0\nrules: [rules.json, api.json]\n" + strings.ReplaceAll(guardedRoutes, "UPSTREAM", u.URL),
		"rules.json":   `[{"resource":"shop","count":1e6,"intervalSec":1}]`, "api.json": `[{"apiName":"one","predicateItems":[{"pattern":"/r/one"}]}]`,
	})
	g := start(t, dir)
	g.expect(http.StatusOK, "/r/one")
	g.rewrite(`[{"resource":"shop","count":1e6,"intervalSec":1},{"resource":"one","resourceMode":1,"count":0}]`)
	eventually(t, "the rule of the group is in force", 15*time.Second, func() bool {
		status, _ := g.get("/r/one")
		return status == http.StatusTooManyRequests
	})
	g.expect(http.StatusOK, "/r/two")
}

func (g *gateway) rewrite(rules string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "new.json"), []byte(rules), 0o600); err != nil {
		g.t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(g.dir, "new.json"), filepath.Join(g.dir, "rules.json")); err != nil {
		g.t.Fatal(err)
	}
}
