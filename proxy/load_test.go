package proxy_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/proxy"
)

// write writes files into a new directory and returns it.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const least = `listen: 127.0.0.1:8080
upstreams: [{name: shop, urls: [http://127.0.0.1:9000]}]
routes: [{pattern: /orders/{id}, upstream: shop}]
rules: [rules.json]
`

func TestLoadLeast(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"gateway.yaml": least, "rules.json": "[]"})
	c, err := proxy.Load(filepath.Join(dir, "gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Routes[0].Pattern != "/orders/{id}" || c.Upstreams[0].URLs[0] != "http://127.0.0.1:9000" {
		t.Errorf("read %+v", c)
	}
}

const full = `
listen: ":0"
upstreams:
  - name: shop
    urls:
      - http://127.0.0.1:9000/base
      - https://shop.example
    preserveHost: true
    dialTimeout: 1s
    responseTimeout: 0s
    health: {errorRatio: 0.2, minRequests: 3, window: 5s, recovery: 2s, maxEjected: 0.5, check: 100ms, statuses: [503]}
routes:
  - {pattern: "GET /a/{x...}", upstream: shop, id: "achang:1", stripPrefix: /a, timeout: 3s}
  - {pattern: /{$}, method: POST, upstream: shop}
  - pattern: shop.example/b/{y}/
    upstream: shop
rules: [one.json, two.yaml]
origin: {header: X-App}
args: [query:user, header:X-Tenant, cookie:s, ip, x]
trustedProxies: [10.0.0.0/8, "::1"]
forwarded: true
block: {status: 503, body: busy, contentType: text/plain}
timeouts: {readHeader: 1s, idle: 1m, shutdown: 5s}
limits: {header: 16KiB, body: 1048576}
engine: {app: shop, interval: 2s, buckets: 4, occupyTimeout: 1s, coldFactor: 5}
cluster:
  server: 10.0.0.1:18730
  namespace: shops
  identity: gw-1
  timeout: 50ms
  maxTimeouts: 5
  coalesce: true
  secretFile: two.yaml
  embedded: {machine: gw-1, listen: ":18731", insecure: false, idle: 1m, maxConnsPerIP: 100, maxQps: 1000, exceedCount: 1.5, maxOccupyRatio: 0.5}
`

func TestLoadFull(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"g.yaml": full, "one.json": `{"flowRules":[]}`, "two.yaml": "- {resource: a, count: 1}\n"})
	c, err := proxy.Load(filepath.Join(dir, "g.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if time.Duration(*c.Engine.Interval) != 2*time.Second || *c.Limits.Header != 16<<10 || *c.Upstreams[0].Health.ErrorRatio != 0.2 ||
		c.Routes[0].ID != "achang:1" || time.Duration(*c.Routes[0].Timeout) != 3*time.Second || *c.Upstreams[0].Response != 0 ||
		time.Duration(*c.Cluster.Timeout) != 50*time.Millisecond || !c.Cluster.Coalesce || c.Cluster.Embedded.Machine != "gw-1" || *c.Cluster.Embedded.MaxQPS != 1000 {
		t.Errorf("read %+v", c)
	}
}

// Every mistake is named by line and member, all at once.
func TestLoadMistakes(t *testing.T) {
	t.Parallel()
	const good = "listen: 127.0.0.1:0\nupstreams: [{name: a, urls: [http://h:1]}]\nroutes: [{pattern: /, upstream: a}]\n"
	for name, c := range map[string]struct {
		text string
		want []string // beginnings of the lines of the error, without the file
	}{
		"empty": {"", []string{
			"1: listen: is missing", "1: upstreams: is missing", "1: routes: is missing",
		}},
		"not a mapping":       {"[1]", []string{"1: must be members"}},
		"not YAML":            {"listen: 'x\n", []string{"1: not YAML"}},
		"not YAML in a block": {good + "limits:\n  body: 1\n header: 1\n", []string{"6: not YAML"}},
		"two documents":       {good + "---\nlisten: x\n", []string{"4: not YAML: there is a second document"}},
		"several": {"listen: here\nlisten: again\nupstreams:\n- name: a\n  urls: []\n- name: a\n  urls: [ftp://h, 'http://h?q', 'http://h:99999', 7]\n" +
			"  colour: red\nroutes:\n- pattern: /{x\n  upstream: b\n- {upstream: a, pattern: [1]}\nextra: 1\n", []string{
			"1: listen: must be host:port",
			"2: listen: is there twice",
			"5: upstreams[0].urls: is missing",
			`6: upstreams[1].name: "a" is the name of upstreams[0]`,
			"7: upstreams[1].urls[0]: must be a URL", "7: upstreams[1].urls[1]: \"http://h?q\" must have no",
			"7: upstreams[1].urls[2]: port", "7: upstreams[1].urls[3]: must be a URL",
			"8: upstreams[1].colour: unknown member; there are name, urls",
			"10: routes[0].pattern: ", `11: routes[0].upstream: there is no upstream "b"; there is a`,
			"12: routes[1].pattern: must be a text, not a list",
			"13: extra: unknown member; there are listen",
		}},
		"types": {good + "timeouts: {idle: 5, readHeader: -1s}\nlimits: {body: lots, header: 1}\nengine: {buckets: two, coldFactor: 1}\nforwarded: maybe\nblock: 429\n", []string{
			"4: timeouts.idle: must be a time with unit such as 500ms, 2s or 1m, not \"5\"", "4: timeouts.readHeader: must not be negative",
			"5: limits.body: must be a number of bytes", "5: limits.header: must be at least",
			"6: engine.buckets: must be a whole number", "7: forwarded: must be true or false", "8: block: must be members",
		}},
		"engine": {good + "engine:\n  interval: 1s\n  buckets: 3\n  coldFactor: 1\n  occupyTimeout: 2s\n", []string{
			"5: engine.interval: ", "7: engine.coldFactor: ", "8: engine.occupyTimeout: ",
		}},
		"conflict": {
			"listen: :0\nupstreams: [{name: a, urls: [http://h:1]}]\nroutes:\n- {pattern: \"/a/{x}\", upstream: a}\n- {pattern: \"/{y}/b\", upstream: a}\n- {pattern: \"GET /z\", method: GET, upstream: a}\n- {pattern: /m, method: get, upstream: a}\n",
			[]string{"5: routes[1].pattern: \"/{y}/b\" conflicts with \"/a/{x}\" of routes[0]: /{y}/b and /a/{x} both match some paths", "6: routes[2].pattern: has a method already", "7: routes[3].method: must be a method"},
		},
		"rules": {good + "rules:\n- absent.json\n- bad.json\n- good.json\n- ./good.json\n- bad.yaml\n- block.yaml\n", []string{
			"5: rules[0]: ", "6: rules[1]: ", "8: rules[3]: ./good.json is rules[2]", "9: rules[4]: ", "10: rules[5]: ",
		}},
		"same route": {
			"listen: :0\nupstreams: [{name: shop, urls: [http://h:1]}, {urls: [http://h:1]}, {name: shop, urls: [http://h:1]}]\nroutes:\n- {pattern: /a, method: GET, upstream: nope}\n- {pattern: GET /a, upstream: shop}\n",
			[]string{"2: upstreams[1].name", "2: upstreams[2].name", "4: routes[0].upstream: there is no upstream \"nope\"; there is shop\n", "5: routes[1].pattern: \"GET /a\" conflicts with \"GET /a\" of routes[0]: "},
		},
		"args": {good + "args:\n- query:a\n- id\n- header:a b\n- cookie:a=b\n- header:x-a\n- header:X-A\n- query:a\n- ip\norigin: {header: 'X A'}\n", []string{
			"6: args[1]: no route's pattern has a wildcard, so there is none named \"id\"", "7: args[2]: \"a b\" is no name of a header", "8: args[3]: \"a=b\" is no name of a cookie",
			"10: args[5]: header:X-A is args[4] already", "11: args[6]: query:a is args[0] already", "13: origin.header: \"X A\" is no name",
		}},
		"wildcards": {
			"listen: :0\nupstreams: [{name: a, urls: [http://h:1]}]\nroutes: [{pattern: '/{x}/{y...}', upstream: a}, {pattern: '/z/{$}', upstream: a}]\nargs: [y, z, x]\n",
			[]string{"4: args[1]: no route's pattern has a wildcard named \"z\"; there is x, y"},
		},
		"no window": {good + "engine: {interval: 0s, buckets: 0, occupyTimeout: 1s}\n", []string{"4: engine.buckets: must be at least 1", "4: engine.interval: must be above 0"}},
		"statuses": {
			"listen: :0\nupstreams:\n- name: a\n  urls: [http://h:1]\n  health:\n    statuses: [99, abc, 503]\nroutes: [{pattern: /, upstream: a}]\n",
			[]string{"6: upstreams[0].health.statuses[0]: must be a status", "6: upstreams[0].health.statuses[1]: must be a whole number"},
		},
		"caller": {good + "origin: {header: X, clientIP: true}\nargs: [body:x]\ntrustedProxies: [10.0.0.0/99]\n", []string{
			"4: origin: must have one of", "5: args[0]: unknown source", "6: trustedProxies[0]: must be a network",
		}},
		"health": {
			"listen: :0\nupstreams:\n- name: a\n  urls: [http://h:1]\n  health:\n    errorRatio: 1.5\n    recovery: 1500ms\n    minRequests: 0\n    statuses: [7]\nroutes: [{pattern: /, upstream: a}]\n",
			[]string{"6: upstreams[0].health.errorRatio", "7: upstreams[0].health.recovery", "8: upstreams[0].health.minRequests", "9: upstreams[0].health.statuses[0]"},
		},
		"beside each other": {good + "engine: {what: 1, coldFactor: 1, buckets: x}\nblock: {status: 7, who: me}\n", []string{
			"4: engine.what", "4: engine.coldFactor", "4: engine.buckets", "5: block.status", "5: block.who",
		}},
		"tls": {good + "tls: {cert: a.pem}\norigin: {tls: issuer}\n", []string{"4: tls.key: is missing", "5: origin.tls: must be subject or name"}},
		"cluster": {good + "cluster:\n  server: tokens\n  namespace: ' '\n  identity: a-$TIDEGATE_NO_SUCH_NAME\n  timeout: 1500us\n  maxTimeouts: -1\n  coalesce: 1\n" +
			"  secretFile: none\n  tls: {ca: bad.json, key: k, colour: red}\n", []string{
			"5: cluster.server: must be host:port with a port from 1 to 65535, not \"tokens\"", "6: cluster.namespace: must not be blank",
			"7: cluster.identity: the environment has no TIDEGATE_NO_SUCH_NAME", "8: cluster.timeout: must be whole milliseconds", "9: cluster.maxTimeouts: must be at least 0",
			"10: cluster.coalesce: must be true or false", "11: cluster.secretFile: ", "12: cluster.tls.colour: unknown member; there are ca, cert, key, clientCA, serverName",
			"12: cluster.tls.cert: is missing; give the certificate of cluster.tls.key",
		}},
		"cluster files": {good + "cluster:\n  server: :18730\n  secretFile: empty\n  tls:\n    ca: bad.json\n    cert: a.pem\n    key: b.pem\n    clientCA: bad.json\n", []string{
			"5: cluster.server: must name the host", "6: cluster.secretFile: ", "8: cluster.tls.ca: has no certificate in PEM form", "9: cluster.tls.cert: ", "11: cluster.tls.clientCA: has no certificate",
		}},
		"cluster key":   {good + "cluster:\n  tls:\n    cert: a.pem\n", []string{"5: cluster.tls.key: is missing"}},
		"cluster empty": {good + "cluster: []\n", []string{"4: cluster: must be members with values (server, namespace"}},
		"embedded": {good + "cluster:\n  server: h:1\n  tls: {}\n  embedded:\n    listen: 10.0.0.1:0\n    idle: 1500ms\n    maxConnsPerIP: -1\n    maxQps: -1\n    exceedCount: .inf\n    maxOccupyRatio: .nan\n", []string{
			"6: cluster.tls.cert: is missing; an embedded token server", "7: cluster.embedded.machine: is missing", "8: cluster.embedded.listen: must be host:port", "9: cluster.embedded.idle: must be whole seconds",
			"10: cluster.embedded.maxConnsPerIP: must not be negative", "11: cluster.embedded.maxQps: must be a number of at least 0, not -1",
			"12: cluster.embedded.exceedCount: must be a number of at least 0", "13: cluster.embedded.maxOccupyRatio: must be a number",
		}},
		"embedded for all":    {good + "cluster:\n  embedded:\n    listen: ':18730'\n", []string{"6: cluster.embedded.listen: every address of the host is not a loopback address"}},
		"embedded for others": {good + "cluster:\n  embedded: {machine: a}\n", []string{"4: cluster.server: is missing; the gateways that are not"}},
		"embedded at address": {good + "cluster:\n  server: 10.0.0.1:18730\n  embedded: {machine: a}\n", []string{"6: cluster.embedded.listen: every address of the host is not a loopback address"}},
		"loop":                {good + "args: &a [*a]\n", []string{"4: args[0]: must be a text, not a list"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{"g.yaml": c.text, "empty": "\n", "bad.json": "{", "good.json": "[]", "bad.yaml": "- a: [\n", "block.yaml": "- a: 1\n  b: 1\n c: 1\n"})
			file := filepath.Join(dir, "g.yaml")
			_, err := proxy.Load(file)
			if _, ok := errors.AsType[*proxy.ConfigError](err); !ok {
				t.Fatalf("error %v, want a *ConfigError", err)
			}
			lines := strings.Split(err.Error(), "\n")
			for _, want := range c.want {
				found := false
				for _, line := range lines {
					found = found || strings.HasPrefix(line+"\n", file+":"+want)
				}
				if !found {
					t.Errorf("no mistake %q in\n%v", want, err)
				}
			}
			if name != "types" && name != "tls" && len(lines) != len(c.want) {
				t.Errorf("%d mistakes, want %d:\n%v", len(lines), len(c.want), err)
			}
		})
	}
}

func TestLoadMissingFile(t *testing.T) {
	t.Parallel()
	var mistakes *proxy.ConfigError
	if _, err := proxy.Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.As(err, &mistakes) {
		t.Errorf("error %v, want a *ConfigError", err)
	}
}

// A configuration made in Go is checked by New.
func TestNewChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []*proxy.Config{nil, {}, {Listen: "127.0.0.1:0", Upstreams: []proxy.Upstream{{Name: "a"}}}} {
		var mistakes *proxy.ConfigError
		if _, err := proxy.New(c); !errors.As(err, &mistakes) {
			t.Errorf("%+v: error %v, want a *ConfigError", c, err)
		}
	}
}
