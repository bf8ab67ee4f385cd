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
