package document_test

import (
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

const complete = `{"schemaVersion":1,"sentinelEnabled":true,"slots":{"authority":false},
 "flowRules":[{"resource":"GET:/orders/{id}","count":200,"enabled":true,"description":"checkout peak"}],
 "degradeRules":[{"resource":"callStock","grade":1,"count":0.5,"timeWindow":10,"minRequestAmount":20,"statIntervalMs":10000}],
 "systemRules":[{"highestCpuUsage":0.85}],
 "authorityRules":[{"resource":"admin","limitApp":"ops,batch","strategy":0}],
 "paramFlowRules":[{"resource":"getUser","paramIdx":0,"count":5,"paramFlowItemList":[{"object":"42","count":100,"classType":"int"}]}],
 "gatewayFlowRules":[{"resource":"route-a","count":50,"paramItem":{"parseStrategy":2,"fieldName":"X-Tenant"}}],
 "gatewayApiDefinitions":[{"apiName":"orders","predicateItems":[{"pattern":"/order/**","matchStrategy":1}]}],
 "isolationRules":[{"resource":"db","count":3}],
 "cluster":{"clientConfig":{"requestTimeout":20}}}`

func parse(t *testing.T, text string) *document.Document {
	t.Helper()
	d, err := document.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return d
}

func lines(r chain.Report) string {
	var b strings.Builder
	for _, rule := range r.Rules {
		b.WriteString(rule.String() + "\n")
	}
	return b.String()
}

func TestCompleteDocument(t *testing.T) {
	t.Parallel()
	d := parse(t, complete)
	if len(d.Errors) > 0 || len(d.Warnings) > 0 || d.Array || d.SchemaVersion != 1 || d.Enabled == nil || !*d.Enabled || d.Mode != nil {
		t.Errorf("%+v", d)
	}
	if string(d.Cluster) != `{"clientConfig":{"requestTimeout":20}}` || len(d.Revision) != 32 || d.Rules() != 8 {
		t.Errorf("cluster %s, revision %s, %d rules", d.Cluster, d.Revision, d.Rules())
	}
	const want = `api[0] orders: loaded
gateway[0] route-a: loaded
param[0] getUser: loaded
flow[0] GET:/orders/{id}: loaded
isolation[0] db: loaded
degrade[0] callStock: loaded
authority[0] admin: disabled
system[0] -: loaded
`
	if got := lines(d.Check()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSeedDocument(t *testing.T) {
	t.Parallel()
	d := parse(t, `{"flowRules":[
   {"enabled":false,"clusterMode":false,"controlBehavior":0,"count":200,"grade":1,"limitApp":"default",
    "maxQueueingTimeMs":500,"resource":"com.achang.UserService","strategy":0,"warmUpPeriodSec":10},
   {"enabled":false,"clusterMode":false,"controlBehavior":2,"count":0.1,"grade":1,"limitApp":"default",
    "maxQueueingTimeMs":30000,"resource":"achang:1","strategy":0,"warmUpPeriodSec":10}],
 "sentinelEnabled":true}`)
	const want = "flow[0] com.achang.UserService: disabled\nflow[1] achang:1: disabled\n"
	if got := lines(d.Check()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	d := parse(t, `[{"resource":"a","count":1},{"resource":"a","count":1,"id":4},{"resource":"b","mode":"observe"},{"resource":"c","enabled":false},
		{"resource":"d","mode":"off"},{"resource":"e","grade":7},null,{"count":1}]`)
	const want = `flow[0] a: loaded
flow[1] a: duplicate
flow[2] b: observed
flow[3] c: disabled
flow[4] d: disabled
flow[5] e: refused: grade: 7 is not one of [0 1]
flow[6] -: refused: rule: must be an object, not null
flow[7] -: refused: resource: must not be blank
`
	if got := lines(d.Check()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := lines(parse(t, `{"mode":"observe","flowRules":[{"resource":"a"}]}`).Check()); got != "flow[0] a: observed\n" {
		t.Errorf("got %s", got)
	}
	second := parse(t, `[{"resource":"a","limitApp":"x","strategy":1},{"resource":"a","limitApp":"y","strategy":1}]`)
	if got := lines(second.Check()); !strings.Contains(got, "authority[1] a: duplicate") {
		t.Errorf("got %s", got)
	}
}

func TestUnreadableTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "line 1, column 1: the text is empty; write [] or {} for no rules",
		" \n\t":                     "the text is empty",
		"\xef\xbb\xbf":              "the text is empty",
		"5":                         "line 1, column 1: must be an object or an array, not the number 5",
		`"x"`:                       "not a string",
		"{\n  \"flowRules\": [}\n}": "line 2, column 17: not JSON: invalid character '}'",
		`[{"resource":"r"`:          "line 1, column 17: not JSON: unexpected end",
		"{} x":                      "line 1, column 4: not JSON: invalid character 'x'",
		"\xff\xfe[\x00]\x00":        "not JSON",
	} {
		d, err := document.Parse([]byte(text))
		if err == nil || d != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestArrays(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"null", "[]", " [ ] ", "\xef\xbb\xbf[]"} {
		d, err := document.ParseArray(chain.KindFlow, []byte(text))
		if err != nil || !d.Array || d.Kind != chain.KindFlow || !d.Flow.Given || len(d.Flow.Items) != 0 {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
		d, err = document.Parse([]byte(text))
		if err != nil || !d.Array || d.Kind != chain.KindCustom || d.Rules() != 0 {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
	if _, err := document.ParseArray(chain.KindFlow, []byte("{}")); err == nil || !strings.Contains(err.Error(), "must be an array of flow rules, not an object") {
		t.Errorf("an object as array: %v", err)
	}
	if _, err := document.ParseArray(chain.KindCustom, []byte("[]")); err == nil {
		t.Error("custom checks have no rules")
	}
	d, err := document.ParseArray(chain.KindFlow, []byte("\xef\xbb\xbf[{\"resource\":\"r\",\"grade\":1,\"count\":0}]"))
	if err != nil || len(d.Errors) != 0 || d.Flow.Items[0].Rule.Resource != "r" {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestPartialErrors(t *testing.T) {
	t.Parallel()
	d := parse(t, `{
  "schemaVersion": 2, "revision": 5, "sentinelEnabled": "maybe", "mode": "off",
  "slots": {"flow": 1, "param": false, "water": true, "degrade": null},
  "flowRules": {},
  "degradeRules": null,
  "systemRules": [{"qps": 5}, {"qps": "x"}],
  "cluster": [],
  "FlowRules": [], "systemRules2": 1,
  "paramFlowRules": [{"resource": "r", "paramIdx": 0,
     "clusterMode": true, "clusterConfig": {
        "flowId": 1, "sampleCount": 3}}]
}`)
	want := []string{
		"line 2, column 35: revision: must be a string, not the number 5",
		`line 2, column 57: sentinelEnabled: must be true or false, not a string`,
		`line 2, column 74: mode: must be "enforce" or "observe"; sentinelEnabled switches everything off`,
		"line 3, column 21: slots.flow: must be true or false, not the number 1",
		"line 4, column 16: flowRules: must be an array, not an object",
		"line 6, column 39: systemRules[1]: qps: must be a number, not a string",
		"line 7, column 14: cluster: must be an object, not an array",
		"line 11, column 37: paramFlowRules[0] r: clusterConfig.sampleCount: 3 does not divide windowIntervalMs 1000",
	}
	for i, err := range d.Errors {
		if i >= len(want) || err.Error() != want[i] {
			t.Errorf("error %d: %v", i, err)
		}
	}
	if len(d.Errors) != len(want) {
		t.Errorf("%d errors, want %d", len(d.Errors), len(want))
	}
	if d.Flow.Given || d.Flow.Err == nil || d.Degrade.Given || d.Degrade.Err != nil || !d.System.Given || d.Cluster != nil || d.Enabled != nil {
		t.Errorf("%+v", d)
	}
	if on, given := d.Slots[chain.KindParam]; on || !given || len(d.Slots) != 1 {
		t.Errorf("slots %v", d.Slots)
	}
	warnings := strings.Join(d.Warnings, "\n")
	for _, part := range []string{"schemaVersion 2", `"water"`, `"FlowRules"`, `"systemRules2"`} {
		if !strings.Contains(warnings, part) {
			t.Errorf("warnings %q say nothing of %s", warnings, part)
		}
	}
}

func TestSwitchForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"true": true, `"true"`: true, "1": true, "false": false, `"false"`: false, "0": false} {
		d := parse(t, `{"sentinelEnabled":`+text+`}`)
		if d.Enabled == nil || *d.Enabled != want || len(d.Errors) > 0 {
			t.Errorf("%s: %v %v, want %v", text, d.Enabled, d.Errors, want)
		}
		if off := strings.Contains(strings.Join(d.Warnings, "\n"), "no rule refuses anything"); off == want {
			t.Errorf("%s: warnings %q", text, d.Warnings)
		}
	}
	for _, text := range []string{`"yes"`, "2", "1.0", "[]", `"TRUE"`} {
		if d := parse(t, `{"sentinelEnabled":`+text+`}`); d.Enabled != nil || len(d.Errors) != 1 {
			t.Errorf("%s: %v %v, want an error", text, d.Enabled, d.Errors)
		}
	}
	if d := parse(t, `{"sentinelEnabled":null,"sentinelEnabled":null,"revision":"v7"}`); d.Enabled != nil || len(d.Errors) > 0 || d.Revision != "v7" || len(d.Warnings) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestDetectKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]chain.Kind{
		`[{"resource":"r","grade":1,"count":1}]`:                                 chain.KindFlow,
		`[{"resource":"r"},{"resource":"r","timeWindow":5}]`:                     chain.KindDegrade,
		`[{"paramIdx":0,"timeWindow":1}]`:                                        chain.KindDegrade,
		`[{"paramIdx":0}]`:                                                       chain.KindParam,
		`[{"paramKey":"a","qps":1}]`:                                             chain.KindParam,
		`[{"highestSystemLoad":1}]`:                                              chain.KindSystem,
		`[{"highestAnything":1,"burst":1}]`:                                      chain.KindSystem,
		`[{"avgRt":1}]`:                                                          chain.KindSystem,
		`[{"maxThread":1}]`:                                                      chain.KindSystem,
		`[{"qps":1}]`:                                                            chain.KindSystem,
		`[{"burst":1}]`:                                                          chain.KindGateway,
		`[{"intervalSec":1}]`:                                                    chain.KindGateway,
		`[{"resourceMode":1,"apiName":"x"}]`:                                     chain.KindGateway,
		`[{"paramItem":null}]`:                                                   chain.KindGateway,
		`[{"maxQueueingTimeoutMs":1}]`:                                           chain.KindGateway,
		`[{"apiName":"x","threshold":1}]`:                                        chain.KindAPI,
		`[{"resource":"r","threshold":1}]`:                                       chain.KindFlow,
		`[{"resource":"r","threshold":1,"metricType":0}]`:                        chain.KindIsolation,
		`[{"resource":"r","threshold":1,"metricType":1,"paramIndex":0}]`:         chain.KindParam,
		`[{"metricType":0,"triggerCount":1}]`:                                    chain.KindSystem,
		`[{"resource":"r","retryTimeoutMs":1}]`:                                  chain.KindDegrade,
		`[{"resource":"r","limitApp":"a"}]`:                                      chain.KindAuthority,
		`[{"resource":"r","limitApp":"a","count":1}]`:                            chain.KindFlow,
		`[{"resource":"r","limitApp":"a","count":1},{"resource":"s","count":1}]`: chain.KindFlow,
		`[1,"x",null]`:                                                           chain.KindFlow,
		`[]`:                                                                     chain.KindFlow,
		`{`:                                                                      chain.KindFlow,
	} {
		if got := document.DetectKind([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{complete, "[]", "null", "{}", `[{"resource":"r","threshold":1}]`, `{"flowRules":[{"resource":"r","count":-1}]}`, `{"slots":{"flow":false}}`, "[{}]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := document.Parse(text)
		if (d == nil) == (err == nil) {
			t.Fatalf("document %v and error %v", d, err)
		}
		if err != nil {
			return
		}
		report := d.Check()
		if len(report.Rules) != d.Rules() {
			t.Errorf("%d verdicts for %d rules", len(report.Rules), d.Rules())
		}
		for _, e := range d.Errors {
			if e.At.Line < 1 || e.At.Column < 1 {
				t.Errorf("%v has no position", e)
			}
		}
	})
}
