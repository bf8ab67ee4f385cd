package standalone_test

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster/client"
	"github.com/tidegate-go/tidegate/cluster/standalone"
)

// A secret and a certificate that are renewed in their files are in force without a word; a bad one changes nothing.
func TestRenewedSecretAndCertificate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	rules, secret := p.write("rules.json", "["+rule(1, 1000)+"]"), p.write("secret", "the first secret of them")
	cert, key := p.certificate("server")
	s := start(t, standalone.Config{
		Namespaces: standalone.Bindings{"shop=" + rules}, SecretFile: secret, TLSCert: cert, TLSKey: key, Admin: "127.0.0.1:0",
	})
	address := s.Addr().String()
	granted := func(secret, cert string) bool {
		authorities, err := standalone.ReadCertificates(cert)
		if err != nil {
			t.Fatal(err)
		}
		encrypted := client.WithTLS(&tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12})
		return ask(t, address, 1, encrypted, client.WithSecret([]byte(secret))).Status == chain.TokenOK
	}
	if !granted("the first secret of them", cert) {
		t.Fatal("not served at first")
	}
	p.write("secret", "the second secret of them")
	eventually(t, "the new secret is asked for", func() bool { return granted("the second secret of them", cert) })
	if granted("the first secret of them", cert) {
		t.Error("the old secret is still good")
	}
	p.write("secret", "\n")
	eventually(t, "the bad secret shows", func() bool { return strings.Contains(status(t, s).Config.LastError, "is empty") })
	if !granted("the second secret of them", cert) {
		t.Error("a bad secret took the good one away")
	}
	p.write("secret", "the second secret of them")
	eventually(t, "the mistake is forgotten", func() bool { return status(t, s).Config.LastError == "" })
	p.certificate("server") // another one
	eventually(t, "the new certificate is shown", func() bool { return granted("the second secret of them", cert) })
}

// What a rule file says in vain can be seen: repeated flow ids, misspelt members, no rule for a server.
func TestWarnings(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, v := range map[string]struct {
		content, want string
		rules         int
	}{
		"repeated": {"[" + rule(1, 1) + "," + strings.Replace(rule(1, 2), `"r1"`, `"other"`, 1) + "]", "same clusterConfig.flowId, 1", 1},
		"misspelt": {`{"flowRulez":[` + rule(1, 1) + `]}`, `unknown member "flowRulez"`, 0},
		"member":   {"[" + strings.Replace(rule(1, 1), `"count"`, `"cont":3,"count"`, 1) + "]", `flow[0] r1: unknown member "cont"`, 1},
		"clients":  {`[{"resource":"a","count":1}]`, "no rule is in force", 0},
		"routes":   {`{"gatewayFlowRules":[{"resource":"a","count":1}]}`, "no rule is in force", 0},
		"fine":     {`[{"resource":"a","count":1},` + rule(1, 1) + "]", "", 1},
		"nothing":  {"[]", "", 0},
	} {
		file := p.write(name+".json", v.content)
		s := start(t, standalone.Config{Namespaces: standalone.Bindings{"shop=" + file}})
		f := s.Status().Files[0]
		text := strings.Join(f.Warnings, "\n")
		if f.Rules != v.rules || (text == "") != (v.want == "") || !strings.Contains(text, v.want) || f.Stale || len(f.Refused) > 0 {
			t.Errorf("%s: %+v, want %d rules and %q", name, f, v.rules, v.want)
		}
	}
}

// A gateway's own rule file is one for the token server too.
func TestGatewayRules(t *testing.T) {
	t.Parallel()
	file := newPlace(t).write("gateway.json", `{
		"flowRules": [`+rule(1, 3)+`],
		"gatewayFlowRules": [
			{"resource": "all", "count": 2, "intervalSec": 60, "clusterMode": true, "clusterConfig": {"flowId": 7, "thresholdType": 1}},
			{"resource": "each", "count": 1, "intervalSec": 60, "paramItem": {"parseStrategy": 0}, "clusterMode": true,
				"clusterConfig": {"flowId": 8, "thresholdType": 1}},
			{"resource": "here", "count": 1}
		]}`)
	s := start(t, standalone.Config{Namespaces: standalone.Bindings{"shop=" + file}})
	if f := s.Status().Files[0]; f.Rules != 3 || len(f.Refused) > 0 {
		t.Errorf("%+v", f)
	}
	c := connect(t, s.Addr().String())
	for i, want := range []chain.TokenStatus{chain.TokenOK, chain.TokenOK, chain.TokenBlocked} {
		if got := c.RequestToken(t.Context(), 7, 1, false); got.Status != want {
			t.Errorf("request %d for all: %+v, want %v", i, got, want)
		}
	}
	for i, v := range []struct {
		value string
		want  chain.TokenStatus
	}{{"10.0.0.1", chain.TokenOK}, {"10.0.0.1", chain.TokenBlocked}, {"10.0.0.2", chain.TokenOK}} {
		if got := c.RequestParamToken(t.Context(), 8, 1, []chain.Arg{chain.String("", v.value)}); got.Status != v.want {
			t.Errorf("request %d for %s: %+v, want %v", i, v.value, got, v.want)
		}
	}
	if got := c.RequestToken(t.Context(), 1, 3, false); got.Status != chain.TokenOK {
		t.Errorf("the flow rule beside: %+v", got)
	}
}
