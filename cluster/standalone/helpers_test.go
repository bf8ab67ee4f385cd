package standalone_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/standalone"
)

// rule is one flow rule with a global limit.
func rule(id int64, count float64) string {
	return fmt.Sprintf(`{"resource":"r%d","count":%v,"clusterMode":true,"clusterConfig":{"flowId":%d,"thresholdType":1}}`, id, count, id)
}

// place is a folder for the files of a test.
type place struct {
	t   *testing.T
	dir string
}

func newPlace(t *testing.T) place { return place{t, t.TempDir()} }

func (p place) path(name string) string { return filepath.Join(p.dir, name) }

// write replaces a file as editors do, so that nobody reads half of it, and returns its path.
func (p place) write(name, content string) string {
	p.t.Helper()
	path := p.path(name)
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// start serves a configuration until the test ends.
func start(t *testing.T, c standalone.Config, opts ...standalone.Option) *standalone.Server {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	s, err := standalone.New(c, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *standalone.Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
}

// connect returns a client of the server.
func connect(t *testing.T, address string, opts ...client.Option) *client.Client {
	t.Helper()
	c := client.New(append([]client.Option{
		client.WithServer(address), client.WithNamespace("shop"), client.WithTimeout(5 * time.Second),
		client.WithMaxTimeouts(0), client.WithoutBackOff(),
	}, opts...)...)
	t.Cleanup(func() { _ = c.Close() })
	c.Start()
	_ = c.Ready(t.Context()) // a request tells
	return c
}

// ask returns a client's answer to one request, asked over a connection of its own.
func ask(t *testing.T, address string, id int64, opts ...client.Option) chain.TokenResult {
	t.Helper()
	c := connect(t, address, opts...)
	defer c.Close()
	return c.RequestToken(t.Context(), id, 1, false)
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

// get returns what the admin address answers.
func get(t *testing.T, s *standalone.Server, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.AdminAddr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Timeout: 20 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", path, response.StatusCode, body, err)
	}
	return string(body)
}

// status returns what GET /status tells.
func status(t *testing.T, s *standalone.Server) (st standalone.Status) {
	t.Helper()
	if err := json.Unmarshal([]byte(get(t, s, "/status")), &st); err != nil {
		t.Fatal(err)
	}
	return st
}

// certificate writes a certificate that signs itself, for loopback, and its key.
func (p place) certificate(name string) (cert, key string) {
	p.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		p.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		p.t.Fatal(err)
	}
	cert = p.write(name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	key = p.write(name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return cert, key
}
