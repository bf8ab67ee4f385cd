package standalone_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tidegate-go/tidegate/cluster/standalone"
)

const whole = `
listen: 127.0.0.1:1
namespace: [shop=rules.json, bank]
param-namespace: {shop: params.json}
max-qps: 10
exceed-count: 1.5
max-occupy-ratio: 0.5
interval: 2s
sample-count: 4
namespaces:
  bank: {max-qps: 3, interval: 1s}
idle: 5m
max-conns-per-ip: 7
compat: true
tls-cert: c
tls-key: k
tls-client-ca: a
secret-file: s
insecure: true
admin: 127.0.0.1:2
rls-listen: 127.0.0.1:3
rls-rules: limits.yaml
`

func TestParse(t *testing.T) {
	t.Parallel()
	c, err := standalone.Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:1" || c.Namespaces.String() != "shop=rules.json,bank" || c.ParamRules.String() != "shop=params.json" ||
		*c.MaxQPS != 10 || *c.ExceedCount != 1.5 || *c.MaxOccupyRatio != 0.5 || time.Duration(*c.Interval) != 2*time.Second ||
		*c.SampleCount != 4 || *c.PerNamespace["bank"].MaxQPS != 3 || time.Duration(c.Idle) != 5*time.Minute || c.MaxConns != 7 ||
		!c.Compat || c.TLSCert != "c" || c.TLSKey != "k" || c.TLSClientCA != "a" || c.SecretFile != "s" || !c.Insecure ||
		c.Admin != "127.0.0.1:2" || c.RLSListen != "127.0.0.1:3" || c.RLSRules.String() != "limits.yaml" {
		t.Errorf("%+v", c)
	}
	if _, err := standalone.Parse(nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	for text, want := range map[string]string{
		"listen: [1]": "line 1", "maxQps: 1": "line 1: there is no setting maxQps", "idle: 5": "500ms", "[a]": "cannot read a list as settings",
		"compat: [1]": "cannot read a list as true or false", "idle: -1s": "500ms", "max-qps: many": "line 1",
		"namespace: {a: {b: c}}": "file name", "a: 1\n---\nb: 2": "", "namespaces: {a: {listen: x}}": "listen", "namespace: ['']": "empty",
	} {
		if _, err := standalone.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	negative, nothing := -1.0, 0
	for want, c := range map[string]standalone.Config{
		"insecure":                    {Listen: "0.0.0.0:0"},
		"listen: 192.0.2.7:80 is not": {Listen: "192.0.2.7:80"},
		"not host:port":               {Listen: "here"},
		"port must be 0 to 65535":     {Listen: "127.0.0.1:65536"},
		"admin: \"localhost:-1\"":     {Admin: "localhost:-1"},
		"admin: ":                     {Admin: ":9", SecretFile: "s"},
		"rls-listen: ":                {RLSListen: ":9", RLSRules: standalone.Bindings{"x"}, SecretFile: "s"},
		"needs rls-rules":             {RLSListen: "127.0.0.1:0"},
		"needs rls-listen":            {RLSRules: standalone.Bindings{"x"}},
		"together with tls-key":       {TLSCert: "c"},
		"needs tls-cert":              {TLSClientCA: "a"},
		"there twice":                 {Namespaces: standalone.Bindings{"a=b", "a=c"}},
		"has no file":                 {ParamRules: standalone.Bindings{"a"}},
		"has no name":                 {Namespaces: standalone.Bindings{"=b"}},
		"max-qps: -1":                 {Limits: standalone.Limits{MaxQPS: &negative}},
		"namespaces.a: interval":      {PerNamespace: map[string]standalone.Limits{"a": {SampleCount: &nothing}}},
		"max-conns-per-ip":            {MaxConns: -1},
	} {
		_, err := standalone.New(c)
		var bad *standalone.ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, c := range []standalone.Config{
		{},
		{Listen: "[::1]:0"},
		{Listen: "localhost:0"},
		{Listen: "0.0.0.0:0", Insecure: true},
		{Listen: "0.0.0.0:0", SecretFile: "s"},
		{Listen: ":0", TLSCert: "c", TLSKey: "k"},
	} {
		if _, err := standalone.New(c); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// A bad file at the start keeps the server from starting, and nothing is left open.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	good, bad := p.write("good.json", "["+rule(1, 1)+"]"), p.write("bad.json", "[")
	for name, c := range map[string]standalone.Config{
		"rules":   {Namespaces: standalone.Bindings{"a=" + good, "b=" + bad}},
		"params":  {ParamRules: standalone.Bindings{"a=" + p.path("missing")}},
		"secret":  {SecretFile: p.write("secret", " \n")},
		"tls":     {TLSCert: good, TLSKey: good},
		"rls":     {RLSListen: "127.0.0.1:0", RLSRules: standalone.Bindings{bad}},
		"refused": {Namespaces: standalone.Bindings{"a=" + p.write("none.json", "["+rule(-1, 1)+"]")}},
	} {
		c.Listen = "127.0.0.1:0"
		s, err := standalone.New(c)
		if err != nil {
			t.Fatal(err)
		}
		var wrong *standalone.ConfigError
		if err := s.Start(t.Context()); !errors.As(err, &wrong) {
			t.Errorf("%s: %v", name, err)
		}
		if s.Addr() != nil {
			t.Errorf("%s: it listens", name)
		}
	}
}

// The configuration file is followed: what it says later is in force later, and flags stay what they were.
func TestFollow(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write("rules.json", "["+rule(1, 1000)+"]")
	file := p.write("server.yaml", "listen: 127.0.0.1:0\nnamespace: shop=rules.json\nadmin: 127.0.0.1:0\n")
	load := func() (standalone.Config, error) { return standalone.Load(file) }
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, c)
	end := standalone.Follow(t.Context(), file, s, load)
	defer end()
	p.write("server.yaml", "listen: 127.0.0.1:0\nnamespace: shop=rules.json\nadmin: 127.0.0.1:0\nmax-qps: 0\n")
	eventually(t, "the limit is in force", func() bool { return ask(t, s.Addr().String(), 1).Status.String() == "too_many_request" })
	p.write("server.yaml", "liste: 127.0.0.1:0\n")
	eventually(t, "the bad file shows", func() bool { return strings.Contains(status(t, s).Config.LastError, "liste") })
	p.write("server.yaml", "listen: localhost:0\nnamespace: shop=rules.json\nadmin: 127.0.0.1:0\n")
	eventually(t, "the limit is gone", func() bool { return ask(t, s.Addr().String(), 1).Status.String() == "ok" })
}
