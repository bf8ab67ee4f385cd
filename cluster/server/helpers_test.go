package server_test

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/cluster/wire"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// patience is how long tests wait for what should come at once.
const patience = 20 * time.Second

// newService returns a service whose clock stands still, with the rules of the transcript in namespace appA: flow 101,
// 10 in all; flow 102, 5 per client; flow 103, without end; flow 104, 2 at the same time; param 202, 2 in all.
func newService(t testing.TB, opts ...token.Option) *token.Service {
	t.Helper()
	s := token.New(append([]token.Option{token.WithClock(func() int64 { return 1_700_000_000_000_000_000 })}, opts...)...)
	config := token.DefaultConfig()
	config.MaxAllowedQPS = 1e9
	if err := s.Configure(config); err != nil {
		t.Fatal(err)
	}
	index := 0
	report := s.LoadFlow("appA", []flow.Rule{
		{Resource: "a", Count: 10, ClusterMode: true, ClusterConfig: &chain.ClusterConfig{FlowID: 101, ThresholdType: chain.ThresholdGlobal}},
		{Resource: "b", Count: 5, ClusterMode: true, ClusterConfig: &chain.ClusterConfig{FlowID: 102}},
		{Resource: "c", Count: 1e9, ClusterMode: true, ClusterConfig: &chain.ClusterConfig{FlowID: 103, ThresholdType: chain.ThresholdGlobal}},
		{
			Resource: "d", Count: 2, Grade: flow.GradeConcurrency, ClusterMode: true,
			ClusterConfig: &chain.ClusterConfig{FlowID: 104, ThresholdType: chain.ThresholdGlobal},
		},
	})
	params := s.LoadParam("appA", []hotspot.Rule{
		{Resource: "p", ParamIdx: &index, Count: 2, ClusterMode: true, ClusterConfig: &chain.ClusterConfig{FlowID: 202, ThresholdType: chain.ThresholdGlobal}},
		{Resource: "q", ParamIdx: &index, Count: 1e9, ClusterMode: true, ClusterConfig: &chain.ClusterConfig{FlowID: 203, ThresholdType: chain.ThresholdGlobal}},
	})
	if err := errors.Join(report.Err(), params.Err()); err != nil {
		t.Fatal(err)
	}
	return s
}

// start opens a server on a loopback port.
func start(t testing.TB, service *token.Service, opts ...server.Option) (s *server.Server, addr string) {
	t.Helper()
	s = server.New(service, opts...)
	return s, listen(t, s)
}

func listen(t testing.TB, s *server.Server) string {
	t.Helper()
	a, err := s.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return a.String()
}

// A peer is the other end of a connection, byte for byte.
type peer struct {
	t testing.TB
	net.Conn
}

func dial(t testing.TB, addr string) peer {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	return newPeer(t, c)
}

func newPeer(t testing.TB, c net.Conn) peer {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	return peer{t, c}
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (p peer) send(b []byte) {
	p.t.Helper()
	_ = p.SetWriteDeadline(time.Now().Add(patience))
	if _, err := p.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// receive reads one frame.
func (p peer) receive() []byte {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	head := make([]byte, 2)
	if _, err := io.ReadFull(p, head); err != nil {
		p.t.Fatal(err)
	}
	b := make([]byte, int(head[0])<<8|int(head[1]))
	if _, err := io.ReadFull(p, b); err != nil {
		p.t.Fatal(err)
	}
	return append(head, b...)
}

// expect sends bytes and compares the frame that comes back.
func (p peer) expect(out, in string) {
	p.t.Helper()
	p.send(unhex(p.t, out))
	if got, want := hex.EncodeToString(p.receive()), strings.ReplaceAll(in, " ", ""); got != want {
		p.t.Errorf("answer to %s: %s, want %s", out, got, want)
	}
}

// ask sends a request and decodes the answer.
func (p peer) ask(r wire.Request) (resp wire.Response) {
	p.t.Helper()
	b, err := wire.AppendRequest(nil, &r)
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(b)
	if err := resp.Decode(p.receive()[2:]); err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// ping joins a namespace and returns how many are connected.
func (p peer) ping(ns string) int32 {
	p.t.Helper()
	return p.ask(wire.Request{Namespace: []byte(ns)}).Connected
}

// unlimited is a request that is granted whatever came before.
func unlimited(xid int32) wire.Request {
	return wire.Request{XID: xid, Type: wire.TypeFlow, FlowID: 103, Count: 1}
}

// answers fails the test unless the server answers.
func (p peer) answers() {
	p.t.Helper()
	if r := p.ask(unlimited(77)); r.XID != 77 || r.Status != chain.TokenOK {
		p.t.Errorf("answer %+v", r)
	}
}

// ends fails the test unless the server closes the connection, whatever it still says.
func (p peer) ends() {
	p.t.Helper()
	_ = p.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, p.Conn); isTimeout(err) {
		p.t.Errorf("the connection stays: %v", err)
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// eventually polls until something is true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// pipes is a listener in memory, for tests whose time is not real.
type pipes struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
	fail   atomic.Pointer[error]
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	if err := p.fail.Load(); err != nil {
		return nil, *err
	}
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return pipeAddr{} }

// dial makes a connection. Its deadline is far: time is not real.
func (p *pipes) dial(t testing.TB) peer {
	t.Helper()
	ours, theirs := net.Pipe()
	p.conns <- theirs
	return peer{t, ours}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
