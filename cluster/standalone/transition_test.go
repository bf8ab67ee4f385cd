package standalone_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/standalone"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// noHost is an address of no machine.
const noHost = "192.0.2.7"

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func served(address string) bool {
	nc, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = nc.Close()
	return true
}

func refused(t *testing.T, s *standalone.Server, c standalone.Config) {
	t.Helper()
	if err := s.Reload(t.Context(), c); err == nil {
		t.Fatalf("%+v is in force", c)
	}
}

// What a refused configuration opened before it failed is closed again, and does not stand in the way of one put right.
func TestRefusedConfigurationLeavesNoPort(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	wrong := c
	wrong.RLSListen, wrong.Admin = freeAddr(t), noHost+":18998"
	refused(t, s, wrong)
	if served(wrong.RLSListen) {
		t.Error("the rate limit service of a refused configuration is served")
	}
	right := wrong
	right.Admin = freeAddr(t)
	reload(t, s, right)
	long := standalone.Duration(700 * time.Hour) // longer than any window
	wrong = c
	wrong.Interval, wrong.Admin = &long, freeAddr(t)
	refused(t, s, wrong)
	if served(wrong.Admin) {
		t.Error("the admin address of a refused configuration is served")
	}
	status(t, s)
}

// A rate limit service whose port stays serves by the rules before, and ends with the server.
func TestRefusedConfigurationLeavesTheRateLimitService(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	p := newPlace(t)
	rules := standalone.Bindings{p.write("other.yaml", "domain: other\ndescriptors: [{key: k}]\n")}
	for name, host := range map[string]string{"the same address": "127.0.0.1", "another host": "0.0.0.0"} {
		wrong := c
		wrong.RLSRules, wrong.Admin = rules, noHost+":18998"
		if host != "127.0.0.1" {
			wrong.RLSListen = on(host, s.RLSAddr())
		}
		refused(t, s, wrong)
		if got := s.Status().RLS.Domains; len(got) != 1 || got[0].Domain != "d" {
			t.Errorf("%s: %+v", name, got)
		}
		if !served(s.RLSAddr().String()) {
			t.Errorf("%s: not served any more", name)
		}
	}
	address := s.RLSAddr().String()
	stop(t, s)
	if served(address) {
		t.Error("served after Stop")
	}
}

// Clients stay connected while a configuration is refused again and again.
func TestRefusedConfigurationCutsNobodyOff(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	client := connect(t, s.Addr().String())
	wrong := c
	wrong.MaxConns, wrong.Admin = 100, s.Addr().String() // taken
	for range 5 {
		refused(t, s, wrong)
	}
	wrong.Admin, wrong.Listen = c.Admin, on(noHost, s.Addr())
	for range 5 {
		refused(t, s, wrong)
	}
	if r := client.RequestToken(t.Context(), 1, 1, false); r.Status != chain.TokenOK || client.Status().Counters.Reconnects != 0 {
		t.Errorf("%+v after %d reconnects", r, client.Status().Counters.Reconnects)
	}
}

func TestRefusedConfigurationLeavesNoGoroutine(t *testing.T) { // not parallel: counts goroutines
	s, c := allPorts(t)
	wrong := c
	wrong.Listen = s.AdminAddr().String()
	refused(t, s, wrong)
	before := runtime.NumGoroutine()
	for range 30 {
		refused(t, s, wrong)
	}
	for begin := time.Now(); runtime.NumGoroutine() > before+5; time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// Limits of a refused configuration are in force for no namespace.
func TestRefusedConfigurationLimitsNobody(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	none, long := 0.0, standalone.Duration(700*time.Hour)
	c.PerNamespace = map[string]standalone.Limits{"shop": {MaxQPS: &none}, "zzz": {Interval: &long}}
	for range 10 {
		refused(t, s, c)
		if got := ask(t, s.Addr().String(), 1); got.Status != chain.TokenOK {
			t.Fatalf("%+v", got)
		}
	}
}

// Files are followed for as long as they are served, whatever becomes of the context they were opened with.
func TestFilesAreFollowedLongerThanTheContext(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	c := standalone.Config{
		Listen: "127.0.0.1:0", Namespaces: standalone.Bindings{"shop=" + p.write("a.json", "["+rule(1, 1000)+"]")},
		RLSListen: "127.0.0.1:0", RLSRules: standalone.Bindings{p.write("a.yaml", "domain: a\ndescriptors: [{key: k}]\n")},
	}
	s, err := standalone.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	cancel()
	count := func() float64 { return s.Status().Service.Flows[0].Count }
	p.write("a.json", "["+rule(1, 1001)+"]")
	eventually(t, "the first file's change is in force", func() bool { return count() == 1001 })
	c.Namespaces = standalone.Bindings{"shop=" + p.write("b.json", "["+rule(1, 2000)+"]")}
	c.RLSRules = standalone.Bindings{p.write("b.yaml", "domain: b\ndescriptors: [{key: k}]\n")}
	ctx, cancel = context.WithCancel(t.Context())
	if err := s.Reload(ctx, c); err != nil {
		t.Fatal(err)
	}
	cancel()
	p.write("b.json", "["+rule(1, 2001)+"]")
	p.write("b.yaml", "domain: c\ndescriptors: [{key: k}]\n")
	eventually(t, "the second files' changes are in force", func() bool {
		return count() == 2001 && s.Status().RLS.Domains[0].Domain == "c"
	})
}

// A document has rules of both kinds, whichever setting it is given by.
const bothKinds = `{
	"flowRules": [{"resource": "r1", "count": 1000, "clusterMode": true, "clusterConfig": {"flowId": 1, "thresholdType": 1}}],
	"paramFlowRules": [{"resource": "r2", "count": 5, "paramIdx": 0, "clusterMode": true, "clusterConfig": {"flowId": 2, "thresholdType": 1}}]
}`

const paramsOnly = `[{"resource": "r3", "count": 5, "paramIdx": 0, "clusterMode": true, "clusterConfig": {"flowId": 3, "thresholdType": 1}}]`

// After every change of the files, the rules in force are those of the files that are left.
func TestRulesOfTheFilesThatAreLeft(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	doc, flows, params := "shop="+p.write("doc.json", bothKinds), "shop="+p.write("flow.json", "["+rule(7, 1000)+"]"), "shop="+p.write("param.json", paramsOnly)
	s := start(t, standalone.Config{Namespaces: standalone.Bindings{doc}})
	for i, step := range []struct {
		namespaces, params standalone.Bindings
		flows, values      []int64
	}{
		{standalone.Bindings{flows}, nil, []int64{7}, nil},
		{standalone.Bindings{doc}, nil, []int64{1}, []int64{2}},
		{standalone.Bindings{doc}, standalone.Bindings{params}, []int64{1}, []int64{3}},
		{standalone.Bindings{doc}, nil, []int64{1}, []int64{2}},
		{standalone.Bindings{"shop"}, nil, nil, nil},
		{standalone.Bindings{"other"}, standalone.Bindings{doc}, []int64{1}, []int64{2}},
		{standalone.Bindings{"other"}, nil, nil, nil},
	} {
		c := standalone.Config{Listen: "127.0.0.1:0", Namespaces: step.namespaces, ParamRules: step.params}
		reload(t, s, c)
		var gotFlows, gotValues []int64
		for _, f := range s.Status().Service.Flows {
			gotFlows = append(gotFlows, f.FlowID)
		}
		for _, f := range s.Status().Service.Params {
			gotValues = append(gotValues, f.FlowID)
		}
		if !slices.Equal(gotFlows, step.flows) || !slices.Equal(gotValues, step.values) {
			t.Errorf("step %d: flow rules %v, parameter rules %v; want %v, %v", i, gotFlows, gotValues, step.flows, step.values)
		}
	}
}

// Stop ends a reload that waits for a connection, instead of waiting for it.
func TestStopDuringReload(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	nc, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	hello, err := wire.AppendRequest(nil, &wire.Request{XID: 1, Type: wire.TypePing, Namespace: []byte("shop")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write(hello[:len(hello)-1]); err != nil { // half a frame
		t.Fatal(err)
	}
	eventually(t, "the server has the connection", func() bool { return s.Status().Server.Connections == 1 })
	c.Listen = freeAddr(t)
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = s.Reload(context.Background(), c)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_ = s.Stop(ctx)
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	<-over
}

// A configuration for which the port has to be closed in vain is tried again only after a while: it cuts all clients off.
func TestPortIsNotClosedInVainAgainAndAgain(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	taken, err := net.Listen("tcp", on("127.0.0.2", s.Addr()))
	if err != nil {
		t.Skip("this machine has one loopback address only")
	}
	defer taken.Close()
	client := connect(t, s.Addr().String())
	wrong := c
	wrong.Listen = on("0.0.0.0", s.Addr())
	for range 5 {
		refused(t, s, wrong)
		eventually(t, "the server serves", func() bool { return client.RequestToken(t.Context(), 1, 1, false).Status == chain.TokenOK })
	}
	if n := client.Status().Counters.Reconnects; n > 1 {
		t.Errorf("%d reconnects", n)
	}
	c.MaxConns = 50
	reload(t, s, c) // another one is taken at once
}

func TestUnknownPortIsAConfigError(t *testing.T) {
	t.Parallel()
	_, err := standalone.New(standalone.Config{Listen: "127.0.0.1:nonsense"})
	if _, ok := errors.AsType[*standalone.ConfigError](err); !ok {
		t.Errorf("%v", err)
	}
}
