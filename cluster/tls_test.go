package cluster_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster"
)

// identity returns a configuration with which a machine proves itself to others that have the same, and demands that of them.
func identity(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ours, ports := identity(t), []int{freePort(t)}
	local := cluster.WithListenHost("127.0.0.1")
	s, c := newMachine(t, "s0", cluster.WithTLS(ours), local), newMachine(t, "c", cluster.WithTLS(ours))
	stranger, open := newMachine(t, "c", cluster.WithTLS(identity(t))), newMachine(t, "c")
	for _, m := range []*machine{s, c, stranger, open} {
		m.update(t, text("0.5", ports, `"c"`))
	}
	s.reaches(t, cluster.ModeServer, cluster.PhaseRunning)
	c.reaches(t, cluster.ModeClient, cluster.PhaseRunning)
	if !s.call(t) || !c.call(t) {
		t.Error("a call of those who know each other did not pass")
	}
	for _, m := range []*machine{stranger, open} {
		m.reaches(t, cluster.ModeClient, cluster.PhaseFailed)
		if m.call(t) {
			t.Error("a call of somebody else passed")
		}
	}
}

func TestStatusAsJSON(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "s0")
	m.update(t, text("0.5", []int{freePort(t)}, ""))
	text, err := json.Marshal(m.reaches(t, cluster.ModeServer, cluster.PhaseRunning))
	for _, part := range []string{`"identity":"s0"`, `"namespace":"app"`, `"mode":1`, `"phase":"running"`, `"inForce":1`, `"listen":"127.0.0.1:`, `"document":{"present":true`, "serves this host only"} {
		if err != nil || !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s, %v", part, text, err)
		}
	}
}
