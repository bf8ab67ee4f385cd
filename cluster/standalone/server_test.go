package standalone_test

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/standalone"
)

func TestServesAndFollowsRules(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	rules := p.write("rules.json", "["+rule(1, 2)+"]")
	s := start(t, standalone.Config{Namespaces: standalone.Bindings{"shop=" + rules, "bare"}, Admin: "127.0.0.1:0"})
	if ns := status(t, s).Service.Namespaces; len(ns) != 2 || ns[1].Namespace != "bare" {
		t.Errorf("namespaces %+v", ns)
	}
	if got := ask(t, s.Addr().String(), 1); got.Status != chain.TokenOK || got.Remaining != 1 {
		t.Errorf("first request: %+v", got)
	}
	p.write("rules.json", "["+rule(2, 5)+"]")
	eventually(t, "the new rule decides", func() bool { return ask(t, s.Addr().String(), 2).Status == chain.TokenOK })
	if got := ask(t, s.Addr().String(), 1); got.Status != chain.TokenNoRule {
		t.Errorf("the removed rule still decides: %+v", got)
	}
	for _, bad := range []string{"[{", "[" + strings.Replace(rule(3, 1), `"flowId":3`, `"flowId":-3`, 1) + "]"} {
		p.write("rules.json", bad)
		eventually(t, "the bad file shows", func() bool { st := status(t, s); return st.Files[0].Stale && st.Files[0].Error != "" })
		if got := ask(t, s.Addr().String(), 2); got.Status == chain.TokenNoRule {
			t.Errorf("%s took the rules away: %+v", bad, got)
		}
		p.write("rules.json", "["+rule(2, 500)+"]")
		eventually(t, "the good file is in force again", func() bool { return !status(t, s).Files[0].Stale })
	}
	if err := os.Remove(rules); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the missing file shows", func() bool {
		st := status(t, s)
		return st.Files[0].Stale && strings.Contains(st.Files[0].Error, "gone")
	})
	p.write("rules.json", "["+rule(2, 500)+","+strings.Replace(rule(3, 1), `"flowId":3`, `"flowId":-3`, 1)+"]")
	eventually(t, "the refused rule shows", func() bool { return len(status(t, s).Files[0].Refused) == 1 })
	text := get(t, s, "/metrics")
	for _, want := range []string{
		`tidegate_token_decisions_total{flow_id="2",kind="flow",namespace="shop",resource="r2",status="ok"} `,
		"tidegate_token_latency_seconds_bucket", "tidegate_token_connections ", "tidegate_token_malformed_frames_total 0",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// The single document gives flow and parameter rules of a namespace, in JSON and YAML.
func TestSingleDocument(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.write("rules.yaml", "flowRules: ["+rule(1, 1)+"]\nparamFlowRules: [{resource: p, paramIdx: 0, count: 3, clusterMode: true, clusterConfig: {flowId: 9, thresholdType: 1}}]\n")
	s := start(t, standalone.Config{Namespaces: standalone.Bindings{"shop=" + file}})
	c := client.New(client.WithServer(s.Addr().String()), client.WithTimeout(1e10))
	c.Start()
	defer c.Close()
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.RequestParamToken(t.Context(), 9, 1, []chain.Arg{chain.String("", "a")}); got.Status != chain.TokenOK || got.Remaining != 2 {
		t.Errorf("%+v", got)
	}
	if got := c.RequestToken(t.Context(), 1, 1, false); got.Status != chain.TokenOK {
		t.Errorf("%+v", got)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	rules, others := p.write("rules.json", "["+rule(1, 1000)+"]"), p.write("others.json", "["+rule(2, 1000)+"]")
	config := standalone.Config{Listen: "127.0.0.1:0", Namespaces: standalone.Bindings{"shop=" + rules}, Admin: "127.0.0.1:0"}
	var told []string
	s := start(t, config, standalone.WithListening(func(a net.Addr) { told = append(told, a.String()) }))
	first := s.Addr().String()
	steady := client.New(client.WithServer(first), client.WithTimeout(1e10))
	steady.Start()
	defer steady.Close()
	if err := steady.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}

	none := 0.0
	config.MaxQPS = &none
	reload(t, s, config)
	if got := steady.RequestToken(t.Context(), 1, 1, false); got.Status != chain.TokenTooManyRequest {
		t.Errorf("the new limit is not in force: %+v", got)
	}
	config.MaxQPS = nil
	config.Namespaces = standalone.Bindings{"shop=" + others}
	reload(t, s, config)
	if got := ask(t, first, 2); got.Status != chain.TokenOK {
		t.Errorf("the other file: %+v", got)
	}
	if got := ask(t, first, 1); got.Status != chain.TokenNoRule {
		t.Errorf("the file before: %+v", got)
	}

	wrong := config
	wrong.Namespaces = standalone.Bindings{"shop=" + p.path("missing.json")}
	var bad *standalone.ConfigError
	if err := s.Reload(t.Context(), wrong); !errors.As(err, &bad) || !strings.Contains(err.Error(), "missing.json") {
		t.Errorf("a missing file: %v", err)
	}
	wrong = config
	wrong.Listen = "192.0.2.1:1"
	if err := s.Reload(t.Context(), wrong); !errors.As(err, &bad) {
		t.Errorf("an address that is not safe: %v", err)
	}
	wrong.Insecure = true
	wrong.Namespaces = standalone.Bindings{"shop=" + rules}
	if err := s.Reload(t.Context(), wrong); err == nil || errors.As(err, &bad) {
		t.Errorf("an address that is not this machine's: %v", err)
	}
	if got := ask(t, first, 2); got.Status != chain.TokenOK {
		t.Errorf("refused configurations changed something: %+v", got)
	}
	if st := status(t, s); st.Config.Refused != 3 || st.Config.LastError == "" || st.Config.Reloads != 2 {
		t.Errorf("%+v", st.Config)
	}

	config.Listen = "localhost:0"
	reload(t, s, config)
	if s.Addr().String() == first {
		t.Error("it listens where it did")
	}
	if got := ask(t, s.Addr().String(), 2); got.Status != chain.TokenOK {
		t.Errorf("the new address: %+v", got)
	}
	if got := ask(t, first, 2); !errors.Is(got.Err, client.ErrRefused) {
		t.Errorf("the address before: %+v", got)
	}
	second := s.Addr().String()
	config.Compat = true
	reload(t, s, config)
	if s.Addr().String() != second || status(t, s).Mode != "compatible" {
		t.Errorf("%s, mode %s", s.Addr(), status(t, s).Mode)
	}
	if got := ask(t, second, 2); got.Status != chain.TokenOK {
		t.Errorf("compatible: %+v", got)
	}
	if !slices.Equal(told, []string{first, second}) {
		t.Errorf("told %q, want %q and %q", told, first, second)
	}
	config.Namespaces = nil
	reload(t, s, config)
	if got := ask(t, second, 2); got.Status != chain.TokenNoRule {
		t.Errorf("without files: %+v", got)
	}
}

func reload(t *testing.T, s *standalone.Server, c standalone.Config) {
	t.Helper()
	if err := s.Reload(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func TestSecretAndCertificates(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	rules, secret := p.write("rules.json", "["+rule(1, 1000)+"]"), p.write("secret", "open sesame\n")
	cert, key := p.certificate("server")
	config := standalone.Config{Listen: "127.0.0.1:0", Namespaces: standalone.Bindings{"shop=" + rules}, SecretFile: secret}
	s := start(t, config)
	knows := client.WithSecret([]byte("open sesame"))
	if got := ask(t, s.Addr().String(), 1, knows); got.Status != chain.TokenOK {
		t.Errorf("with the secret: %+v", got)
	}
	for name, opts := range map[string][]client.Option{"none": nil, "wrong": {client.WithSecret([]byte("x"))}} {
		if got := ask(t, s.Addr().String(), 1, opts...); !errors.Is(got.Err, client.ErrUnauthenticated) {
			t.Errorf("secret %s: %+v", name, got)
		}
	}
	config.TLSCert, config.TLSKey, config.TLSClientCA = cert, key, cert
	reload(t, s, config) // on the same address
	authorities, err := standalone.ReadCertificates(cert)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	with := client.WithTLS(&tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	if got := ask(t, s.Addr().String(), 1, knows, with); got.Status != chain.TokenOK {
		t.Errorf("with secret and certificate: %+v", got)
	}
	without := client.WithTLS(&tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12})
	if got := ask(t, s.Addr().String(), 1, knows, without); got.Err == nil {
		t.Errorf("without a certificate: %+v", got)
	}
	if got := ask(t, s.Addr().String(), 1, knows); got.Err == nil {
		t.Errorf("in plaintext: %+v", got)
	}
}

func TestRLS(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	limits := p.write("limits.yaml", "domain: foo\ndescriptors: [{resources: [{key: a, value: b}], count: 1}]\n")
	config := standalone.Config{Listen: "127.0.0.1:0", RLSListen: "127.0.0.1:0", RLSRules: standalone.Bindings{limits}, Admin: "127.0.0.1:0"}
	s := start(t, config)
	if st := status(t, s); st.RLS == nil || len(st.RLS.Domains) != 1 || st.RLS.Domains[0].Domain != "foo" {
		t.Errorf("%+v", st.RLS)
	}
	before := s.RLSAddr().String()
	config.RLSRules = standalone.Bindings{p.write("more.yaml", "domain: bar\ndescriptors: [{resources: [{key: a, value: b}], count: 1}]\n")}
	reload(t, s, config)
	if st := status(t, s); st.RLS.Domains[0].Domain != "bar" || s.RLSAddr().String() != before {
		t.Errorf("%+v at %s, before at %s", st.RLS, s.RLSAddr(), before)
	}
	config.RLSRules = standalone.Bindings{p.path("missing.yaml")}
	if err := s.Reload(t.Context(), config); err == nil {
		t.Error("a missing file was taken")
	}
	if st := status(t, s); st.RLS.Domains[0].Domain != "bar" {
		t.Errorf("%+v", st.RLS)
	}
}

func TestZeroServer(t *testing.T) {
	t.Parallel()
	var s *standalone.Server
	if s.Addr() != nil || s.Stop(t.Context()) != nil || s.Start(t.Context()) == nil || s.Reload(t.Context(), standalone.Config{}) == nil {
		t.Error("a server that was not made does something")
	}
	made, err := standalone.New(standalone.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if made.Addr() != nil || made.AdminAddr() != nil || made.Reload(t.Context(), standalone.Config{}) == nil {
		t.Error("a server that was not started does something")
	}
	if st := made.Status(); st.Listening != "" {
		t.Errorf("%+v", st)
	}
	if err := made.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if made.Start(t.Context()) == nil {
		t.Error("a stopped server starts")
	}
}
