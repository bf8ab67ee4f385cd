//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// Callers who meet on a limit get exactly that many, alone or together, from one connection or several.
func TestExactOverTheWire(t *testing.T) {
	t.Parallel()
	const callers, limit, flows = 64, 10, 40
	for name, c := range map[string]struct {
		clients int
		options []client.Option
	}{
		"single":                   {1, nil},
		"coalescing":               {1, []client.Option{client.WithCoalescing(0)}},
		"single, four clients":     {4, nil},
		"coalescing, four clients": {4, []client.Option{client.WithCoalescing(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rules []string
			for id := 1; id <= flows; id++ {
				rules = append(rules, fmt.Sprintf(`{"resource":"r%d","count":%v,"clusterMode":true,"clusterConfig":{"flowId":%d,"thresholdType":1,"windowIntervalMs":100000}}`,
					id, limit/100., id))
			}
			path := filepath.Join(t.TempDir(), "rules.json")
			if err := os.WriteFile(path, []byte("["+strings.Join(rules, ",")+"]"), 0o600); err != nil {
				t.Fatal(err)
			}
			p := startProcess(t, "-listen", loopback(t), "-namespace", "shop="+path, "-max-qps", "1000000")
			var clients []*client.Client
			for range c.clients {
				clients = append(clients, newAsker(t, p.addr, c.options...))
			}
			for id := int64(1); id <= flows; id++ {
				if granted, blocked := crowd(clients, id, callers); granted != limit || blocked != callers-limit {
					t.Errorf("flow %d: %d granted and %d blocked, of %d callers on a limit of %d", id, granted, blocked, callers, limit)
				}
			}
		})
	}
}

// crowd has callers ask for a flow at once.
func crowd(clients []*client.Client, flow int64, callers int) (granted, blocked int64) {
	var ok, no atomic.Int64
	var running sync.WaitGroup
	start := make(chan struct{})
	for i := range callers {
		running.Go(func() {
			<-start
			switch clients[i%len(clients)].RequestToken(context.Background(), flow, 1, false).Status {
			case chain.TokenOK:
				ok.Add(1)
			case chain.TokenBlocked:
				no.Add(1)
			}
		})
	}
	close(start)
	running.Wait()
	return ok.Load(), no.Load()
}

// Many connections that wait cost little, and are all answered.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	const connections, most = 10_000, 200 << 20
	needDescriptors(t, connections+1000)
	p := startProcess(t, "-listen", loopback(t), "-namespace", "shop="+flowRule(t, fleetFlow, 1e9, time.Second), "-max-qps", "1000000")
	empty, before := p.memory(), p.descriptors()
	conns := make([]net.Conn, connections)
	for i := range conns {
		conns[i] = dial(t, p.addr)
		greet(t, conns[i])
	}
	full := p.memory()
	t.Logf("%d MiB with %d connections, %d MiB without", full>>20, connections, empty>>20)
	if full > most && !raceEnabled {
		t.Errorf("%d connections cost %d MiB, want at most %d", connections, full>>20, most>>20)
	}
	for i := 0; i < connections; i += 100 {
		greet(t, conns[i])
	}
	c := newAsker(t, p.addr)
	if n := c.Connected(); n != connections+1 {
		t.Errorf("%d are counted, want %d", n, connections+1)
	}
	_ = c.Close()
	for _, c := range conns {
		_ = c.Close()
	}
	until(t, "all descriptors given back", func() bool { return p.descriptors() <= before+5 })
}

// greet pings as a member of the namespace, and waits for the answer.
func greet(t *testing.T, c net.Conn) {
	t.Helper()
	b, err := wire.AppendRequest(nil, &wire.Request{XID: 1, Type: wire.TypePing, Namespace: []byte("shop")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if err := write(c, b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
}

// needDescriptors skips the test where processes cannot have so many.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < n {
		limit.Max = n
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Skipf("%d descriptors are needed, and the limit cannot be raised: %v", n, err)
	}
}
