//go:build linux

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/wire"
)

// What attackers do, all at once.
const (
	newPerSecond = 200
	halfOpen     = 1000
	slowOnes     = 50
)

// Attacks on the port leave the other clients their answers in time, and cost the server nothing that it keeps.
func TestHostilePeers(t *testing.T) {
	t.Parallel()
	needDescriptors(t, 4000)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("correct horse battery staple"), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key, pool := certificate(t, dir)
	for name, c := range map[string]struct {
		args    []string
		options []client.Option
	}{
		"secret":         {[]string{"-secret-file", secret}, []client.Option{client.WithSecret([]byte("correct horse battery staple"))}},
		"TLS and secret": {[]string{"-secret-file", secret, "-tls-cert", cert, "-tls-key", key}, []client.Option{client.WithSecret([]byte("correct horse battery staple")), client.WithTLS(&tls.Config{RootCAs: pool, ServerName: "localhost"})}},
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, append([]string{"-listen", loopback(), "-namespace", "shop=" + flowRule(t, fleetFlow, 1e9, time.Second), "-max-qps", "1000000", "-admin", "127.0.0.1:0"}, c.args...)...)
			withstand(t, p, newAsker(t, p.addr, c.options...))
		})
	}
}

// withstand compares the client's times while the server is under attack with those while a decoy is, which costs the
// machine the same.
func withstand(t *testing.T, p *process, victim *client.Client) {
	t.Helper()
	decoy := newImpostor(t, func(c net.Conn) { respond(c, 0x7fffffff, func(wire.Type) bool { return false }) })
	measure(victim, 500*time.Millisecond) // warms up
	memory, descriptors := p.memory(), p.descriptors()
	var quiet, calm, under []time.Duration
	peak := int64(0)
	for range 4 {
		quiet = append(quiet, measure(victim, 600*time.Millisecond))
		during(t, decoy.addr, func() { calm = append(calm, measure(victim, time.Second)) })
		during(t, p.addr, func() { under = append(under, measure(victim, time.Second)); peak = max(peak, p.memory()) })
	}
	a, b := quantileOf(calm, 0.5), quantileOf(under, 0.5)
	t.Logf("p99 %v without attacks, %v while a decoy is attacked, %v under attack: %v %v %v", quantileOf(quiet, 0.5), a, b, quiet, calm, under)
	t.Logf("memory %d MiB before, %d MiB at most", memory>>20, peak>>20)
	if b > 2*a+time.Millisecond {
		t.Errorf("p99 of another client is %v under attack, %v without", b, a)
	}
	room := int64(64 << 20)
	if raceEnabled {
		room *= 8
	}
	if peak > memory+room {
		t.Errorf("memory went from %d to %d MiB", memory>>20, peak>>20)
	}
	until(t, "descriptors given back", func() bool { return p.descriptors() <= descriptors+5 })
	st := p.status().Server
	t.Logf("%+v", st)
	if st.Ended["fault"] > 0 || st.AcceptErrors > 0 || st.Connections != 1 || st.Malformed == 0 || st.Oversized+st.TLSFailures == 0 {
		t.Errorf("%+v\n%s", st, p.log)
	}
}

// measure asks once a millisecond, and returns what 99 in 100 answers took at most.
func measure(c *client.Client, span time.Duration) time.Duration {
	var took []time.Duration
	for began := time.Now(); time.Since(began) < span; time.Sleep(time.Millisecond) {
		asked := time.Now()
		if r := c.RequestToken(context.Background(), fleetFlow, 1, false); r.Err != nil {
			return patience
		}
		took = append(took, time.Since(asked))
	}
	return quantileOf(took, 0.99)
}

// during does something while an address is attacked.
func during(t *testing.T, addr string, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var open []net.Conn
	for range halfOpen {
		if c, err := net.DialTimeout("tcp", addr, patience); err == nil {
			open = append(open, c)
		}
	}
	for _, c := range open[:slowOnes] {
		running.Go(func() { slowly(ctx, c) })
	}
	wrong := client.New(client.WithServer(addr), client.WithSecret([]byte("wrong")), client.WithBackoff(time.Millisecond, 20*time.Millisecond))
	wrong.Start()
	running.Go(func() {
		pace := time.NewTicker(time.Second / newPerSecond)
		defer pace.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-pace.C:
				attack := attacks()[n%len(attacks())]
				running.Go(func() { once(addr, attack) })
			}
		}
	})
	do()
	cancel()
	running.Wait()
	_ = wrong.Close() // it returns nil always
	for _, c := range open {
		_ = c.Close() // the server may have closed it
	}
}

// once makes one connection for an attack.
func once(addr string, attack func(net.Conn)) {
	c, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return
	}
	_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond)) // else it lasts longer
	attack(c)
	_ = c.Close() // the server may have closed it
}

// attacks are what a connection can be used for, besides asking. The server may end it meanwhile.
func attacks() []func(net.Conn) {
	send := func(b []byte) func(net.Conn) { return func(c net.Conn) { _ = write(c, b) } }
	return []func(net.Conn){
		func(net.Conn) {},
		send([]byte{0, 18, 0, 0, 0, 1, 1}), // half a frame
		send(slices.Concat([]byte{0xff, 0xff}, make([]byte, 70_000))), // too long
		send(slices.Concat([]byte{0x16, 3, 1, 2, 0}, random(512))),    // not TLS
		func(c net.Conn) { _ = write(c, random(1+rand.IntN(5000))) },  // garbage
		func(c net.Conn) { // as soon as a frame was sent, gone
			_ = write(c, []byte{0, 18, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0})
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
		},
		func(c net.Conn) { // malformed frames one after the other
			for range 150 {
				if write(c, []byte{0, 6, 0, 0, 0, 1, 1, 9}) != nil {
					return
				}
			}
			_, _ = c.Read(make([]byte, 4096))
		},
		func(c net.Conn) { // many questions, no answer read
			one := []byte{0, 18, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0}
			_ = write(c, slices.Repeat(one, 500))
			time.Sleep(100 * time.Millisecond)
		},
		func(c net.Conn) { // a TLS handshake that is left
			_ = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).Handshake()
		},
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = crand.Read(b) // it never fails
	return b
}

// slowly sends a frame byte by byte.
func slowly(ctx context.Context, c net.Conn) {
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for _, b := range slices.Repeat([]byte{0, 200}, 1000) {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
			if write(c, []byte{b}) != nil {
				return
			}
		}
	}
}

// certificate writes a certificate for localhost that signs itself, and its key.
func certificate(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(crand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, content := range map[string][]byte{cert: certPEM, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return cert, key, pool
}
