package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/cluster"
)

const exampleMap = `[{"clientSet":["112.12.88.66@8729","112.12.88.67@8727"],"ip":"112.12.88.68","machineId":"112.12.88.68@8728","port":11111}]`

func TestParseMap(t *testing.T) {
	t.Parallel()
	groups, warnings, err := cluster.ParseMap([]byte("\xef\xbb\xbf " + exampleMap))
	if err != nil || len(warnings) > 0 || len(groups) != 1 {
		t.Fatalf("%+v, %q, %v", groups, warnings, err)
	}
	g := groups[0]
	if g.MachineID != "112.12.88.68@8728" || g.Addr() != "112.12.88.68:11111" || len(g.ClientSet) != 2 {
		t.Errorf("%+v", g)
	}
	for identity, want := range map[string]cluster.Mode{
		"112.12.88.68@8728": cluster.ModeServer, "112.12.88.67@8727": cluster.ModeClient, "112.12.88.68@8719": cluster.ModeNone, "": cluster.ModeNone,
	} {
		if got := cluster.PlaceOf(groups, identity); got.Mode != want || (got.Group == nil) != (want == cluster.ModeNone) {
			t.Errorf("%q: %+v, want %v", identity, got, want)
		}
	}
	if groups, _, err := cluster.ParseMap([]byte("[]")); err != nil || groups == nil || len(groups) != 0 {
		t.Errorf("[]: %#v, %v", groups, err)
	}
}

func TestAddressesOfGroups(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]string{"::1": "[::1]:80", "[fe80::1]": "[fe80::1]:80", "token.svc": "token.svc:80", " 10.0.0.1 ": "10.0.0.1:80"} {
		if got := (cluster.Group{IP: ip, Port: 80}).Addr(); got != want {
			t.Errorf("%q: %q, want %q", ip, got, want)
		}
	}
	if got := (cluster.Assign{ServerHost: "h"}).Addr(); got != "h:18730" {
		t.Errorf("%q", got)
	}
}

// The first place of a machine counts, and the others are told of.
func TestConflictsInMap(t *testing.T) {
	t.Parallel()
	groups, warnings, err := cluster.ParseMap([]byte(`[
		{"machineId":"a","ip":"1","port":1,"clientSet":["c","c","b"]},
		{"machineId":"b","ip":"1","port":1,"clientSet":["c","d"]},
		{"machineId":"a","ip":"2","port":2,"clientSet":null,"belongToApp":true,"more":1}]`))
	want := []string{
		`unknown member "[2].more" is ignored`,
		`[1].port: 1:1 is the address of group 0 already`,
		`[2].machineId: "a" is the server of group 0 already, and serves that one`,
		`[0].clientSet[2]: "b" is a server, and so no client`,
		`[1].clientSet[0]: "c" is a client of group 0 already, and asks that one`,
	}
	if err != nil || !slices.Equal(warnings, want) {
		t.Errorf("%v\n%s", err, strings.Join(warnings, "\n"))
	}
	if p := cluster.PlaceOf(groups, "b"); p.Mode != cluster.ModeServer {
		t.Errorf("b is %v, want the server that it is in group 1", p.Mode)
	}
	if p := cluster.PlaceOf(groups, "c"); p.Group != &groups[0] {
		t.Errorf("c asks %+v, want the first group", p.Group)
	}
	if p := cluster.PlaceOf(groups, "a"); p.Group != &groups[0] {
		t.Errorf("a serves %+v, want the first group", p.Group)
	}
}

// wrong lists texts with what the error says of them, "" where there is none.
var wrong = map[cluster.Part][][2]string{
	cluster.PartMap: {
		{``, "the text is empty"},
		{`[`, "not JSON"},
		{`null`, "the text must be an array; write [] to leave the cluster, not null"},
		{`{}`, "the text must be an array"},
		{`[5]`, "[0]: must be an object, not the number 5"},
		{`[{}]`, "[0].machineId: must not be blank"},
		{`[{"machineId":"a"}]`, "[0].ip: must not be blank"},
		{`[{"machineId":"a","ip":"b\n"}]`, "[0].ip: must not contain control characters"},
		{`[{"machineId":"a","ip":"b:7","port":7}]`, "[0].ip: must be without the port"},
		{`[{"machineId":"a","ip":"b"}]`, "[0].port: must be 1 to 65535, not 0"},
		{`[{"machineId":"a","ip":"b","port":65536}]`, "[0].port: must be 1 to 65535, not 65536"},
		{`[{"machineId":"a","ip":"b","port":"1"}]`, "[0].port: must be a whole number, not a string"},
		{`[{"machineId":"a","ip":"b","port":1,"clientSet":"c"}]`, "[0].clientSet: must be an array of strings"},
		{`[{"machineId":"a","ip":"b","port":1,"clientSet":["c"," "]}]`, "[0].clientSet[1]: must not be blank"},
		{`[{"machineId":"a","ip":"b","port":1},{"machineId":7,"ip":"b","port":1}]`, "[1].machineId: must be a string, not the number 7"},
		{`[{"machineId":"a","ip":"b","port":1},{"machineId":"c","ip":"b","port":2}]`, ""},
	},
	cluster.PartClient: {
		{`{}`, "requestTimeout: is needed"},
		{`{"requestTimeout":null}`, "requestTimeout: is needed"},
		{`{"requestTimeout":0}`, "requestTimeout: must be 1 to 2147483647 milliseconds, not 0"},
		{`{"requestTimeout":2147483648}`, "requestTimeout: 2147483648 is out of range"},
		{`{"requestTimeout":"20"}`, "requestTimeout: must be a whole number, not a string"},
		{`{"requestTimeout":1.5}`, "requestTimeout: must be a whole number, not 1.5"},
		{`[]`, "the text must be an object, not an array"},
		{`{"requestTimeout":20}`, ""},
	},
	cluster.PartAssign: {
		{`{}`, "serverHost: must not be blank"},
		{`{"serverHost":" "}`, "serverHost: must not be blank"},
		{`{"serverHost":"h","serverPort":0}`, "serverPort: must be above 0, not 0; leave it out for the default 18730"},
		{`{"serverHost":"h","serverPort":65536}`, "serverPort: must be 1 to 65535, not 65536"},
		{`{"serverHost":"h","serverPort":true}`, "serverPort: must be a whole number, not a boolean"},
		{`{"serverHost":"h"}`, ""},
		{`{"serverHost":" [::1] "}`, ""},
		{`{"serverHost":"two words"}`, `serverHost: must be the name or the address of a host and nothing else: "two words"`},
		{`{"serverHost":"tcp://h"}`, `serverHost: must be the name or the address of a host and nothing else: "tcp://h"`},
		{`{"serverHost":"h:18730"}`, `serverHost: must be without the port, which is a member of its own: "h:18730"`},
	},
	cluster.PartTransport: {
		{`{"port":0}`, "port: must be above 0"},
		{`{"port":70000}`, "port: must be 1 to 65535, not 70000"},
		{`{"idleSeconds":"x"}`, "idleSeconds: must be a whole number, not a string"},
		{`{}`, ""},
	},
	cluster.PartFlow: {
		{`{"exceedCount":-1}`, "exceedCount: must not be negative"},
		{`{"maxAllowedQps":"x"}`, "maxAllowedQps: must be a number, not a string"},
		{`{"intervalMs":0}`, "intervalMs: must be above 0"},
		{`{"sampleCount":0}`, "sampleCount: must be above 0"},
		{`{"sampleCount":3}`, "sampleCount: 3 does not divide intervalMs 1000"},
		{`{"maxAllowedQps":0}`, ""},
	},
	cluster.PartNamespaces: {
		{`"a"`, "the text must be an array of strings, not a string"},
		{`["a",5]`, "[1]: must be a string, not the number 5"},
		{`["a",""]`, "[1]: must not be blank"},
		{`["a",null]`, "[1]: must be a string, not null"},
		{`[]`, ""},
	},
}

// parse reads a part by the function of its own.
func parse(p cluster.Part, text string) error {
	var err error
	switch content := []byte(text); p {
	case cluster.PartMap:
		_, _, err = cluster.ParseMap(content)
	case cluster.PartClient:
		_, _, err = cluster.ParseClientConfig(content)
	case cluster.PartAssign:
		_, _, err = cluster.ParseAssign(content)
	case cluster.PartTransport:
		_, _, err = cluster.ParseTransport(content)
	case cluster.PartFlow:
		_, _, err = cluster.ParseFlowConfig(content)
	case cluster.PartNamespaces:
		_, _, err = cluster.ParseNamespaceSet(content)
	}
	return err
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	for _, p := range cluster.Parts() {
		for _, c := range wrong[p] {
			err := parse(p, c[0])
			if (err == nil) != (c[1] == "") || err != nil && !strings.Contains(err.Error(), c[1]) {
				t.Errorf("%v %s: %v, want %q", p, c[0], err, c[1])
			}
			report, _, unreadable := p.Check([]byte(c[0]))
			if bad := unreadable != nil || report.Count(chain.Refused) > 0; bad != (err != nil) {
				t.Errorf("%v %s: the check says %v, %v, the parser %v", p, c[0], report.Rules, unreadable, err)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	if a, w, err := cluster.ParseAssign([]byte(`{"serverHost":"h","x":1}`)); err != nil || a.ServerPort != 18730 || !slices.Equal(w, []string{`unknown member "x" is ignored`}) {
		t.Errorf("%+v, %q, %v", a, w, err)
	}
	if c, w, err := cluster.ParseTransport([]byte(`{}`)); err != nil || c != (cluster.Transport{Port: 18730, IdleSeconds: 600}) || len(w) > 0 {
		t.Errorf("%+v, %q, %v", c, w, err)
	}
	if c, w, err := cluster.ParseTransport([]byte(`{"port":1,"idleSeconds":-5}`)); err != nil || c.IdleSeconds != 600 || !slices.Equal(w, []string{"idleSeconds: -5 is read as 600"}) {
		t.Errorf("%+v, %q, %v", c, w, err)
	}
	want := cluster.FlowConfig{ExceedCount: 1, MaxOccupyRatio: 1, IntervalMs: 1000, SampleCount: 10, MaxAllowedQPS: 5}
	if c, w, err := cluster.ParseFlowConfig([]byte(`{"maxAllowedQps":5,"namespace":"default"}`)); err != nil || c != want || len(w) > 0 {
		t.Errorf("%+v, %q, %v", c, w, err)
	}
	if _, w, err := cluster.ParseFlowConfig([]byte(`{"namespace":"app"}`)); err != nil || len(w) != 1 {
		t.Errorf("%q, %v", w, err)
	}
	if set, w, err := cluster.ParseNamespaceSet([]byte(`["a","b","a"]`)); err != nil || len(set) != 3 || !slices.Equal(w, []string{`[2]: "a" stands at 0 already`}) {
		t.Errorf("%q, %q, %v", set, w, err)
	}
}

func TestCheckOfParts(t *testing.T) {
	t.Parallel()
	report, warnings, err := cluster.PartMap.Check([]byte(`[{"machineId":"a","ip":"i","port":1,"x":1},{"machineId":"b","ip":"i","port":0}]`))
	lines := make([]string, len(report.Rules))
	for i, rule := range report.Rules {
		lines[i] = rule.String()
	}
	want := []string{
		"custom[0] a: refused: another element is refused, and the list counts as a whole",
		"custom[1] b: refused: port: must be 1 to 65535, not 0",
	}
	if err != nil || len(warnings) > 0 || !slices.Equal(lines, want) || len(report.Rules[0].Warnings) != 1 {
		t.Errorf("%q, %q, %v", lines, warnings, err)
	}
	if _, _, err := cluster.Part(99).Check([]byte("{}")); err == nil {
		t.Error("a part that does not exist was checked")
	}
	for _, p := range cluster.Parts() {
		if got, err := cluster.ParsePart(p.String()); err != nil || got != p {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	if _, err := cluster.ParsePart("cluster"); err == nil || !strings.Contains(err.Error(), "cluster-map, cluster-client") {
		t.Error(err)
	}
	if got := cluster.Part(99).String() + cluster.Mode(9).String() + cluster.Phase(99).String(); got != "part(99)mode(9)phase(99)" {
		t.Error(got)
	}
}

func FuzzParts(f *testing.F) {
	for _, p := range cluster.Parts() {
		for _, c := range wrong[p] {
			f.Add(uint8(p), []byte(c[0]))
		}
	}
	f.Fuzz(func(t *testing.T, part uint8, content []byte) {
		p := cluster.Parts()[int(part)%len(cluster.Parts())]
		err := parse(p, string(content))
		report, _, unreadable := p.Check(content)
		if bad := unreadable != nil || report.Count(chain.Refused) > 0; bad != (err != nil) {
			t.Errorf("%v: the check says %v, %v, the parser %v", p, report.Rules, unreadable, err)
		}
	})
}
