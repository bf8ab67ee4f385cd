package proxy_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster"
	tokenclient "github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
	"github.com/tidegate-go/tidegate/proxy"
)

// fleet is the directory of one configuration that several gateways have.
type fleet struct {
	t   *testing.T
	dir string
}

// newFleet writes the configuration: two routes, the cluster settings and the rules.
func newFleet(t *testing.T, settings, rules string, more ...string) *fleet {
	t.Helper()
	u := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(u.Close)
	files := map[string]string{"rules.json": rules, "gateway.yaml": "listen: 127.0.0.1:0\nrules: [rules.json]\nengine: {app: fleet}\nargs: [header:X-Tenant]\n" +
		"upstreams: [{name: shop, urls: [" + u.URL + "]}]\nroutes:\n- {pattern: /r, upstream: shop, id: r}\n- {pattern: /p, upstream: shop, id: p}\n" + settings}
	for i := 0; i+1 < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return &fleet{t, write(t, files)}
}

// gateway starts one of the gateways. Its identity is only its own.
func (f *fleet) gateway(identity string) *gateway {
	f.t.Helper()
	g := f.made(identity)
	if err := g.Start(); err != nil {
		f.t.Fatal(err)
	}
	g.url = "http://" + g.Addr().String()
	return g
}

func (f *fleet) made(identity string) *gateway {
	f.t.Helper()
	c, err := proxy.Load(filepath.Join(f.dir, "gateway.yaml"))
	if err != nil {
		f.t.Fatal(err)
	}
	c.Cluster.Identity = identity
	g := &gateway{t: f.t, dir: f.dir, log: &syncBuffer{}}
	if g.Server, err = proxy.New(c, proxy.WithLogger(slog.New(slog.NewTextHandler(g.log, nil)))); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = g.Stop(context.Background()) })
	return g
}

// reaches waits until the gateway has that role.
func (g *gateway) reaches(mode cluster.Mode) cluster.Status {
	g.t.Helper()
	var s cluster.Status
	eventually(g.t, "the role "+mode.String(), time.Minute, func() bool {
		s = g.Cluster()
		return s.Mode == mode && s.InForce == mode && (s.Phase == cluster.PhaseRunning || mode == cluster.ModeNone)
	})
	return s
}

// together sends requests to all gateways at the same time and returns how many passed.
func together(gateways []*gateway, each int, path string, edit func(*http.Request)) int {
	var passed atomic.Int64
	var done sync.WaitGroup
	for _, g := range gateways {
		for range 2 {
			done.Go(func() { passed.Add(int64(g.passing(each/2, path, edit))) })
		}
	}
	done.Wait()
	return int(passed.Load())
}

// inMinute makes a rule of 30 requests of all gateways in a minute.
func inMinute(resource string, id int, more string) string {
	return fmt.Sprintf(`{"resource":%q,"count":0.5,"clusterMode":true,"clusterConfig":{"flowId":%d,"thresholdType":1,"windowIntervalMs":60000,"fallbackPolicy":"block"}%s}`, resource, id, more)
}

var shared = `"flowRules":[` + inMinute("r", 1, "") + `],"paramFlowRules":[` + inMinute("p", 2, `,"paramIdx":0`) + `]`

// tokenServer is a token server of its own process, for all that the gateways see.
func tokenServer(t *testing.T, addr string, count float64, window int, opts ...server.Option) (*server.Server, string) {
	t.Helper()
	service := token.New()
	c := &chain.ClusterConfig{FlowID: 1, ThresholdType: chain.ThresholdGlobal, WindowIntervalMs: window}
	service.LoadFlow("fleet", []flow.Rule{{Resource: "r", Count: count, ClusterMode: true, ClusterConfig: c}})
	index, param := 0, *c
	param.FlowID = 2
	service.LoadParam("fleet", []hotspot.Rule{{Resource: "p", ParamIdx: &index, Count: count, ClusterMode: true, ClusterConfig: &param}})
	s := server.New(service, opts...)
	bound, err := s.Listen(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, bound.String()
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func TestGatewaysShareALimit(t *testing.T) {
	t.Parallel()
	for name, coalesce := range map[string]string{"single": "false", "coalesced": "true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, addr := tokenServer(t, "127.0.0.1:0", 0.5, 60_000)
			f := newFleet(t, "cluster: {server: '"+addr+"', timeout: 30s, coalesce: "+coalesce+"}\n", "{"+shared+"}")
			gateways := []*gateway{f.gateway("a"), f.gateway("b"), f.gateway("c")}
			for _, g := range gateways {
				g.reaches(cluster.ModeClient)
			}
			if got := together(gateways, 20, "/r", nil); got != 30 {
				t.Errorf("%d of 60 requests passed three gateways, want 30", got)
			}
			for _, tenant := range []string{"x", "y"} {
				if got := together(gateways, 20, "/p", setHeader("X-Tenant", tenant)); got != 30 {
					t.Errorf("%d of 60 requests of tenant %s passed three gateways, want 30", got, tenant)
				}
			}
		})
	}
}

// The same configuration makes one gateway the token server and the others its clients.
func TestOneGatewayIsTheTokenServer(t *testing.T) {
	t.Parallel()
	ca, cert, key := certificate(t)
	for name, more := range map[string]string{
		"open": "", "secret": "  secretFile: secret\n", "TLS": "  tls: {ca: ca.pem, cert: cert.pem, key: key.pem, clientCA: ca.pem}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "cluster:\n  server: "+freeAddr(t)+"\n  timeout: 30s\n  embedded: {machine: a, maxQps: 100000}\n"+more, "{"+shared+"}",
				"secret", "a secret of the fleet\n", "ca.pem", ca, "cert.pem", cert, "key.pem", key)
			gateways := []*gateway{f.gateway("a"), f.gateway("b"), f.gateway("c")}
			s := gateways[0].reaches(cluster.ModeServer)
			if s.Decisions.Namespaces[0].Config.MaxAllowedQPS != 100000 {
				t.Errorf("%+v", s.Decisions.Namespaces)
			}
			for _, g := range gateways[1:] {
				g.reaches(cluster.ModeClient)
			}
			if got := together(gateways, 20, "/r", nil); got != 30 {
				t.Errorf("%d of 60 requests passed three gateways, want 30", got)
			}
			if got := together(gateways, 20, "/p", setHeader("X-Tenant", "x")); got != 30 {
				t.Errorf("%d of 60 requests of a tenant passed three gateways, want 30", got)
			}
		})
	}
}

// A gateway's token server decides its gateway rules too: those for all requests, and those for a part of them.
func TestGatewayRulesShareALimit(t *testing.T) {
	t.Parallel()
	const rules = `{"gatewayFlowRules":[
		{"resource":"r","count":30,"intervalSec":60,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1,"fallbackPolicy":"block"}},
		{"resource":"p","count":30,"intervalSec":60,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1,"fallbackPolicy":"block"},
			"paramItem":{"parseStrategy":2,"fieldName":"X-Tenant"}}]}`
	f := newFleet(t, "cluster:\n  server: "+freeAddr(t)+"\n  timeout: 30s\n  embedded: {machine: a}\n", rules)
	gateways := []*gateway{f.gateway("a"), f.gateway("b"), f.gateway("c")}
	gateways[0].reaches(cluster.ModeServer)
	for _, g := range gateways[1:] {
		g.reaches(cluster.ModeClient)
	}
	if got := together(gateways, 20, "/r", nil); got != 30 {
		t.Errorf("%d of 60 requests passed three gateways, want 30", got)
	}
	for _, tenant := range []string{"x", "y"} {
		if got := together(gateways, 20, "/p", setHeader("X-Tenant", tenant)); got != 30 {
			t.Errorf("%d of 60 requests of tenant %s passed three gateways, want 30", got, tenant)
		}
	}
	if got := together(gateways, 20, "/p", nil); got != 60 {
		t.Errorf("%d of 60 requests without tenant passed, and no rule concerns them", got)
	}
}

// The cluster map in the rule document goes before the configuration, moves the token server while the gateways run, and losing
// it changes nothing.
func TestClusterMapInRules(t *testing.T) {
	t.Parallel()
	addrs := []string{freeAddr(t), freeAddr(t)}
	mapped := func(machine, addr, clients string) string {
		_, port, _ := net.SplitHostPort(addr)
		return `{` + shared + `,"cluster":{"map":[{"machineId":"` + machine + `","ip":"127.0.0.1","port":` + port + `,"clientSet":[` + clients + `]}]}}`
	}
	f := newFleet(t, "cluster: {server: '127.0.0.1:9', timeout: 30s}\n", mapped("a", addrs[0], `"b","c"`))
	a, b, c := f.gateway("a"), f.gateway("b"), f.gateway("c")
	rewrite := func(text string) {
		if err := os.WriteFile(filepath.Join(f.dir, "rules.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.reaches(cluster.ModeServer)
	b.reaches(cluster.ModeClient)
	c.reaches(cluster.ModeClient)
	if got := together([]*gateway{a, b, c}, 20, "/r", nil); got != 30 {
		t.Errorf("%d of 60 requests passed three gateways, want 30", got)
	}
	rewrite(mapped("b", addrs[1], `"a","c"`))
	b.reaches(cluster.ModeServer)
	a.reaches(cluster.ModeClient)
	eventually(t, "c asks b", time.Minute, func() bool { s := c.reaches(cluster.ModeClient); return s.Client.Server == addrs[1] })
	if got := together([]*gateway{a, b, c}, 20, "/r", nil); got != 30 {
		t.Errorf("%d of 60 requests passed by another token server, want 30", got)
	}
	rewrite("{" + shared + "}")
	eventually(t, "the loss is seen", time.Minute, func() bool { return !b.Cluster().Document.Present && !a.Cluster().Document.Present })
	b.reaches(cluster.ModeServer)
	if s := a.reaches(cluster.ModeClient); s.Assignment != addrs[1] {
		t.Errorf("%+v", s)
	}
	rewrite(`{` + shared + `,"cluster":{"map":[],"clientConfig":{"requestTimeout":0}}}`)
	a.reaches(cluster.ModeNone)
	b.reaches(cluster.ModeNone)
	if !strings.Contains(a.log.String(), "cluster settings refused") || !strings.Contains(a.log.String(), "clientConfig.requestTimeout") {
		t.Errorf("the bad part is not told: %s", a.log.String())
	}
}

// A token server that goes and comes back costs no request more than its timeout, and is asked again.
func TestTokenServerComesAndGoes(t *testing.T) {
	t.Parallel()
	s, addr := tokenServer(t, "127.0.0.1:0", 20, 1000)
	rules := `[{"resource":"r","count":20,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1}}]`
	f := newFleet(t, "cluster: {server: '"+addr+"', timeout: 200ms}\n", rules)
	first, second := f.gateway("a"), f.gateway("b")
	first.reaches(cluster.ModeClient)
	if n := second.reaches(cluster.ModeClient).Client.Connected; n != 2 {
		t.Fatalf("%d gateways connected, want 2", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server is gone", time.Minute, func() bool { return second.Cluster().Phase == cluster.PhaseFailed })
	begun, passed := time.Now(), 0
	for range 40 {
		at := time.Now()
		passed += second.passing(1, "/r", nil)
		if took := time.Since(at); took > 3*time.Second {
			t.Errorf("a request took %v", took)
		}
	}
	if most := 10 * (2 + int(time.Since(begun)/time.Second)); passed < 10 || passed > most {
		t.Errorf("%d requests passed, want the share of 10 in a second, at most %d", passed, most)
	}
	tokenServer(t, addr, 20, 1000)
	eventually(t, "the server is asked again", 10*time.Second, func() bool { return second.Cluster().Phase == cluster.PhaseRunning })
	before := second.Cluster().Client.Counters.Answers["ok"]
	eventually(t, "it lets requests in", time.Minute, func() bool {
		return second.passing(1, "/r", nil) == 1 && second.Cluster().Client.Counters.Answers["ok"] > before
	})
}

// relay hands bytes to an address and back, until it is told to be silent.
type relay struct {
	silent atomic.Bool
	addr   string
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &relay{addr: l.Addr().String()}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			on, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			go r.copy(from, on)
			go r.copy(on, from)
		}
	}()
	return r
}

func (r *relay) copy(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		for r.silent.Load() {
			time.Sleep(time.Millisecond)
		}
		if err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// A token server that falls silent is asked until it let some requests wait in vain, and again when it answers.
func TestSilentTokenServer(t *testing.T) {
	t.Parallel()
	_, addr := tokenServer(t, "127.0.0.1:0", 1000, 1000)
	r := newRelay(t, addr)
	t.Cleanup(func() { r.silent.Store(false) })
	rules := `[{"resource":"r","count":1000,"clusterMode":true,"clusterConfig":{"flowId":1,"thresholdType":1}}]`
	g := newFleet(t, "cluster: {server: '"+r.addr+"', timeout: 200ms, maxTimeouts: 2}\n", rules).gateway("a")
	g.reaches(cluster.ModeClient)
	if got := g.passing(5, "/r", nil); got != 5 {
		t.Errorf("%d of 5 requests passed", got)
	}
	r.silent.Store(true)
	eventually(t, "the gateway decides itself", time.Minute, func() bool {
		return g.passing(1, "/r", nil) == 1 && g.Cluster().Client.State == tokenclient.StateLocal
	})
	asked := g.Cluster().Client.Counters
	if got := g.passing(20, "/r", nil); got != 20 {
		t.Errorf("%d of 20 requests passed by the gateway's own decision", got)
	}
	if now := g.Cluster().Client.Counters; now.Timeouts != asked.Timeouts || now.Local < asked.Local+20 {
		t.Errorf("a silent token server was asked: %+v, then %+v", asked, now)
	}
	r.silent.Store(false)
	eventually(t, "the server is asked again", 10*time.Second, func() bool {
		return g.passing(1, "/r", nil) == 1 && g.Cluster().Client.State == tokenclient.StateReady
	})
}

// Who does not know the secret is no client, and no server either.
func TestStrangersInTheCluster(t *testing.T) {
	t.Parallel()
	_, addr := tokenServer(t, "127.0.0.1:0", 0.5, 60_000, server.WithSecret([]byte("the fleet's own secret")))
	settings := "cluster: {server: '" + addr + "', timeout: 30s, secretFile: secret}\n"
	ours := newFleet(t, settings, "{"+shared+"}", "secret", "the fleet's own secret").gateway("a")
	theirs := newFleet(t, settings, "{"+shared+"}", "secret", "a guess").gateway("b")
	ours.reaches(cluster.ModeClient)
	if got := ours.passing(1, "/r", nil); got != 1 {
		t.Error("a request of the fleet did not pass")
	}
	if got := theirs.passing(1, "/r", nil); got != 0 || theirs.Cluster().Phase == cluster.PhaseRunning {
		t.Errorf("a stranger was served: %+v", theirs.Cluster())
	}
}

// Stop and a failed Start end the cluster role: the token server's port is free again.
func TestStopLeavesTheCluster(t *testing.T) {
	t.Parallel()
	addr := freeAddr(t)
	f := newFleet(t, "cluster:\n  embedded:\n    listen: "+addr+"\n    idle: 30s\n", "{"+shared+"}")
	free := func() {
		t.Helper()
		eventually(t, "the port is free", time.Minute, func() bool {
			l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
			if err == nil {
				err = l.Close()
			}
			return err == nil
		})
	}
	g := f.gateway("")
	g.reaches(cluster.ModeServer)
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := g.Cluster(); s.Mode != cluster.ModeNone {
		t.Errorf("stopped, and still %+v", s)
	}
	free()
	busy, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	name := filepath.Join(f.dir, "gateway.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(text), "127.0.0.1:0", busy.Addr().String(), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.made("").Start(); err == nil {
		t.Fatal("listened where another does")
	}
	free()
}

func TestIdentityFromEnvironment(t *testing.T) {
	t.Setenv("GATEWAY_POD", "gw-7")
	text := least + "cluster: {identity: $GATEWAY_POD, server: 'gw-7:18730', secretFile: s, embedded: {machine: gw-7}}\n"
	dir := write(t, map[string]string{"gateway.yaml": text, "rules.json": "[]", "s": "secret"})
	c, err := proxy.Load(filepath.Join(dir, "gateway.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.Cluster.Server = "127.0.0.1:0", freeAddr(t)
	s, err := proxy.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if got := s.Cluster(); got.Identity != "gw-7" || got.Mode != cluster.ModeServer {
		t.Errorf("%+v", got)
	}
}
