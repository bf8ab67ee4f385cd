package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/standalone"
)

const tokenRules = `[{"resource":"pay","count":3,"clusterMode":true,"clusterConfig":{"flowId":7,"thresholdType":1,"windowIntervalMs":60000}}]`

const tokenParams = `[{"resource":"pay","paramIdx":0,"count":0.5,"clusterMode":true,"clusterConfig":{"flowId":8,"thresholdType":1,"windowIntervalMs":60000}}]`

// tokenServer serves the rules above until the test ends.
func tokenServer(t *testing.T, change func(*standalone.Config)) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"flow.json": tokenRules, "param.json": tokenParams} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := standalone.Config{
		Listen:     "127.0.0.1:0",
		Namespaces: standalone.Bindings{"shop=" + filepath.Join(dir, "flow.json")},
		ParamRules: standalone.Bindings{"shop=" + filepath.Join(dir, "param.json")},
	}
	if change != nil {
		change(&c)
	}
	s, err := standalone.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(t.Context()) }) // its clients are gone
	return s.Addr().String()
}

// answers returns what token-request printed, a map for each line, and its exit code.
func answers(t *testing.T, args ...string) (lines []map[string]any, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"token-request"}, args...), &out, &errs)
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, m)
	}
	if errs.Len() > 0 {
		t.Logf("stderr: %s", &errs)
	}
	return lines, code
}

func TestTokenRequest(t *testing.T) {
	t.Parallel()
	addr := tokenServer(t, nil)
	base := []string{"-addr", addr, "-namespace", "shop", "-timeout", "5s"}
	for _, c := range []struct {
		args  string
		names string
		code  int
	}{
		{"-flow 7 -count 178", "ok", exitOK},
		{"-flow 7 -repeat 4", "ok ok blocked blocked", exitFault},
		{"-flow 7 -prioritized", "blocked", exitFault},
		{"-flow 9", "no_rule_exists", exitFault},
		{"-flow 0", "bad_request", exitFault},
		{"-flow 7 -count 0", "bad_request", exitFault},
		{"-param 8 -value string:a -count 29", "ok", exitOK},
		{"-param 8 -value string:a -value int:1", "ok", exitOK},
		{"-param 8 -value string:a", "blocked", exitFault},
		{"-param 8 -value int:5 -value long:6 -value byte:-1 -value short:2 -value double:1.5 -value float:2.5 -value bool:true", "ok", exitOK},
	} {
		lines, code := answers(t, append(base, strings.Fields(c.args)...)...)
		var names []string
		for _, l := range lines {
			names = append(names, fmt.Sprint(l["name"]))
			if len(l) != 5 {
				t.Errorf("%s: %v", c.args, l)
			}
		}
		if strings.Join(names, " ") != c.names || code != c.code {
			t.Errorf("%s: %q, exit %d; want %q, %d", c.args, names, code, c.names, c.code)
		}
	}
}

func TestTokenRequestWithoutAnswer(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	guarded := tokenServer(t, func(c *standalone.Config) { c.SecretFile = secret })
	for addr, want := range map[string]string{closed.Addr().String(): "refused", silent.Addr().String(): "timeout", guarded: "unauthenticated"} {
		lines, code := answers(t, "-addr", addr, "-namespace", "shop", "-flow", "7", "-repeat", "2")
		if code != exitUsage || len(lines) != 2 || lines[0]["error"] != want || lines[1]["error"] != want {
			t.Errorf("%v, exit %d; want %s twice, %d", lines, code, want, exitUsage)
		}
	}
	if lines, code := answers(t, "-addr", guarded, "-namespace", "shop", "-flow", "7", "-secret-file", secret, "-timeout", "5s"); code != exitOK {
		t.Errorf("with the secret: %v, exit %d", lines, code)
	}
}

func TestTokenRequestFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-flow 1": "-addr", "-addr a:1": "-flow", "-addr a:1 -flow 1 -param 2": "-flow", "-addr a:1 -param 2": "-value",
		"-addr a:1 -param 2 -value x": "TYPE:VALUE", "-addr a:1 -param 2 -value date:1": "string", "-addr a:1 -param 2 -value byte:300": "byte",
		"-addr a:1 -flow 1 -repeat 0": "-repeat", "-addr a:1 -flow 1 x": "arguments", "-addr a:1 -flow 1 -tls-cert c": "-tls-key",
		"-addr a:1 -flow 1 -secret-file /missing": "missing", "-addr a:1 -flow 1 -timeout 0s": "-timeout",
		"-addr a -flow 1": "HOST:PORT", "-addr ::1 -flow 1": "HOST:PORT", "-addr a: -flow 1": "HOST:PORT",
		"-addr a:1 -flow 1 -count 2147483648": "-count",
	} {
		var out, errs bytes.Buffer
		if code := run(append([]string{"token-request"}, strings.Fields(args)...), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q; want %q", args, code, &out, &errs, want)
		}
	}
}

func TestTokenServerFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "server.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:5\nmax-qps: 7\nnamespace: [a=a.json]\nidle: 5s\nrls-rules: [a.yaml]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c, name, err := tokenServerConfig([]string{"-config", file, "-listen", "127.0.0.1:6", "-namespace", "b=b.json", "-compat"}, &errs)
	if err != nil || name != file {
		t.Fatal(name, err)
	}
	if c.Listen != "127.0.0.1:6" || *c.MaxQPS != 7 || !c.Compat || c.Idle.String() != "5s" ||
		c.Namespaces.String() != "a="+filepath.Join(dir, "a.json")+",b=b.json" {
		t.Errorf("%+v", c)
	}
	if c, _, err = tokenServerConfig([]string{"-config", file, "-namespace", "a=other.json"}, &errs); err != nil || c.Namespaces.String() != "a=other.json" {
		t.Errorf("a namespace of flag and file: %v, %v", c.Namespaces, err)
	}
	if c, _, err = tokenServerConfig([]string{"-config", file, "-rls-rules", "b.yaml"}, &errs); err != nil || c.RLSRules.String() != "b.yaml" {
		t.Errorf("the rate limit service's rules of flag and file: %v, %v", c.RLSRules, err)
	}
	for _, args := range []string{
		"-listen 0.0.0.0:0", "-listen 127.0.0.1:99999", "-listen 127.0.0.1:0 -admin 127.0.0.1:-1", "-max-qps x", "-nonsense", "extra", "-namespace a=/missing.json", "-config /missing.yaml", "-idle 5",
		"-listen 127.0.0.1:0 -tls-cert x", "-listen 127.0.0.1:0 -exceed-count -1",
	} {
		var out, errs bytes.Buffer
		if code := run(append([]string{"token-server"}, strings.Fields(args)...), &out, &errs); code != exitUsage || errs.Len() == 0 || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q", args, code, &out, &errs)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var out bytes.Buffer
	if code := run([]string{"token-server", "-listen", taken.Addr().String()}, &out, &out); code != exitFault {
		t.Errorf("a taken address: exit %d, %s", code, &out)
	}
}
