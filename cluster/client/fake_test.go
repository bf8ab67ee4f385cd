package client_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

var errDial = errors.New("no route")

// fake is a token server on in-memory connections. The zero value is one of Sentinel's that grants everything.
type fake struct {
	ext       bool
	secret    []byte
	connected int32
	shortPing bool
	flow      func(p *peer, r *wire.Request) // answers by p.reply; nil: OK

	mu    sync.Mutex
	down  bool            // guarded by mu, as all below
	mute  bool            // reads and answers nothing
	gate  chan struct{}   // set: nothing is read until it is closed
	dials []time.Duration // since start
	peers []*peer
	start time.Time
}

// peer is one connection of a fake.
type peer struct {
	of     *fake
	conn   net.Conn
	addr   string
	proven bool
	nonces [2][]byte

	mu   sync.Mutex
	seen []wire.Request // guarded by mu, as all below
	at   []time.Duration
	raw  []byte
	gone bool
}

func (f *fake) dial(_ context.Context, addr string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start.IsZero() {
		f.start = time.Now()
	}
	f.dials = append(f.dials, time.Since(f.start))
	if f.down {
		return nil, errDial
	}
	ours, theirs := net.Pipe()
	p := &peer{of: f, conn: theirs, addr: addr}
	f.peers = append(f.peers, p)
	go p.serve()
	return ours, nil
}

func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// freeze makes it do nothing until the function is called.
func (f *fake) freeze() (thaw func()) {
	gate := make(chan struct{})
	f.set(func() { f.gate = gate })
	return func() {
		f.set(func() { f.gate = nil })
		close(gate)
	}
}

// kill closes all connections and refuses new ones.
func (f *fake) kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	for _, p := range f.peers {
		_ = p.conn.Close()
	}
}

func (f *fake) peer(i int) *peer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peers[i]
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.peers)
}

func (p *peer) serve() {
	defer func() {
		_ = p.conn.Close()
		p.mu.Lock()
		p.gone = true
		p.mu.Unlock()
	}()
	var frames wire.Splitter
	var buf []byte
	part := make([]byte, 64<<10)
	for {
		n, err := p.conn.Read(part)
		if err != nil {
			return
		}
		p.wait()
		buf = append(buf, part[:n]...)
		p.mu.Lock()
		p.raw = append(p.raw, part[:n]...)
		p.mu.Unlock()
		for {
			payload, rest, kind := frames.Next(buf)
			buf = rest
			if kind == wire.FramePartial {
				break
			}
			p.message(payload)
		}
	}
}

func (p *peer) wait() {
	p.of.mu.Lock()
	gate := p.of.gate
	p.of.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (p *peer) message(payload []byte) {
	var r wire.Request
	if r.Decode(bytes.Clone(payload)) != nil {
		return
	}
	f := p.of
	f.mu.Lock()
	mute, connected, flow := f.mute, f.connected, f.flow
	since := time.Since(f.start)
	f.mu.Unlock()
	p.mu.Lock()
	p.seen, p.at = append(p.seen, r), append(p.at, since)
	p.mu.Unlock()
	if mute {
		return
	}
	a := wire.Response{XID: r.XID, Type: r.Type}
	switch {
	case r.Type == wire.TypePing:
		if f.ext && r.XID == wire.HelloXID {
			a.XID = wire.ReplyXID
		}
		a.Connected, a.Short = connected, f.shortPing
		if len(r.Namespace) == 0 || len(f.secret) > 0 && !p.proven {
			a.Status = chain.TokenFail
		}
	case r.Type == wire.TypeChallenge || r.Type == wire.TypeProve:
		p.authenticate(&r, &a)
	case flow != nil:
		flow(p, &r)
		return
	}
	p.reply(&a)
}

func (p *peer) authenticate(r *wire.Request, a *wire.Response) {
	secret := p.of.secret
	switch {
	case len(secret) == 0:
		a.Status = chain.TokenFail
	case r.Type == wire.TypeChallenge:
		ours := bytes.Repeat([]byte{7}, wire.NonceSize)
		p.nonces = [2][]byte{r.Auth, ours}
		a.Auth = append(bytes.Clone(ours), wire.ServerProof(secret, r.Auth, ours)...)
	default:
		if p.proven = bytes.Equal(r.Auth, wire.ClientProof(secret, p.nonces[1], p.nonces[0])); !p.proven {
			a.Status = chain.TokenFail
		}
	}
}

func (p *peer) reply(a *wire.Response) {
	frame, err := wire.AppendResponse(nil, a)
	if err == nil {
		_, _ = p.conn.Write(frame)
	}
}

// answer replies to a request with a status.
func (p *peer) answer(r *wire.Request, s chain.TokenStatus, remaining int32) {
	p.reply(&wire.Response{XID: r.XID, Type: r.Type, Status: s, Remaining: remaining})
}

// requests returns what came with the type, in order, and when.
func (p *peer) requests(kind wire.Type) (out []wire.Request, at []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.seen {
		if p.seen[i].Type == kind {
			out, at = append(out, p.seen[i]), append(at, p.at[i])
		}
	}
	return out, at
}

func (p *peer) bytes() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.raw)
}

func (p *peer) closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// dialed makes a client of the fake that is started. It is closed at the end of the test, before a bubble ends.
func dialed(t testing.TB, f *fake, opts ...client.Option) *client.Client {
	t.Helper()
	c := client.New(append([]client.Option{
		client.WithServer("a:1"), client.WithNamespace("appA"), client.WithDialer(f.dial),
	}, opts...)...)
	t.Cleanup(func() { _ = c.Close() })
	c.Start()
	return c
}

// ready makes a client of the fake that is connected.
func ready(t testing.TB, f *fake, opts ...client.Option) *client.Client {
	t.Helper()
	c := dialed(t, f, opts...)
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// ask asks for one unit of flow 101.
func ask(c *client.Client) chain.TokenResult {
	return c.RequestToken(context.Background(), 101, 1, false)
}

func wantStatus(t testing.TB, r chain.TokenResult, s chain.TokenStatus, err error) {
	t.Helper()
	if r.Status != s || !errors.Is(r.Err, err) {
		t.Errorf("%v (%v), want %v (%v)", r.Status, r.Err, s, err)
	}
}

// talker dials a peer that says something else than a token server, and hangs up.
func talker(text string) client.Dialer {
	return func(context.Context, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = theirs.Read(make([]byte, 100))
			_, _ = theirs.Write([]byte(text))
			_ = theirs.Close()
		}()
		return ours, nil
	}
}
