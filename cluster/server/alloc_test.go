//go:build !race

package server_test

import (
	"bytes"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/internal/alloctest"
)

func TestRequestAllocs(t *testing.T) { // not parallel: it counts allocations
	_, addr := start(t, newService(t))
	p := dial(t, addr)
	p.ping("appA")
	for name, r := range map[string]wire.Request{
		"flow":  unlimited(1),
		"param": {XID: 1, Type: wire.TypeParam, FlowID: 203, Count: 1, Values: []wire.Value{wire.TextValue([]byte("user-1"))}},
		"ping":  {Namespace: []byte("appA")},
	} {
		one, err := wire.AppendRequest(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		p.send(one)
		batch, answers := bytes.Repeat(one, 32), make([]byte, 32*len(p.receive()))
		if n := alloctest.Count(func() {
			p.send(batch)
			if _, err := io.ReadFull(p.Conn, answers); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations per 32 requests, want 0", name, n)
		}
	}
}

// An idle connection holds no buffer.
func TestIdleConnectionAllocs(t *testing.T) { // not parallel: it measures the process
	const conns, most = 500, 10 << 10
	s, addr := start(t, newService(t))
	before := footprint()
	var all []net.Conn
	for range conns {
		p := dial(t, addr)
		p.ping("appA")
		p.answers()
		all = append(all, p.Conn)
	}
	eventually(t, "all connected", func() bool { return s.Status().Connections == conns })
	if each := (footprint() - before) / conns; each > most { // both ends of it
		t.Errorf("%d bytes for an idle connection, want at most %d", each, most)
	} else {
		t.Logf("%d bytes for an idle connection, the client's end included", each)
	}
	runtime.KeepAlive(all)
}

func footprint() int64 {
	time.Sleep(10 * time.Millisecond) // lets goroutines come to rest; only the figure depends on it
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
