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
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/client"
)

// The secret of the servers under attack.
const fleetSecret = "correct horse battery staple"

// Attacks on the port leave the other clients their answers in time, and cost the server nothing that it keeps. Other
// tests do not run meanwhile.
func TestHostilePeers(t *testing.T) {
	needDescriptors(t, 4000)
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(fleetSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key, pool := certificate(t, dir)
	proof := client.WithSecret([]byte(fleetSecret))
	t.Run("secret", func(t *testing.T) {
		newSiege(t, []string{"-secret-file", secret}, proof).withstand()
	})
	t.Run("TLS and secret", func(t *testing.T) {
		newSiege(t, []string{"-secret-file", secret, "-tls-cert", cert, "-tls-key", key},
			proof, client.WithTLS(&tls.Config{RootCAs: pool, ServerName: "localhost"})).withstand()
	})
}

// siege is a server under attack, and one that is attacked instead of it to see what that costs the machine.
type siege struct {
	t             *testing.T
	server, decoy *process
	victim        *client.Client
}

func newSiege(t *testing.T, args []string, options ...client.Option) *siege {
	t.Helper()
	args = append(args, "-namespace", "shop="+flowRule(t, fleetFlow, 1e9, time.Second), "-max-qps", "1000000", "-admin", "127.0.0.1:0")
	serve := func() *process { return startProcess(t, append([]string{"-listen", loopback(t)}, args...)...) }
	s := &siege{t: t, server: serve(), decoy: serve()}
	s.victim = newAsker(t, s.server.addr, options...)
	measure(s.victim, 300*time.Millisecond) // warms up
	return s
}

// withstand compares the victim's times while its server is attacked with those while the decoy is.
func (s *siege) withstand() {
	s.t.Helper()
	memory, descriptors := s.server.memory(), s.server.descriptors()
	var quiet, calm, under []time.Duration
	var peak int64
	var cost time.Duration
	for range 3 {
		quiet = append(quiet, measure(s.victim, 300*time.Millisecond))
		during(s.t, s.decoy.addr, func() { calm = append(calm, measure(s.victim, 500*time.Millisecond)) })
		used := s.server.used()
		during(s.t, s.server.addr, func() {
			under = append(under, measure(s.victim, 500*time.Millisecond))
			peak = max(peak, s.server.memory())
		})
		cost += s.server.used() - used
	}
	a, b := quantileOf(calm, 0.5), quantileOf(under, 0.5)
	s.t.Logf("p99 %v without attacks, %v while a decoy is attacked, %v under attack: %v %v %v", quantileOf(quiet, 0.5), a, b, quiet, calm, under)
	s.t.Logf("memory %d MiB before, %d MiB at most; %v of processor time for three attacks", memory>>20, peak>>20, cost)
	room, factor := int64(64<<20), time.Duration(1)
	if raceEnabled {
		room, factor = 8*room, 10
	}
	tooSlow := func(under, calm time.Duration) bool { return under > factor*(2*calm+5*time.Millisecond) }
	if tooSlow(b, a) && tooSlow(slices.Min(under), slices.Min(calm)) {
		s.t.Errorf("p99 of another client is %v under attack, %v without", b, a)
	}
	if peak > memory+room {
		s.t.Errorf("memory went from %d to %d MiB", memory>>20, peak>>20)
	}
	until(s.t, "descriptors given back", func() bool { return s.server.descriptors() <= descriptors+5 })
	s.judge()
}

// judge looks at what the server says.
func (s *siege) judge() {
	s.t.Helper()
	until(s.t, "connections forgotten", func() bool { return s.server.status().Server.Connections == 1 })
	st := s.server.status().Server
	s.t.Logf("%d malformed, %d oversized, %d TLS failures, %d wrong secrets; ended: %v", st.Malformed, st.Oversized, st.TLSFailures, st.WrongProofs, st.Ended)
	if st.Ended["fault"] > 0 || st.AcceptErrors > 0 || st.WrongProofs == 0 || st.TLSFailures == 0 {
		s.t.Errorf("%+v\n%s", st, s.server.log)
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, addr)
	c.Env = append(os.Environ(), role+"="+asAttacker)
	stop, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = stop.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}()
	if n, err := said.Read(make([]byte, 64)); err != nil {
		t.Fatal(n, err)
	}
	do()
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
