package client_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/server"
	"github.com/tidegate-go/tidegate/cluster/token"
	"github.com/tidegate-go/tidegate/flow"
	"github.com/tidegate-go/tidegate/hotspot"
)

// patience is how long a test waits for what should come soon.
const patience = 20 * time.Second

// newService has flow 101 of 10 in all, 103 without end, 104 of 2 at the same time, and param 202 of 2 in all. Its
// clock stands still.
func newService(t testing.TB) *token.Service {
	t.Helper()
	s := token.New(token.WithClock(func() int64 { return 1_700_000_000_000_000_000 }))
	config := token.DefaultConfig()
	config.MaxAllowedQPS = 1e12
	index := 0
	global := func(id int64) *chain.ClusterConfig {
		return &chain.ClusterConfig{FlowID: id, ThresholdType: chain.ThresholdGlobal}
	}
	report := s.LoadFlow("appA", []flow.Rule{
		{Resource: "a", Count: 10, ClusterMode: true, ClusterConfig: global(101)},
		{Resource: "c", Count: 1e9, ClusterMode: true, ClusterConfig: global(103)},
		{Resource: "d", Count: 2, Grade: flow.GradeConcurrency, ClusterMode: true, ClusterConfig: global(104)},
	})
	params := s.LoadParam("appA", []hotspot.Rule{
		{Resource: "p", ParamIdx: &index, Count: 2, ClusterMode: true, ClusterConfig: global(202)},
	})
	for _, err := range []error{s.Configure(config), report.Err(), params.Err()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// serve opens a server at an address, ":0" for any.
func serve(t testing.TB, addr string, opts ...server.Option) (*server.Server, string) {
	t.Helper()
	s := server.New(newService(t), opts...)
	a, err := s.Listen(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, a.String()
}

// connect makes a client of a real server.
func connect(t testing.TB, addr string, opts ...client.Option) *client.Client {
	t.Helper()
	c := client.New(append([]client.Option{
		client.WithServer(addr), client.WithNamespace("appA"), client.WithTimeout(patience), client.WithDialTimeout(patience),
		client.WithMaxTimeouts(0), // an overloaded machine is none of a silent server
	}, opts...)...)
	t.Cleanup(func() { _ = c.Close() })
	c.Start()
	return c
}

func usable(t testing.TB, c *client.Client) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRealServer(t *testing.T) {
	t.Parallel()
	_, addr := serve(t, "127.0.0.1:0")
	c := usable(t, connect(t, addr))
	ctx := t.Context()
	for i := range 12 {
		want := chain.TokenOK
		if i >= 10 {
			want = chain.TokenBlocked
		}
		wantStatus(t, ask(c), want, nil)
	}
	wantStatus(t, c.RequestToken(ctx, 999, 1, false), chain.TokenNoRule, nil)
	values := []chain.Arg{chain.String("", "u"), chain.Int("", 7)}
	wantStatus(t, c.RequestParamToken(ctx, 202, 2, values), chain.TokenOK, nil)
	wantStatus(t, c.RequestParamToken(ctx, 202, 1, values[:1]), chain.TokenBlocked, nil)
	first, second := c.AcquireConcurrent(ctx, 104, 1), c.AcquireConcurrent(ctx, 104, 1)
	wantStatus(t, first, chain.TokenOK, nil)
	wantStatus(t, second, chain.TokenOK, nil)
	wantStatus(t, c.AcquireConcurrent(ctx, 104, 1), chain.TokenBlocked, nil)
	c.ReleaseConcurrent(first.TokenID)
	wantStatus(t, c.AcquireConcurrent(ctx, 104, 1), chain.TokenOK, nil)
	if s := c.Status(); !s.Extension || s.Connected != 1 || s.Held != 2 {
		t.Errorf("%+v", s)
	}
}

func TestRealCoalescing(t *testing.T) {
	t.Parallel()
	_, addr := serve(t, "127.0.0.1:0")
	c := usable(t, connect(t, addr, client.WithCoalescing(0)))
	if ok, blocked, _ := together(t, c, 64); ok != 10 || blocked != 54 {
		t.Errorf("%d granted, %d blocked", ok, blocked)
	}
	before := c.Status().Counters.Requests
	const calls = 200
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range calls {
				wantStatus(t, c.RequestToken(context.Background(), 103, 1, false), chain.TokenOK, nil)
			}
		})
	}
	wg.Wait()
	if n := c.Status().Counters.Requests - before; n*5 > 64*calls {
		t.Errorf("%d requests for %d calls", n, 64*calls)
	}
}

func TestRealServerComesBack(t *testing.T) {
	t.Parallel()
	s, addr := serve(t, "127.0.0.1:0")
	c := usable(t, connect(t, addr, client.WithTimeout(client.DefaultTimeout)))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "failing", func() bool { return ask(c).Status == chain.TokenFail })
	serve(t, addr)
	start := time.Now()
	until(t, "answered", func() bool { return ask(c).Err == nil })
	t.Logf("back after %v", time.Since(start))
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func TestRealRefusal(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, addr)
	wantStatus(t, chain.TokenResult{Err: c.Ready(t.Context())}, chain.TokenOK, client.ErrRefused)
}

// pair makes an authority's pool and certificates of a server and a client.
func pair(t testing.TB) (pool *x509.CertPool, serverCert, clientCert tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	issue := func(usage x509.ExtKeyUsage) tls.Certificate {
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(2), NotBefore: root.NotBefore, NotAfter: root.NotAfter,
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		}
		der, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, root, root, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(cert)
	return pool, issue(x509.ExtKeyUsageServerAuth), issue(x509.ExtKeyUsageClientAuth)
}

func TestRealTLSAndSecret(t *testing.T) {
	t.Parallel()
	pool, serverCert, clientCert := pair(t)
	config := &tls.Config{Certificates: []tls.Certificate{serverCert}}
	mutual := config.Clone()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, pool
	_, plain := serve(t, "127.0.0.1:0")
	_, secure := serve(t, "127.0.0.1:0", server.WithTLS(config), server.WithSecret([]byte("s")))
	_, both := serve(t, "127.0.0.1:0", server.WithTLS(mutual))
	trust := &tls.Config{RootCAs: pool}
	known := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{clientCert}}
	secret := client.WithSecret([]byte("s"))
	for name, c := range map[string]struct {
		addr string
		opts []client.Option
		want error
	}{
		"TLS and secret":     {secure, []client.Option{client.WithTLS(trust), secret}, nil},
		"no secret":          {secure, []client.Option{client.WithTLS(trust)}, client.ErrUnauthenticated},
		"wrong secret":       {secure, []client.Option{client.WithTLS(trust), client.WithSecret([]byte("x"))}, client.ErrUnauthenticated},
		"unknown authority":  {secure, []client.Option{client.WithTLS(&tls.Config{}), secret}, client.ErrTLS},
		"plain to TLS":       {secure, []client.Option{secret}, client.ErrClosed},
		"TLS to plain":       {plain, []client.Option{client.WithTLS(trust), client.WithDialTimeout(time.Second)}, client.ErrTLS},
		"certificate":        {both, []client.Option{client.WithTLS(known)}, nil},
		"without one":        {both, []client.Option{client.WithTLS(trust)}, client.ErrTLS},
		"secret of one side": {plain, []client.Option{secret}, client.ErrUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := connect(t, c.addr, c.opts...)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			err := cl.Ready(ctx)
			wantStatus(t, chain.TokenResult{Err: err}, chain.TokenOK, c.want)
			if c.want == nil {
				wantStatus(t, cl.RequestToken(ctx, 103, 1, false), chain.TokenOK, nil)
			}
		})
	}
}

// TestStress has callers of all kinds on a connection that is cut again and again, between two servers.
func TestStress(t *testing.T) {
	t.Parallel()
	_, one := serve(t, "127.0.0.1:0")
	_, two := serve(t, "127.0.0.1:0")
	var mu sync.Mutex
	var last net.Conn
	c := usable(t, connect(t, one, client.WithCoalescing(0), client.WithTimeout(50*time.Millisecond), client.WithMaxTimeouts(0),
		client.WithBackoff(time.Millisecond, 5*time.Millisecond), client.WithPingInterval(5*time.Millisecond),
		client.WithDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			nc, err := d.DialContext(ctx, "tcp", addr)
			mu.Lock()
			defer mu.Unlock()
			last = nc
			return nc, err
		})))
	var stop atomic.Bool
	var answered atomic.Int64
	var wg sync.WaitGroup
	values := []chain.Arg{chain.String("", "u")}
	for i := range 32 {
		wg.Go(func() {
			for !stop.Load() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*200*time.Microsecond)
				results := []chain.TokenResult{
					c.RequestToken(ctx, 103, 1, false), c.RequestToken(ctx, 103, 2, true),
					c.RequestParamToken(ctx, 202, 1, values), c.AcquireConcurrent(ctx, 104, 1),
				}
				cancel()
				c.ReleaseConcurrent(results[3].TokenID)
				for _, r := range results {
					if r.Err == nil {
						answered.Add(1)
					}
				}
			}
		})
	}
	for i := range 60 {
		time.Sleep(5 * time.Millisecond)
		switch i % 3 {
		case 0:
			mu.Lock()
			if last != nil {
				_ = last.Close()
			}
			mu.Unlock()
		case 1:
			c.SetServer(two)
		default:
			c.SetServer(one)
			_ = c.Status()
		}
	}
	until(t, "answers", func() bool { return answered.Load() > 100 })
	stop.Store(true)
	wg.Wait()
	until(t, "nothing in flight", func() bool { return c.Status().InFlight == 0 })
	wantStatus(t, usable(t, c).RequestToken(t.Context(), 103, 1, false), chain.TokenOK, nil)
}
