package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/cluster"
)

const completeSettings = `{"map":` + exampleMap + `,"mode":0,"assign":{"serverHost":"h","serverPort":1},"clientConfig":{"requestTimeout":50},
	"namespaceSet":["a"],"transport":{"port":2,"idleSeconds":3},"serverFlow":{"maxAllowedQps":7},
	"serverRules":{"a":{"flowRules":[{"resource":"r","count":1,"clusterMode":true,"clusterConfig":{"flowId":1}}],
		"paramFlowRules":[{"resource":"r","paramIdx":0,"count":1,"clusterMode":true,"clusterConfig":{"flowId":1}}]},"b":null,"c":{}}}`

// A namespace with a wrong name is refused as a whole: blank, it would be taken for the default one.
func TestServerRulesOfAWrongNamespace(t *testing.T) {
	t.Parallel()
	s, _, err := cluster.ParseSettings([]byte(`{"mode":1,"serverRules":{" ":{"flowRules":[]},"default":{"flowRules":[]}}}`))
	if err == nil || len(s.ServerRules) != 1 {
		t.Errorf("%v, %+v", err, s.ServerRules)
	}
	if _, there := s.ServerRules["default"]; !there {
		t.Errorf("%+v", s.ServerRules)
	}
}

func TestParseSettings(t *testing.T) {
	t.Parallel()
	s, warnings, err := cluster.ParseSettings([]byte(completeSettings))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%q, %v", warnings, err)
	}
	if len(s.Map) != 1 || *s.Mode != cluster.ModeClient || s.Assign.Addr() != "h:1" || s.ClientConfig.RequestTimeout != 50 ||
		!slices.Equal(s.NamespaceSet, []string{"a"}) || *s.Transport != (cluster.Transport{Port: 2, IdleSeconds: 3}) || s.ServerFlow.MaxAllowedQPS != 7 {
		t.Errorf("%+v", s)
	}
	if a, c := s.ServerRules["a"], s.ServerRules["c"]; len(s.ServerRules) != 2 || len(a.Flow) != 1 || len(a.Param) != 1 || len(c.Flow)+len(c.Param) != 0 {
		t.Errorf("%+v", s.ServerRules)
	}
	if s, warnings, err := cluster.ParseSettings([]byte(`{"map":null,"x":1}`)); err != nil || s.Map != nil || !slices.Equal(warnings, []string{`unknown member "x" is ignored`}) {
		t.Errorf("%+v, %q, %v", s, warnings, err)
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``:              {"the text is empty"},
		`[]`:            {"the text must be an object, not an array"},
		`{"map":{}}`:    {"map: must be an array; write [] to leave the cluster, not an object"},
		`{"mode":2}`:    {"mode: 2 is not one of [-1 0 1] (-1: none, 0: client, 1: server)"},
		`{"mode":"1"}`:  {"mode: must be a whole number, not a string (-1: none, 0: client, 1: server)"},
		`{"assign":[]}`: {"assign: must be an object, not an array"},
		`{"map":[{"machineId":"a","ip":"i","port":0}],"clientConfig":{},"transport":{"port":0},"serverFlow":{"intervalMs":0},"namespaceSet":[5]}`: {
			"map[0].port: must be 1 to 65535, not 0", "clientConfig.requestTimeout: is needed", "namespaceSet[0]: must be a string, not the number 5",
			"transport.port: must be above 0", "serverFlow.intervalMs: must be above 0",
		},
		`{"serverRules":[]}`:                     {"serverRules: must be an object, not an array"},
		`{"serverRules":{"a":5}}`:                {"serverRules.a: must be an object, not the number 5"},
		`{"serverRules":{"":{}}}`:                {"serverRules.: must not be blank"},
		`{"serverRules":{"a":{"flowRules":{}}}}`: {"serverRules.a.flowRules: must be an array of rules, not an object"},
		`{"serverRules":{"a":{"paramFlowRules":[5,{"resource":"r","paramIdx":0,"clusterMode":true}]}}}`: {
			"serverRules.a.paramFlowRules[0].", "serverRules.a.paramFlowRules[1].clusterConfig: is needed in cluster mode",
		},
	} {
		_, _, err := cluster.ParseSettings([]byte(text))
		lines := []string{}
		if err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		if len(lines) != len(want) {
			t.Errorf("%s: %v, want %q", text, err, want)
			continue
		}
		for i := range lines {
			if !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("%s: %q, want %q", text, lines[i], want[i])
			}
		}
	}
}

func TestWarningsOfServerRules(t *testing.T) {
	t.Parallel()
	_, warnings, err := cluster.ParseSettings([]byte(`{"serverRules":{"a":{"x":1,"flowRules":[
		{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1}},{"resource":"s","clusterMode":true,"clusterConfig":{"flowId":1}},
		{"resource":"t","enabled":false,"clusterMode":true,"clusterConfig":{"flowId":1}},{"resource":"u","y":1}]}}}`))
	want := []string{
		`serverRules.a.flowRules[3]: unknown member "y" is ignored`,
		`serverRules.a.flowRules[3]: has no effect here: clusterMode is not true`,
		`serverRules.a.flowRules: flowId 1 of "s" is that of "r" already, and the last one counts`,
		`unknown member "serverRules.a.x" is ignored`,
	}
	if err != nil || !slices.Equal(warnings, want) {
		t.Errorf("%v\n%s", err, strings.Join(warnings, "\n"))
	}
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(completeSettings))
	f.Add([]byte(`{"serverRules":{"a":{"flowRules":[5]}}}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		s, _, err := cluster.ParseSettings(content)
		for _, g := range s.Map {
			if g.Validate() != nil {
				t.Errorf("%+v got through", g)
			}
		}
		if err == nil && s.ClientConfig != nil && s.ClientConfig.RequestTimeout <= 0 {
			t.Error("a timeout that is none got through")
		}
	})
}
