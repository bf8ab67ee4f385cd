package interop_test

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy passes a client's connections on to a token server, and keeps what went through.
type proxy struct {
	listener net.Listener
	target   string
	delay    time.Duration // of answers

	mu    sync.Mutex
	held  chan struct{} // guarded by mu; open while nothing passes
	conns []net.Conn    // guarded by mu
	up    []*bytes.Buffer
	down  []*bytes.Buffer
}

// startProxy starts a proxy, which ends with the test.
func startProxy(t *testing.T, target string, delay time.Duration) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: target, delay: delay, held: make(chan struct{})}
	close(p.held)
	t.Cleanup(func() {
		_ = l.Close()
		p.release()
		p.cut()
	})
	go p.accept()
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		up, down := &bytes.Buffer{}, &bytes.Buffer{}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.up, p.down = append(p.up, up), append(p.down, down)
		p.mu.Unlock()
		go p.pass(server, client, up, 0)
		go p.pass(client, server, down, p.delay)
	}
}

func (p *proxy) pass(to, from net.Conn, record *bytes.Buffer, delay time.Duration) {
	defer to.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		record.Write(buffer[:n])
		held := p.held
		p.mu.Unlock()
		<-held
		time.Sleep(delay)
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

// hold keeps back all that comes from now on.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = make(chan struct{})
}

// release passes on what was kept back.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.held:
	default:
		close(p.held)
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// frames returns what the clients sent and got, each connection's frames in order.
func (p *proxy) frames(t *testing.T) (sent, got [][]byte) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.up {
		sent = append(sent, split(t, p.up[i].Bytes())...)
		got = append(got, split(t, p.down[i].Bytes())...)
	}
	return sent, got
}

func split(t *testing.T, stream []byte) (frames [][]byte) {
	t.Helper()
	for r := bytes.NewReader(stream); r.Len() > 0; {
		frame, err := readFrame(r)
		if err != nil {
			t.Fatalf("the stream ends within a frame: %v", err)
		}
		frames = append(frames, frame)
	}
	return frames
}
