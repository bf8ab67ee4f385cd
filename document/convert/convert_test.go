package convert_test

import (
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/document/convert"
)

func to(t *testing.T, form convert.Form, texts ...string) (files map[string]string, losses []string) {
	t.Helper()
	var inputs []convert.Input
	for _, text := range texts {
		d, err := document.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		inputs = append(inputs, convert.Input{Document: d})
	}
	results, lost := convert.To(form, inputs...)
	files = map[string]string{}
	for _, f := range results {
		files[f.Name] = string(f.Content)
		if d, err := document.Parse(f.Content); err != nil || len(d.Errors) > 0 {
			t.Errorf("%s cannot be read: %v %v\n%s", f.Name, err, d.Errors, f.Content)
		}
	}
	for _, l := range lost {
		losses = append(losses, l.String())
	}
	return files, losses
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

const whole = `{"sentinelEnabled":true,"slots":{"system":false},"owner":"team a","revision":"v1",
 "flowRules":[{"resource":"a","count":1,"note":"x"},{"resource":"b","enabled":false},{"resource":"c","mode":"off"}],
 "degradeRules":[],"systemRules":[{"qps":5}],"authorityRules":null,
 "cluster":{"mode":-1}}`

func TestDocumentToArrays(t *testing.T) {
	t.Parallel()
	files, losses := to(t, convert.Arrays, whole)
	same(t, "flow.json", files["flow.json"], "[\n  {\"resource\":\"a\",\"count\":1,\"note\":\"x\"}\n]\n")
	same(t, "degrade.json", files["degrade.json"], "[]\n")
	same(t, "system.json", files["system.json"], "[]\n")
	if len(files) != 3 {
		t.Errorf("files %v", files)
	}
	same(t, "losses", strings.Join(losses, "\n"), "cluster: arrays hold rules only\nowner: arrays hold rules only")
}

func TestLossesOfArrays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"sentinelEnabled":false,"flowRules":[]}`:                     "sentinelEnabled: arrays have no master switch: these rules would be enforced",
		`{"flowRules":[{"resource":"a","mode":"observe"}]}`:            "flow[0] a: left out: mode: a rule that only observes would be enforced",
		`{"mode":"observe","systemRules":[{"qps":1}]}`:                 "system[0] -: left out: mode: a rule that only observes would be enforced",
		`{"flowRules":[{"resource":"a"},{"resource":"b","count":-1}]}`: "flow[1] b: left out: count: must not be negative: -1",
		`{"flowRules":{}}`:        "line 1, column 14: flowRules: must be an array, not an object",
		`{"sentinelEnabled":"x"}`: "line 1, column 20: sentinelEnabled: must be true or false, not a string",
	} {
		if _, losses := to(t, convert.Arrays, text); strings.Join(losses, "\n") != want {
			t.Errorf("%s: losses %q, want %q", text, losses, want)
		}
	}
}

// What Sentinel's agents ignore stays in the array, and is listed where a rule means something else without it.
func TestMembersThatArraysIgnore(t *testing.T) {
	t.Parallel()
	cluster := func(more string) string {
		return `[{"resource":"a","clusterMode":true,"clusterConfig":{"flowId":1` + more + `}}]`
	}
	for _, c := range []struct{ text, want string }{
		{`[{"resource":"a","count":1,"statIntervalInMs":5000}]`, "flow[0] a: statIntervalInMs"},
		{`[{"resource":"a","count":1,"statIntervalInMs":1000,"statBucketCount":5}]`, "flow[0] a: statBucketCount"},
		{`[{"resource":"a","count":1,"statIntervalInMs":1000,"statBucketCount":2}]`, ""},
		{`[{"resource":"a","lowMemUsageThreshold":9,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2}]`, "flow[0] a: lowMemUsageThreshold"},
		{`[{"resource":"a","count":1,"tags":["x"],"description":"y","id":3}]`, ""},
		{cluster(``), ""},
		{cluster(`,"fallbackPolicy":"share"`), "flow[0] a: clusterConfig.fallbackPolicy"},
		{cluster(`,"fallbackPolicy":"block"`), "flow[0] a: clusterConfig.fallbackPolicy"},
		{cluster(`,"fallbackPolicy":"pass"`), "flow[0] a: clusterConfig.fallbackPolicy"},
		{cluster(`,"fallbackPolicy":"pass","fallbackToLocalWhenFail":false`), ""},
		{cluster(`,"fallbackPolicy":"local"`), "flow[0] a: clusterConfig.fallbackPolicy"},
		{cluster(`,"fallbackPolicy":"local","fallbackToLocalWhenFail":true`), ""},
		{cluster(`,"fallbackPolicy":"local","fallbackToLocalWhenFail":true,"fallbackCount":2`), "flow[0] a: clusterConfig.fallbackCount"},
		{`[{"resource":"a","timeWindow":1,"probeNum":1,"statBucketCount":1}]`, ""},
		{`[{"resource":"a","timeWindow":1,"probeNum":2}]`, "degrade[0] a: probeNum"},
		{`[{"resource":"a","timeWindow":1,"probeTimeoutMs":5}]`, "degrade[0] a: probeTimeoutMs"},
		{`[{"resource":"a","timeWindow":1,"statBucketCount":2}]`, "degrade[0] a: statBucketCount"},
		{`[{"resource":"a","paramKey":"u","count":1}]`, "param[0] a: paramKey"},
		{`[{"resource":"a","paramIdx":0,"count":1}]`, ""},
		{`[{"resource":"a","limitApp":"x","strategy":0,"strict":true}]`, "authority[0] a: strict"},
		{`[{"resource":"a","limitApp":"x","strategy":0}]`, ""},
	} {
		text, want := c.text, c.want
		files, losses := to(t, convert.Arrays, text)
		var members []string
		for _, l := range losses {
			members = append(members, l[:strings.LastIndex(l[:strings.Index(l, "Sentinel's")], ":")])
		}
		if got := strings.Join(members, ", "); got != want {
			t.Errorf("%s: losses %q, want %q", text, losses, want)
		}
		for _, content := range files {
			same(t, text, content, "[\n  "+text[1:len(text)-1]+"\n]\n")
		}
		if _, losses = to(t, convert.Single, text); len(losses) > 0 {
			t.Errorf("%s: losses %q of the document, which holds them all", text, losses)
		}
	}
}

// An array without rules stays one.
func TestEmptyArrays(t *testing.T) {
	t.Parallel()
	for _, form := range []convert.Form{convert.Arrays, convert.Golang} {
		files, losses := to(t, form, `[]`, ` null `)
		if len(files) != 1 || files["flow.json"] != "[]\n" || len(losses) > 0 {
			t.Errorf("form %d: files %q, losses %q", form, files, losses)
		}
		if files, _ = to(t, form, `[]`, `[{"resource":"d","timeWindow":5}]`); len(files) != 1 || files["flow.json"] != "" {
			t.Errorf("form %d: files %q beside an array with rules", form, files)
		}
		d, err := document.ParseArray(chain.KindDegrade, []byte("[]"))
		if err != nil {
			t.Fatal(err)
		}
		want := map[convert.Form]string{convert.Arrays: "degrade.json", convert.Golang: "circuitbreaker.json"}[form]
		if results, _ := convert.To(form, convert.Input{Document: d}); len(results) != 1 || results[0].Name != want {
			t.Errorf("form %d: files %v of a given kind", form, results)
		}
	}
}

func TestLossIsOneLine(t *testing.T) {
	t.Parallel()
	l := convert.Loss{Kind: chain.KindFlow, Resource: "a\nb: loaded", Member: "mode", Reason: "is lost"}
	if got := l.String(); got != `flow[0] a\nb: loaded: mode: is lost` {
		t.Errorf("got %q", got)
	}
}

func TestArraysToDocument(t *testing.T) {
	t.Parallel()
	files, losses := to(t, convert.Single,
		`[{"resource":"a","count":1,"note":"x","enabled":false}]`, `[{"resource":"d","timeWindow":5}]`, `[{"resource":"b","count":2}]`, `[]`,
		`[{"resource":"g","threshold":3,"note":"y"}]`)
	same(t, "document.json", files["document.json"], `{
  "schemaVersion": 1,
  "flowRules": [
    {"resource":"a","count":1,"note":"x","enabled":false},
    {"resource":"b","count":2},
    {"resource":"g","limitApp":"default","grade":1,"count":3,"strategy":0,"controlBehavior":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":0,"clusterMode":false,"note":"y"}
  ],
  "degradeRules": [
    {"resource":"d","timeWindow":5}
  ]
}
`)
	if len(losses) > 0 {
		t.Errorf("losses %q", losses)
	}
}

func TestDocumentsToDocument(t *testing.T) {
	t.Parallel()
	files, losses := to(t, convert.Single, whole)
	same(t, "document.json", files["document.json"], `{
  "schemaVersion": 1,
  "revision": "v1",
  "sentinelEnabled": true,
  "slots": {"system":false},
  "flowRules": [
    {"resource":"a","count":1,"note":"x"},
    {"resource":"b","enabled":false},
    {"resource":"c","mode":"off"}
  ],
  "degradeRules": [],
  "systemRules": [
    {"qps":5}
  ],
  "cluster": {"mode":-1},
  "owner": "team a"
}
`)
	if len(losses) > 0 {
		t.Errorf("losses %q", losses)
	}
	again, losses := to(t, convert.Single, files["document.json"], `{"sentinelEnabled":false,"owner":"team a"}`)
	same(t, "merged", again["document.json"], files["document.json"])
	same(t, "losses", strings.Join(losses, "\n"), "sentinelEnabled: an earlier document says true, which stays")
}

func TestToGolang(t *testing.T) {
	t.Parallel()
	const flow = `"warmUpPeriodSec":10,"statIntervalInMs":0`
	reject := func(threshold, interval string) string {
		return `{"resource":"s","tokenCalculateStrategy":0,"controlBehavior":0,"threshold":` + threshold +
			`,"relationStrategy":0,"maxQueueingTimeMs":500,"warmUpPeriodSec":10,"statIntervalInMs":` + interval + `}`
	}
	for _, c := range []struct{ text, name, want string }{
		{`[{"id":7,"resource":"r","count":10}]`, "flow.json", `{"id":"7","resource":"r","tokenCalculateStrategy":0,"controlBehavior":0,"threshold":10,"relationStrategy":0,"maxQueueingTimeMs":500,` + flow + `}`},
		{
			`[{"resource":"q","count":0.1,"controlBehavior":2,"maxQueueingTimeMs":30000}]`, "flow.json",
			`{"resource":"q","tokenCalculateStrategy":0,"controlBehavior":1,"threshold":1,"relationStrategy":0,"maxQueueingTimeMs":30000,"warmUpPeriodSec":10,"statIntervalInMs":10000}`,
		},
		{
			`[{"resource":"q","count":0.3,"controlBehavior":2,"app":"shop"}]`, "flow.json",
			`{"resource":"q","tokenCalculateStrategy":0,"controlBehavior":1,"threshold":1,"relationStrategy":0,"maxQueueingTimeMs":500,"warmUpPeriodSec":10,"statIntervalInMs":3333,"app":"shop"}`,
		},
		{`[{"resource":"s","count":0.123456}]`, "flow.json", reject("1", "8100")},
		{`[{"resource":"s","count":0.3,"statIntervalInMs":500}]`, "flow.json", reject("1", "1667")},
		{`[{"resource":"s","count":2.5}]`, "flow.json", reject("2.5", "0")},
		{
			`[{"resource":"w","count":9,"controlBehavior":3,"strategy":1,"refResource":"x","warmUpPeriodSec":2}]`, "flow.json",
			`{"resource":"w","tokenCalculateStrategy":1,"controlBehavior":1,"threshold":9,"relationStrategy":1,"refResource":"x","maxQueueingTimeMs":500,"warmUpPeriodSec":2,"warmUpColdFactor":3,"statIntervalInMs":0}`,
		},
		{`[{"resource":"a.*","regex":true,"count":1}]`, "flow.json", `{"resource":"^(?:a.*)$","tokenCalculateStrategy":0,"controlBehavior":0,"threshold":1,"relationStrategy":0,"maxQueueingTimeMs":500,` + flow + `,"regex":true}`},
		{`[{"resource":"r","grade":0,"count":3.7}]`, "isolation.json", `{"resource":"r","metricType":0,"threshold":3}`},
		{
			`[{"resource":"d","count":50.4,"timeWindow":10,"slowRatioThreshold":0.5}]`, "circuitbreaker.json",
			`{"resource":"d","strategy":0,"retryTimeoutMs":10000,"minRequestAmount":5,"statIntervalMs":1000,"maxAllowedRtMs":50,"threshold":0.5}`,
		},
		{
			`[{"resource":"p","paramIdx":1,"count":5,"paramFlowItemList":[{"object":"42","count":1,"classType":"java.lang.Long"},{"object":"c","count":2}]}]`, "hotspot.json",
			`{"resource":"p","metricType":1,"controlBehavior":0,"paramIndex":1,"threshold":5,"maxQueueingTimeMs":0,"burstCount":0,"durationInSec":1,` +
				`"specificItems":[{"valKind":0,"valStr":"42","threshold":1},{"valKind":1,"valStr":"c","threshold":2}]}`,
		},
		{
			`[{"resource":"p","paramIdx":0,"count":0.5}]`, "hotspot.json",
			`{"resource":"p","metricType":1,"controlBehavior":0,"paramIndex":0,"threshold":1,"maxQueueingTimeMs":0,"burstCount":0,"durationInSec":2,"specificItems":[]}`,
		},
		{`[{"highestSystemLoad":2,"maxThread":7}]`, "system.json", "{\"metricType\":0,\"triggerCount\":2,\"strategy\":1},\n  {\"metricType\":2,\"triggerCount\":7,\"strategy\":-1}"},
		{`[{"resource":"g","threshold":3,"other":[1, 2]}]`, "flow.json", `{"resource":"g","threshold":3,"other":[1,2]}`},
		{`[{"resource":"r","enabled":false}]`, "flow.json", ""},
	} {
		files, losses := to(t, convert.Golang, c.text)
		want := "[\n  " + c.want + "\n]\n"
		if c.want == "" {
			want = "[]\n"
		}
		same(t, c.text, files[c.name], want)
		if len(files) != 1 || len(losses) > 0 {
			t.Errorf("%s: files %v, losses %q", c.text, files, losses)
		}
	}
}

func TestLossesOfGolang(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"resource":"r","count":1,"limitApp":"a"}]`:                                     "flow[0] r: left out: limitApp:",
		`[{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1}}]`:              "flow[0] r: left out: clusterMode:",
		`[{"resource":"r","strategy":2,"refResource":"e"}]`:                               "flow[0] r: left out: strategy:",
		`[{"resource":"r","grade":0,"count":0.5}]`:                                        "flow[0] r: left out: count:",
		`[{"resource":"r","grade":0,"count":5,"strategy":1,"refResource":"x"}]`:           "flow[0] r: left out: strategy:",
		`[{"resource":"r","count":0.0000001}]`:                                            "flow[0] r: left out: count:",
		`[{"resource":"r","count":0.5,"controlBehavior":1}]`:                              "flow[0] r: left out: count:",
		`[{"resource":"r","count":5,"statIntervalInMs":1000,"statBucketCount":5}]`:        "flow[0] r: statBucketCount:",
		`[{"resource":"r","mode":"observe"}]`:                                             "flow[0] r: left out: mode:",
		`[{"resource":"r","count":-1}]`:                                                   "flow[0] r: left out: count: must not be negative",
		`[{"resource":"r.*","regex":true,"timeWindow":1}]`:                                "degrade[0] r.*: left out: regex:",
		`[{"resource":"*","timeWindow":1}]`:                                               "degrade[0] *: left out: resource:",
		`[{"resource":"r","timeWindow":4294968}]`:                                         "degrade[0] r: left out: timeWindow:",
		`[{"resource":"r","timeWindow":1,"probeTimeoutMs":5}]`:                            "degrade[0] r: probeTimeoutMs:",
		`[{"resource":"r","paramKey":"u"}]`:                                               "param[0] r: left out: paramKey:",
		`[{"resource":"r.*","regex":true,"paramIdx":0}]`:                                  "param[0] r.*: left out: regex:",
		`[{"resource":"r","paramIdx":0,"count":1.5}]`:                                     "param[0] r: left out: count:",
		`[{"resource":"r","paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":1}}]`: "param[0] r: left out: clusterMode:",
		`[{"resource":"r","limitApp":"a","strategy":1}]`:                                  "authority[0] r: left out: sentinel-golang has no rules of this kind",
		`[{"resource":"r","intervalSec":1}]`:                                              "gateway[0] r: left out: sentinel-golang has no",
		`[{"apiName":"a","predicateItems":[{"pattern":"/"}]}]`:                            "api[0] a: left out: sentinel-golang has no",
	} {
		_, losses := to(t, convert.Golang, text)
		if len(losses) != 1 || !strings.HasPrefix(losses[0], want) {
			t.Errorf("%s: losses %q, want %q", text, losses, want)
		}
	}
}

func TestLossesOfReadingGolang(t *testing.T) {
	t.Parallel()
	_, losses := to(t, convert.Arrays, `[{"resource":"r","threshold":1,"tokenCalculateStrategy":1,"warmUpPeriodSec":1,"warmUpColdFactor":5,"note":1}]`)
	if len(losses) != 1 || !strings.Contains(losses[0], "warmUpColdFactor 5") {
		t.Errorf("losses %q", losses)
	}
}

// What both forms can express survives being converted there and back.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{"resource":"a","count":5}]`,
		`[{"resource":"a","count":5,"controlBehavior":2,"maxQueueingTimeMs":7}]`,
		`[{"resource":"a.b","regex":true,"count":5}]`,
		`[{"resource":"a","grade":1,"count":0.5,"timeWindow":3,"statBucketCount":2,"probeNum":2}]`,
		`[{"resource":"a","paramIdx":-2,"grade":0,"count":5,"burstCount":2}]`,
		`[{"qps":5}]`,
	} {
		first, _ := to(t, convert.Golang, text)
		for _, content := range first {
			back, _ := to(t, convert.Arrays, content)
			for _, again := range back {
				second, losses := to(t, convert.Golang, again)
				if len(losses) > 0 {
					t.Errorf("%s: losses %q", again, losses)
				}
				for name, got := range second {
					same(t, text, got, first[name])
				}
			}
		}
	}
}

func TestParseForm(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]convert.Form{"arrays": convert.Arrays, "document": convert.Single, "golang": convert.Golang} {
		if got, err := convert.ParseForm(name); got != want || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	if _, err := convert.ParseForm("xml"); err == nil {
		t.Error("there is no form xml")
	}
}
