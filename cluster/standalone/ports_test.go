package standalone_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/standalone"
)

// on returns an address with the port of another one.
func on(host string, addr net.Addr) string {
	_, port, _ := net.SplitHostPort(addr.String())
	return net.JoinHostPort(host, port)
}

// allPorts starts a server with all its ports, where addresses that others reach are allowed.
func allPorts(t *testing.T) (*standalone.Server, standalone.Config) {
	t.Helper()
	p := newPlace(t)
	c := standalone.Config{
		Listen: "127.0.0.1:0", Insecure: true, Namespaces: standalone.Bindings{"shop=" + p.write("rules.json", "["+rule(1, 1000)+"]")},
		Admin: "127.0.0.1:0", RLSListen: "127.0.0.1:0", RLSRules: standalone.Bindings{p.write("rls.yaml", "domain: d\ndescriptors: [{key: k}]\n")},
	}
	return start(t, c), c
}

// An address that is opened with the port of the one before, such as on all of the machine's addresses, takes its place.
func TestReloadKeepsThePort(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	admin := s.AdminAddr().String()
	for _, host := range []string{"0.0.0.0", "127.0.0.1", "localhost"} {
		c.Listen, c.Admin, c.RLSListen = on(host, s.Addr()), on("127.0.0.1", s.AdminAddr()), on(host, s.RLSAddr())
		if err := s.Reload(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", host, err)
		}
		if got := ask(t, on("127.0.0.1", s.Addr()), 1); got.Status != chain.TokenOK {
			t.Errorf("%s: %+v", host, got)
		}
	}
	if s.AdminAddr().String() != admin {
		t.Errorf("the admin address went from %s to %s", admin, s.AdminAddr())
	}
	c.Admin = on("localhost", s.AdminAddr())
	if err := s.Reload(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	status(t, s)
}

// If the new address cannot be opened, the old ones serve as before.
func TestReloadFailsWithThePort(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	const foreign = "192.0.2.7" // of no machine
	for _, change := range []func(c *standalone.Config){
		func(c *standalone.Config) { c.Listen = on(foreign, s.Addr()) },
		func(c *standalone.Config) { c.Admin = on(foreign, s.AdminAddr()) },
		func(c *standalone.Config) { c.RLSListen = on(foreign, s.RLSAddr()) },
	} {
		wrong := c
		change(&wrong)
		if err := s.Reload(t.Context(), wrong); err == nil {
			t.Errorf("%+v is in force", wrong)
		}
		if got := ask(t, s.Addr().String(), 1); got.Status != chain.TokenOK {
			t.Errorf("%+v", got)
		}
		status(t, s)
		if nc, err := net.Dial("tcp", s.RLSAddr().String()); err != nil {
			t.Error(err)
		} else {
			_ = nc.Close()
		}
	}
}

// A configuration that cannot be put into force as a whole has no effect for a moment either: not its limits, and not the
// rules of its files.
func TestFailedReloadDecidesNothing(t *testing.T) {
	t.Parallel()
	s, c := allPorts(t)
	p := newPlace(t)
	wrong, none := c, 0.0
	wrong.MaxQPS, wrong.Admin = &none, on("192.0.2.7", s.AdminAddr())
	wrong.Namespaces = standalone.Bindings{"shop=" + p.write("none.json", "["+rule(1, 0)+"]")}
	client := connect(t, s.Addr().String())
	var over atomic.Bool
	var asking sync.WaitGroup
	asking.Go(func() {
		for !over.Load() {
			if r := client.RequestToken(t.Context(), 1, 1, false); r.Status != chain.TokenOK {
				t.Errorf("%+v", r)
				return
			}
			time.Sleep(2 * time.Millisecond) // the rule lets 1,000 in a second
		}
	})
	for range 50 {
		if err := s.Reload(t.Context(), wrong); err == nil {
			t.Error("an address of no machine was opened")
		}
	}
	over.Store(true)
	asking.Wait()
	if got := status(t, s).Service.Flows; len(got) != 1 || got[0].Count != 1000 {
		t.Errorf("%+v", got)
	}
}
