package client

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// errNoSecret says that the server wants a secret and the client has none.
var errNoSecret = errors.New("the server wants a secret")

// connect makes a connection on which requests can be made: it dials, speaks TLS if wanted, pings and proves the secret.
func (c *Client) connect(ctx context.Context, addr string) (*conn, error) {
	dialing, cancel := context.WithTimeout(ctx, c.dialTimeout)
	raw, err := c.dial(dialing, addr)
	cancel()
	if err != nil {
		return nil, dialFault(err)
	}
	c.setPhase(StateAuthenticating)
	cn := &conn{
		chains: chains(),
		client: c, raw: raw, net: raw, addr: addr,
		wakeup: make(chan struct{}, 1), done: make(chan struct{}), fireAt: math.MaxInt64,
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	rest, err := cn.open(ctx)
	if !stop() && err == nil {
		err = &fault{kind: ErrClosed, detail: context.Cause(ctx)}
	}
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	cn.born = c.now()
	cn.start(rest)
	return cn, nil
}

// open makes the connection ready, and returns bytes that were read beyond that.
func (cn *conn) open(ctx context.Context) (rest []byte, err error) {
	deadline := time.Now().Add(cn.client.dialTimeout)
	if err := cn.raw.SetDeadline(deadline); err != nil {
		return nil, talkFault(err)
	}
	if cn.client.tls != nil {
		secure := tls.Client(cn.raw, cn.tlsConfig())
		ctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, tlsFault(err)
		}
		cn.net = secure
	}
	t := talk{conn: cn.net, buf: make([]byte, 0, 2*wire.MaxFrame)}
	if err := cn.introduce(&t); err != nil {
		return nil, talkFault(err)
	}
	if err := cn.raw.SetDeadline(time.Time{}); err != nil {
		return nil, talkFault(err)
	}
	return t.buf, nil
}

func (cn *conn) tlsConfig() *tls.Config {
	config := cn.client.tls
	if config.ServerName != "" || config.InsecureSkipVerify {
		return config
	}
	config = config.Clone()
	if config.ServerName, _, _ = net.SplitHostPort(cn.addr); config.ServerName == "" {
		config.ServerName = cn.addr
	}
	return config
}

// introduce pings, and authenticates if either side wants it.
func (cn *conn) introduce(t *talk) error {
	c := cn.client
	hello := wire.Request{XID: wire.HelloXID, Type: wire.TypePing, Namespace: []byte(c.namespace)}
	r, err := t.ask(&hello)
	if err != nil {
		return err
	}
	cn.ext = r.XID == wire.ReplyXID
	switch {
	case !cn.ext && len(c.secret) > 0 && !c.unproven:
		return unauthenticated(errors.New("the server does not know how to prove a secret"))
	case cn.ext && (len(c.secret) > 0 || r.Status != chain.TokenOK):
		if r, err = cn.authenticate(t, &hello, r); err != nil {
			return err
		}
	}
	c.counted(&r)
	return nil
}

// authenticate proves to know the secret and pings again. A server without a secret refuses the challenge.
func (cn *conn) authenticate(t *talk, hello *wire.Request, first wire.Response) (wire.Response, error) {
	c := cn.client
	nonce := make([]byte, wire.NonceSize)
	_, _ = rand.Read(nonce) // never fails
	r, err := t.ask(&wire.Request{XID: 1, Type: wire.TypeChallenge, Auth: nonce})
	if err != nil {
		return r, err
	}
	if r.Status != chain.TokenOK {
		if len(c.secret) == 0 || c.unproven {
			return first, nil
		}
		return r, unauthenticated(errors.New("the server has no secret"))
	}
	if len(c.secret) == 0 {
		return r, unauthenticated(errNoSecret)
	}
	if len(r.Auth) != wire.NonceSize+sha256.Size {
		return r, unauthenticated(fmt.Errorf("the server's proof has %d bytes", len(r.Auth)))
	}
	theirs := append([]byte(nil), r.Auth[:wire.NonceSize]...)
	if !hmac.Equal(r.Auth[wire.NonceSize:], wire.ServerProof(c.secret, nonce, theirs)) {
		return r, unauthenticated(errors.New("the server does not know the client's secret"))
	}
	r, err = t.ask(&wire.Request{XID: 2, Type: wire.TypeProve, Auth: wire.ClientProof(c.secret, theirs, nonce)})
	if err != nil {
		return r, err
	}
	if r.Status != chain.TokenOK {
		return r, unauthenticated(errors.New("the server refused the client's proof"))
	}
	return t.ask(hello)
}

func unauthenticated(why error) error { return &fault{kind: ErrUnauthenticated, detail: why} }

// talk asks one question after the other on a new connection.
type talk struct {
	conn   net.Conn
	frames wire.Splitter
	buf    []byte // read and not used yet
}

// mostStray bounds the messages that a server may send before the one that was asked for.
const mostStray = 100

// ask sends a request and waits for its answer.
func (t *talk) ask(r *wire.Request) (answer wire.Response, err error) {
	frame, err := wire.AppendRequest(nil, r)
	if err != nil {
		return answer, fmt.Errorf("first messages: %w", err)
	}
	if _, err := t.conn.Write(frame); err != nil {
		return answer, err
	}
	for range mostStray {
		payload, err := t.next()
		if err != nil {
			return answer, err
		}
		if answer.Decode(payload) == nil && answer.Type == r.Type {
			return answer, nil
		}
	}
	return answer, errors.New("the peer does not answer as a token server does")
}

// next reads one frame.
func (t *talk) next() ([]byte, error) {
	for {
		payload, rest, kind := t.frames.Next(t.buf)
		used := len(t.buf) - len(rest)
		switch kind {
		case wire.FrameWhole:
			payload = append([]byte(nil), payload...)
			t.buf = t.buf[:copy(t.buf, rest)]
			return payload, nil
		case wire.FrameOversized:
			t.buf = t.buf[:copy(t.buf, rest)]
			continue
		case wire.FramePartial:
		}
		if used > 0 {
			t.buf = t.buf[:copy(t.buf, rest)]
		}
		n, err := t.conn.Read(t.buf[len(t.buf):cap(t.buf)])
		if t.buf = t.buf[:len(t.buf)+n]; err != nil && n == 0 {
			return nil, err
		}
	}
}
