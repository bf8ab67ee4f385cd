package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// An authority signs certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{pool: x509.NewCertPool()}
	pair := a.issue(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) issue(t testing.TB, c *x509.Certificate) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.Subject = big.NewInt(1), pkix.Name{CommonName: "test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) server(t testing.TB) *tls.Config {
	t.Helper()
	cert := a.issue(t, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return &tls.Config{Certificates: []tls.Certificate{cert}}
}

func dialTLS(t testing.TB, addr string, c *tls.Config) peer {
	t.Helper()
	c.ServerName = "127.0.0.1"
	return newPeer(t, tls.Client(dial(t, addr).Conn, c))
}

func TestTLSAndPlaintextOnOnePort(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, addr := start(t, newService(t), server.WithTLS(a.server(t)), server.WithPlaintext())
	secure, plain := dialTLS(t, addr, &tls.Config{RootCAs: a.pool}), dial(t, addr)
	for range 3 {
		secure.answers()
		plain.answers()
	}
	if n := secure.ping("appA"); n != 1 {
		t.Errorf("%d connected", n)
	}
	if n := plain.ping("appA"); n != 2 {
		t.Errorf("%d connected", n)
	}
	_ = secure.Close()
	eventually(t, "TLS peer left", func() bool { return plain.ping("appA") == 1 })
}

// Frames and TLS records have nothing to do with each other.
func TestPiecesOverTLS(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	_, addr := start(t, newService(t), server.WithTLS(a.server(t)))
	p := dialTLS(t, addr, &tls.Config{RootCAs: a.pool})
	for _, b := range padded(40) {
		p.send([]byte{b})
	}
	p.receive()
	const many = 2000
	var all []byte
	for i := range many {
		r := unlimited(int32(i))
		all, _ = wire.AppendRequest(all, &r)
	}
	go p.send(all)
	for i := range many {
		var r wire.Response
		if err := r.Decode(p.receive()[2:]); err != nil || r.XID != int32(i) {
			t.Fatalf("answer %d: %+v (%v)", i, r, err)
		}
	}
}

func TestPlaintextRefused(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s, addr := start(t, newService(t), server.WithTLS(a.server(t)))
	p := dial(t, addr)
	p.send(unhex(t, "0012 00000001 01 0000000000000067 00000001 00"))
	_ = p.SetReadDeadline(time.Now().Add(patience))
	if n, err := p.Read(make([]byte, 10)); n != 0 || isTimeout(err) {
		t.Errorf("%d bytes (%v)", n, err)
	}
	eventually(t, "counted", func() bool { return s.Status().TLSFailures == 1 && s.Status().Ended["tls"] == 1 })
}

func TestTLSWithoutConfiguration(t *testing.T) {
	t.Parallel()
	_, addr := start(t, newService(t))
	c := dialTLS(t, addr, &tls.Config{RootCAs: x509.NewCertPool()}).Conn.(*tls.Conn)
	_ = c.SetDeadline(time.Now().Add(patience))
	if err := c.Handshake(); err == nil || isTimeout(err) {
		t.Errorf("handshake: %v", err)
	}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	a, stranger := newAuthority(t), newAuthority(t)
	config := a.server(t)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, a.pool
	_, addr := start(t, newService(t), server.WithTLS(config))
	use := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	good := dialTLS(t, addr, &tls.Config{RootCAs: a.pool, Certificates: []tls.Certificate{a.issue(t, use)}})
	good.answers()
	for _, certs := range [][]tls.Certificate{nil, {stranger.issue(t, use)}} {
		bad := dialTLS(t, addr, &tls.Config{RootCAs: a.pool, Certificates: certs})
		_ = bad.SetDeadline(time.Now().Add(patience))
		_, _ = bad.Write(padded(20))
		if n, err := bad.Read(make([]byte, 10)); n != 0 || err == nil || isTimeout(err) {
			t.Errorf("%d bytes (%v)", n, err)
		}
	}
	good.answers()
}

const serverSecret = "0123456789abcdef"

var secret = []byte(serverSecret)

// hello says that the peer knows the extension.
func (p peer) hello() wire.Response {
	return p.ask(wire.Request{XID: wire.HelloXID, Namespace: []byte("appA")})
}

// prove does the client's part of the handshake.
func (p peer) prove(secret []byte) wire.Response {
	p.t.Helper()
	nonce := bytes.Repeat([]byte{7}, wire.NonceSize)
	c := p.ask(wire.Request{XID: 1, Type: wire.TypeChallenge, Auth: nonce})
	if c.Status != chain.TokenOK || len(c.Auth) != wire.NonceSize+wire.ProofSize {
		p.t.Fatalf("challenge: %+v", c)
	}
	theirs := c.Auth[:wire.NonceSize]
	if right := bytes.Equal(c.Auth[wire.NonceSize:], wire.ServerProof(secret, nonce, theirs)); right != (string(secret) == serverSecret) {
		p.t.Errorf("the server's proof is right: %v", right)
	}
	return p.ask(wire.Request{XID: 2, Type: wire.TypeProve, Auth: wire.ClientProof(secret, theirs, nonce)})
}

func TestSecret(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	s, addr := start(t, newService(t), server.WithSecret(secret), server.WithTLS(a.server(t)), server.WithPlaintext())
	for name, p := range map[string]peer{"plain": dial(t, addr), "TLS": dialTLS(t, addr, &tls.Config{RootCAs: a.pool})} {
		if r := p.hello(); r.XID != wire.ReplyXID || r.Status != chain.TokenFail {
			t.Errorf("%s: hello: %+v", name, r)
		}
		if r := p.prove(secret); r.Status != chain.TokenOK {
			t.Errorf("%s: prove: %+v", name, r)
		}
		p.answers()
		if r := p.hello(); r.Status != chain.TokenOK || r.Connected < 1 {
			t.Errorf("%s: ping: %+v", name, r)
		}
	}
	if st := s.Status(); st.Proofs != 2 || st.WrongProofs != 0 || st.Unauthenticated != 2 {
		t.Errorf("%+v", st)
	}
}

// Without the proof nothing is decided, and a Java client understands what it is told.
func TestWithoutProof(t *testing.T) {
	t.Parallel()
	service := newService(t)
	s, addr := start(t, service, server.WithSecret(secret))
	p := dial(t, addr)
	for _, c := range [][2]string{
		{"000d 00000000 00 00000004 61707041", "0006 00000000 00 ff"},
		{"0012 00000001 01 0000000000000067 00000001 00", "000e 00000001 01 ff 00000000 00000000"},
		{"001a 0000000a 02 00000000000000ca 00000001 00000001 00 00000007", "000e 0000000a 02 ff 00000000 00000000"},
		{"0025 00000001 40" + nonceHex, "0006 00000001 40 ff"}, // not after hello
		{"000d 47530001 00 00000004 61707041", "0006 47530002 00 ff"},
		{"0011 00000001 42 0000000000000068 00000001", "0006 00000001 42 ff"},
		{"000d 00000001 43 0000000000000068", "0006 00000001 43 ff"},
		{"0005 00000001 44", "0006 00000001 44 ff"},
		{"0006 00000001 40 00", "0006 00000001 40 ff"}, // a short nonce
	} {
		p.expect(c[0], c[1])
	}
	if service.Connected("appA") != 0 {
		t.Error("connected without a proof")
	}
	if st := s.Status(); st.Unauthenticated != 7 {
		t.Errorf("%+v", st)
	}
}

const nonceHex = "0707070707070707070707070707070707070707070707070707070707070707"

func TestWrongSecret(t *testing.T) {
	t.Parallel()
	s, addr := start(t, newService(t), server.WithSecret(secret))
	good := dial(t, addr)
	good.hello()
	good.prove(secret)
	for range 3 {
		p := dial(t, addr)
		p.hello()
		if r := p.prove([]byte("guess")); r.Status != chain.TokenFail {
			t.Errorf("%+v", r)
		}
		p.ends()
		good.answers()
	}
	replay := dial(t, addr) // a proof is good for one challenge
	replay.hello()
	if r := replay.ask(wire.Request{XID: 2, Type: wire.TypeProve, Auth: make([]byte, wire.ProofSize)}); r.Status != chain.TokenFail {
		t.Errorf("%+v", r)
	}
	replay.ends()
	eventually(t, "counted", func() bool { return s.Status().WrongProofs == 4 && s.Status().Ended["secret"] == 4 })
}

func TestProofWithoutSecret(t *testing.T) {
	t.Parallel()
	_, addr := start(t, newService(t))
	p := dial(t, addr)
	p.hello()
	p.expect("0025 00000001 40"+nonceHex, "0006 00000001 40 ff")
	p.expect("0025 00000001 41"+nonceHex, "0006 00000001 41 ff")
	p.answers()
}
