package document_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
)

// rulesJSON returns the valid rules of an array as Sentinel would write them.
func rulesJSON(t *testing.T, d *document.Document) string {
	t.Helper()
	var b strings.Builder
	write := func(rule any, err error) {
		if err != nil {
			return
		}
		text, err := json.Marshal(rule)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
	}
	for _, i := range d.Flow.Items {
		write(i.Rule, i.Err)
	}
	for _, i := range d.Degrade.Items {
		write(i.Rule, i.Err)
	}
	for _, i := range d.Param.Items {
		write(i.Rule, i.Err)
	}
	for _, i := range d.System.Items {
		write(i.Rule, i.Err)
	}
	for _, i := range d.Isolation.Items {
		write(i.Rule, i.Err)
	}
	return b.String()
}

func TestGolangDialect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, same string // an array of sentinel-golang's, and the same in Sentinel's form
		kind       chain.Kind
	}{
		{`[{"id":"7","resource":"r","threshold":10}]`, `[{"id":7,"resource":"r","count":10,"maxQueueingTimeMs":0}]`, chain.KindFlow},
		{
			`[{"resource":"r","threshold":1,"tokenCalculateStrategy":0,"controlBehavior":1,"maxQueueingTimeMs":30000,"statIntervalInMs":10000}]`,
			`[{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeMs":30000,"statIntervalInMs":10000,"statBucketCount":20}]`, chain.KindFlow,
		},
		{
			`[{"resource":"r","threshold":5,"tokenCalculateStrategy":1,"warmUpPeriodSec":3,"warmUpColdFactor":3,"relationStrategy":1,"refResource":"w"}]`,
			`[{"resource":"r","count":5,"controlBehavior":1,"warmUpPeriodSec":3,"strategy":1,"refResource":"w","maxQueueingTimeMs":0}]`, chain.KindFlow,
		},
		{
			`[{"resource":"r","threshold":5,"tokenCalculateStrategy":1,"controlBehavior":1,"warmUpPeriodSec":3,"maxQueueingTimeMs":9}]`,
			`[{"resource":"r","count":5,"controlBehavior":3,"warmUpPeriodSec":3,"maxQueueingTimeMs":9}]`, chain.KindFlow,
		},
		{
			`[{"resource":"r","threshold":0,"tokenCalculateStrategy":2,"lowMemUsageThreshold":9,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2}]`,
			`[{"resource":"r","lowMemUsageThreshold":9,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2,"maxQueueingTimeMs":0}]`, chain.KindFlow,
		},
		{`[{"resource":"^(?:a.*)$","threshold":5,"regex":true,"statIntervalInMs":1000}]`, `[{"resource":"a.*","regex":true,"count":5,"maxQueueingTimeMs":0,"statIntervalInMs":1000}]`, chain.KindFlow},
		{`[{"resource":"r","metricType":0,"threshold":5}]`, `[{"resource":"r","count":5}]`, chain.KindIsolation},
		{
			`[{"resource":"r","strategy":0,"retryTimeoutMs":5000,"minRequestAmount":10,"statIntervalMs":10000,"statSlidingWindowBucketCount":10,"maxAllowedRtMs":50,"threshold":0.5,"probeNum":3}]`,
			`[{"resource":"r","grade":0,"timeWindow":5,"minRequestAmount":10,"statIntervalMs":10000,"statBucketCount":10,"count":50,"slowRatioThreshold":0.5,"probeNum":3}]`, chain.KindDegrade,
		},
		{
			`[{"resource":"r","strategy":2,"retryTimeoutMs":1000,"statIntervalMs":1000,"threshold":50}]`,
			`[{"resource":"r","grade":2,"timeWindow":1,"minRequestAmount":1,"statIntervalMs":1000,"count":50}]`, chain.KindDegrade,
		},
		{
			`[{"resource":"r","metricType":1,"controlBehavior":1,"paramIndex":-1,"threshold":5,"maxQueueingTimeMs":3,"durationInSec":2,"paramsMaxCapacity":7,
			   "specificItems":[{"valKind":0,"valStr":"42","threshold":1},{"valKind":1,"valStr":"a","threshold":2},{"valKind":2,"valStr":"true","threshold":3},{"valKind":3,"valStr":"1.5","threshold":4},{"valKind":0,"valStr":"9000000000","threshold":5}]}]`,
			`[{"resource":"r","controlBehavior":2,"paramIdx":-1,"count":5,"maxQueueingTimeMs":3,"durationInSec":2,"paramsMaxCapacity":7,
			   "paramFlowItemList":[{"object":"42","count":1,"classType":"int"},{"object":"a","count":2,"classType":"String"},{"object":"true","count":3,"classType":"boolean"},{"object":"1.5","count":4,"classType":"double"},{"object":"9000000000","count":5,"classType":"long"}]}]`,
			chain.KindParam,
		},
		{`[{"resource":"r","paramKey":"u","threshold":5,"durationInSec":1,"metricType":1}]`, `[{"resource":"r","paramKey":"u","count":5}]`, chain.KindParam},
		{
			`[{"metricType":0,"triggerCount":1.5,"strategy":1},{"metricType":1,"triggerCount":50},{"metricType":2,"triggerCount":7},{"metricType":3,"triggerCount":100},{"metricType":4,"triggerCount":0.8}]`,
			`[{"highestSystemLoad":1.5},{"avgRt":50},{"maxThread":7},{"qps":100},{"highestCpuUsage":0.8}]`, chain.KindSystem,
		},
	} {
		d := parse(t, c.text)
		want, err := document.ParseArray(c.kind, []byte(c.same))
		if err != nil {
			t.Fatal(err)
		}
		if d.Kind != c.kind || len(d.Errors)+len(want.Errors) > 0 {
			t.Errorf("%s: %v, errors %v, want %v; %v", c.text, d.Kind, d.Errors, c.kind, want.Errors)
		}
		if got, want := rulesJSON(t, d), rulesJSON(t, want); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.text, got, want)
		}
		for _, r := range d.Check().Rules {
			if len(r.Warnings) > 0 {
				t.Errorf("%s: warnings %q", c.text, r.Warnings)
			}
		}
		direct, err := document.ParseArray(c.kind, []byte(c.text))
		if err != nil || rulesJSON(t, direct) != rulesJSON(t, d) {
			t.Errorf("%s reads differently as a given kind: %v", c.text, err)
		}
	}
}

func TestGolangDialectRefusals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"resource":"r","threshold":1,"count":1}]`:                                                   "count: is Sentinel's",
		`[{"resource":"r","threshold":1},{"resource":"s","count":1}]`:                                  "flow[0] r: loaded\nflow[1] s: refused: count",
		`[{"resource":"r","timeWindow":1,"threshold":1}]`:                                              "degrade[0] r: refused: timeWindow: is Sentinel's",
		`[{"resource":"r","paramIdx":1,"threshold":1}]`:                                                "param[0] r: refused: paramIdx",
		`[{"qps":1,"triggerCount":1}]`:                                                                 "system[0] -: refused: qps",
		`[{"apiName":"a","predicateItems":[{"pattern":"/"}],"threshold":1}]`:                           "api[0] a: refused: threshold: is a member of sentinel-golang's",
		`[{"resource":"r","threshold":-1}]`:                                                            "threshold: must not be negative",
		`[{"resource":"r","threshold":"1"}]`:                                                           "threshold: must be a number",
		`[{"resource":"r","threshold":1,"controlBehavior":2}]`:                                         "controlBehavior: 2 is not one of 0 to 1",
		`[{"resource":"r","threshold":1,"tokenCalculateStrategy":1}]`:                                  "warmUpPeriodSec: must be above 0",
		`[{"resource":"r","threshold":1,"tokenCalculateStrategy":2}]`:                                  "lowMemUsageThreshold: must be above 0",
		`[{"resource":"r","metricType":0,"threshold":0}]`:                                              "threshold: must be above 0",
		`[{"resource":"r","retryTimeoutMs":0,"statIntervalMs":1,"threshold":1}]`:                       "retryTimeoutMs: must be above 0",
		`[{"resource":"r","retryTimeoutMs":1000,"threshold":1}]`:                                       "statIntervalMs: must be above 0",
		`[{"resource":"r","retryTimeoutMs":1000,"statIntervalMs":1000,"strategy":1,"threshold":2}]`:    "threshold: is a ratio",
		`[{"resource":"r","paramIndex":0,"threshold":1,"metricType":1}]`:                               "durationInSec: must be above 0",
		`[{"metricType":9,"triggerCount":1}]`:                                                          "metricType: 9 is not one of 0 to 4",
		`[{"resource":"r","threshold":1}, null]`:                                                       "flow[1] -: refused: rule: must be an object, not null",
		`{"flowRules":[{"resource":"r","threshold":1,"count":1}]}`:                                     "flow[0] r: refused: count",
		`{"authorityRules":[{"resource":"r","limitApp":"a","threshold":1}]}`:                           "authority[0] r: refused: threshold",
		`[{"resource":"r","paramIndex":1,"paramKey":"u","threshold":1,"metricType":0}]`:                "paramKey: names the argument that paramIdx numbers",
		`[{"resource":"r","threshold":1,"relationStrategy":1}]`:                                        "refResource: is needed",
		`[{"resource":"r","retryTimeoutMs":1000,"statIntervalMs":1000,"threshold":1,"probeNum":-1}]`:   "probeNum: must not be negative",
		`[{"resource":"(","threshold":1,"regex":true}]`:                                                "resource: not a regular expression",
		`[{"resource":"r","threshold":1,"regex":true,"controlBehavior":1,"maxQueueingTimeMs":100000}]`: "controlBehavior: must be 0 with a regex",
	} {
		if got := lines(parse(t, text).Check()); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", text, got, want)
		}
	}
}

// A refusal that says what is wrong stands without warnings that say something else.
func TestGolangRefusalsWithoutWarnings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{"resource":"r","threshold":1,"count":1}]`, `[{"metricType":9,"triggerCount":1}]`, `[{"metricType":9,"triggerCount":1,"strategy":1}]`,
		`{"authorityRules":[{"resource":"r","limitApp":"a","threshold":1}]}`,
	} {
		for _, r := range parse(t, text).Check().Rules {
			if r.Verdict != chain.Refused || len(r.Warnings) > 0 {
				t.Errorf("%s: %v, warnings %q", text, r, r.Warnings)
			}
		}
	}
}

func TestGolangDialectWarnings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"id":"abc","resource":"r","threshold":1}]`:                                                                               "id \"abc\" is no number",
		`[{"resource":"r","threshold":1,"tokenCalculateStrategy":1,"warmUpPeriodSec":1,"warmUpColdFactor":5}]`:                      "warmUpColdFactor 5 is not kept",
		`[{"resource":"r","threshold":1,"unknown":1}]`:                                                                              "unknown member \"unknown\"",
		`[{"resource":"r","retryTimeoutMs":1500,"statIntervalMs":1000,"threshold":1}]`:                                              "rounded up to 2 seconds",
		`[{"resource":"r","retryTimeoutMs":1000,"statIntervalMs":1000,"threshold":1,"statSlidingWindowBucketCount":3}]`:             "does not divide",
		`[{"metricType":2,"triggerCount":1.5}]`:                                                                                     "triggerCount 1.5 is cut to 1",
		`[{"metricType":0,"triggerCount":1,"strategy":-1}]`:                                                                         "BBR",
		`[{"metricType":4,"triggerCount":0.5,"strategy":1}]`:                                                                        "BBR",
		`[{"resource":"r","metricType":0,"paramIndex":0,"threshold":1,"specificItems":[{"valKind":0,"valStr":"x","threshold":1}]}]`: "specificItems[0] is left out",
		`[{"resource":"r","metricType":0,"paramIndex":0,"threshold":1,"specificItems":[{"valKind":7,"valStr":"x","threshold":1}]}]`: "specificItems[0] is left out",
		`[{"resource":"r","metricType":0,"paramIndex":0,"threshold":1,"specificItems":[{"valKind":1,"threshold":1}]}]`:              "specificItems[0] is left out",
	} {
		d := parse(t, text)
		report := d.Check()
		if all := strings.Join(report.Rules[0].Warnings, "; "); !strings.Contains(all, want) || report.Rules[0].Verdict != chain.Loaded {
			t.Errorf("%s: %v %q, want %q", text, report.Rules[0].Verdict, all, want)
		}
	}
}
