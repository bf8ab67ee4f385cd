package yaml_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tidegate-go/tidegate/cluster"
	"github.com/tidegate-go/tidegate/document"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(document.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// agree checks that schema and loader say the same of a text.
func agree(t *testing.T, schema *jsonschema.Schema, text string, valid bool) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	if err := schema.Validate(value); (err == nil) != valid {
		t.Errorf("%s: the schema says %v, want valid %v", text, err, valid)
	}
	d, err := document.Parse([]byte(text))
	if err == nil && len(d.Errors) > 0 {
		err = d.Errors[0]
	}
	if err == nil && d.Cluster != nil {
		_, _, err = cluster.ParseSettings(d.Cluster)
	}
	if (err == nil) != valid {
		t.Errorf("%s: the loader says %v, want valid %v", text, err, valid)
	}
}

func TestSchemaAgreesWithLoader(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for section, rules := range corpus() {
		for _, rule := range rules.valid {
			agree(t, schema, fmt.Sprintf(`{%q:[%s]}`, section, rule), true)
		}
		for _, rule := range rules.invalid {
			agree(t, schema, fmt.Sprintf(`{%q:[%s]}`, section, rule), false)
		}
	}
	for _, text := range []string{
		`{}`, `[]`, `null`, `{"flowRules":null}`, `{"flowRules":[]}`, `{"unknown":1}`, `{"$schema":"x"}`, `{"schemaVersion":2}`, `{"revision":"x"}`,
		`{"sentinelEnabled":"false","mode":"observe","slots":{"flow":false,"water":1}}`, `{"sentinelEnabled":0}`, `{"cluster":{"mode":-1}}`,
		`[{"resource":"r","count":1}]`, `[{"resource":"r","timeWindow":1}]`,
	} {
		agree(t, schema, text, true)
	}
	for _, text := range []string{
		`5`, `"x"`, `{"flowRules":{}}`, `{"flowRules":"x"}`, `{"sentinelEnabled":"yes"}`, `{"sentinelEnabled":2}`, `{"mode":"off"}`, `{"mode":1}`,
		`{"slots":[]}`, `{"slots":{"flow":1}}`, `{"schemaVersion":0}`, `{"schemaVersion":"1"}`, `{"revision":5}`, `{"cluster":[]}`,
		`[5]`, `{"flowRules":[null]}`, `{"systemRules":[[]]}`,
	} {
		agree(t, schema, text, false)
	}
}

func TestSchemaOfClusterMember(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	const group = `"machineId":"a@1","ip":"i"`
	rule := func(more string) string { return `{"resource":"r","clusterMode":true,"clusterConfig":{` + more + `}}` }
	for _, member := range []string{
		`{}`, `{"map":null,"mode":null,"assign":null,"clientConfig":null,"namespaceSet":null,"transport":null,"serverFlow":null,"serverRules":null,"x":1}`,
		`{"map":[]}`, `{"map":[{` + group + `,"port":1}]}`, `{"map":[{` + group + `,"port":65535,"clientSet":["b","c"],"belongToApp":true,"x":1}]}`, `{"map":[{` + group + `,"port":1,"clientSet":null}]}`,
		`{"mode":1}`, `{"mode":0,"assign":{"serverHost":"h"}}`, `{"assign":{"serverHost":"h","serverPort":null}}`, `{"clientConfig":{"requestTimeout":20}}`,
		`{"namespaceSet":[]}`, `{"namespaceSet":["a b"]}`, `{"transport":{}}`, `{"transport":{"port":1,"idleSeconds":-1}}`, `{"serverFlow":{}}`,
		`{"serverFlow":{"namespace":"n","exceedCount":0,"maxOccupyRatio":0.5,"intervalMs":10,"sampleCount":5,"maxAllowedQps":1e9}}`,
		`{"serverRules":{}}`, `{"serverRules":{"a":null,"b":{},"c":{"flowRules":[],"paramFlowRules":null},"d":{"flowRules":[` + rule(`"flowId":1`) + `]}}}`,
	} {
		agree(t, schema, `{"cluster":`+member+`}`, true)
	}
	for _, member := range []string{
		`{"map":{}}`, `{"map":[5]}`, `{"map":[{}]}`, `{"map":[{` + group + `}]}`, `{"map":[{` + group + `,"port":0}]}`, `{"map":[{` + group + `,"port":65536}]}`, `{"map":[{` + group + `,"port":"1"}]}`,
		`{"map":[{"machineId":" ","ip":"i","port":1}]}`, `{"map":[{"machineId":"a","port":1}]}`, `{"map":[{"machineId":"a","ip":"i\n","port":1}]}`, `{"map":[{` + group + `,"port":1,"clientSet":"c"}]}`,
		`{"map":[{` + group + `,"port":1,"clientSet":[""]}]}`, `{"map":[{` + group + `,"port":1,"clientSet":[null]}]}`, `{"map":[{` + group + `,"port":1,"belongToApp":1}]}`,
		`{"mode":2}`, `{"mode":"0"}`, `{"assign":{}}`, `{"assign":[]}`, `{"assign":{"serverHost":""}}`, `{"assign":{"serverHost":"h","serverPort":0}}`, `{"assign":{"serverHost":"h","serverPort":1.5}}`,
		`{"clientConfig":{}}`, `{"clientConfig":{"requestTimeout":0}}`, `{"clientConfig":{"requestTimeout":null}}`, `{"clientConfig":{"requestTimeout":2147483648}}`,
		`{"namespaceSet":"a"}`, `{"namespaceSet":[""]}`, `{"namespaceSet":[5]}`, `{"transport":{"port":0}}`, `{"transport":{"idleSeconds":"x"}}`, `{"transport":{"idleSeconds":3000000000}}`,
		`{"serverFlow":{"exceedCount":-1}}`, `{"serverFlow":{"intervalMs":0}}`, `{"serverFlow":{"sampleCount":0}}`, `{"serverFlow":{"maxAllowedQps":"x"}}`, `{"serverFlow":{"namespace":5}}`,
		`{"serverRules":[]}`, `{"serverRules":{"":{}}}`, `{"serverRules":{"a":[]}}`, `{"serverRules":{"a":{"flowRules":{}}}}`, `{"serverRules":{"a":{"flowRules":[` + rule("") + `]}}}`,
		`{"serverRules":{"a":{"paramFlowRules":[` + rule(`"flowId":1`) + `]}}}`,
	} {
		agree(t, schema, `{"cluster":`+member+`}`, false)
	}
}

type rules struct{ valid, invalid []string }

// corpus is valid and invalid rules by section. Left out is what a schema cannot tell: patterns that do not compile,
// numbers that do not divide each other, and the dialect of sentinel-golang.
func corpus() map[string]rules {
	return map[string]rules{
		"flowRules":             flowCorpus(),
		"degradeRules":          degradeCorpus(),
		"paramFlowRules":        paramCorpus(),
		"systemRules":           {[]string{`{}`, `{"qps":0}`, `{"highestCpuUsage":0.5,"avgRt":-1,"maxThread":null}`, `{"resource":null,"limitApp":5}`}, []string{`{"qps":"1"}`, `{"avgRt":1.5}`, `{"maxThread":9223372036854775808}`, `{"mode":"x"}`}},
		"authorityRules":        {[]string{`{"resource":"r","limitApp":"a,b"}`, `{"resource":"r","limitApp":"a","strategy":1,"strict":true}`}, []string{`{"resource":"r"}`, `{"limitApp":"a"}`, `{"resource":"r","limitApp":" ,"}`, `{"resource":"r","limitApp":["a"]}`, `{"resource":"r","limitApp":"a","strategy":2}`, `{"resource":"r","limitApp":"a","strict":"x"}`}},
		"isolationRules":        {[]string{`{"resource":"r","count":5}`, `{"resource":"r"}`, `{"resource":"r","count":0}`}, []string{`{"count":5}`, `{"resource":"r","count":-1}`, `{"resource":"r","count":1.5}`, `{"resource":"r","count":"1"}`}},
		"gatewayFlowRules":      gatewayCorpus(),
		"gatewayApiDefinitions": apiCorpus(),
	}
}

func flowCorpus() rules {
	return rules{
		[]string{
			`{"resource":"r"}`, `{"resource":"r","count":0.1,"controlBehavior":2,"maxQueueingTimeMs":0}`, `{"resource":"r","enabled":false,"mode":"off","id":7,"tags":["a"],"description":"d"}`,
			`{"resource":"r","strategy":2,"refResource":"e"}`, `{"resource":"r","controlBehavior":3,"warmUpPeriodSec":1}`, `{"resource":"r","warmUpPeriodSec":0}`,
			`{"resource":"r","controlBehavior":1,"grade":0,"warmUpPeriodSec":0}`, `{"resource":"r","statIntervalInMs":1000,"statBucketCount":10}`, `{"resource":"r","statIntervalInMs":0}`,
			`{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"fallbackPolicy":"pass"}}`, `{"resource":"r","clusterConfig":{"sampleCount":0,"flowId":null}}`,
			`{"resource":".*","regex":true}`, `{"resource":"r","grade":null,"count":null,"strategy":null,"controlBehavior":null,"limitApp":null,"clusterConfig":null,"mode":null}`,
			`{"resource":"r","lowMemUsageThreshold":2,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2}`, `{"resource":"r","app":"console"}`, `{"resource":"r","grade":1.0}`,
		},
		[]string{
			`{}`, `{"resource":""}`, `{"resource":" "}`, `{"resource":null}`, `{"resource":5}`, `{"resource":"r","count":-1}`, `{"resource":"r","count":"1"}`, `{"resource":"r","count":1e999}`,
			`{"resource":"r","grade":2}`, `{"resource":"r","grade":"1"}`, `{"resource":"r","strategy":1}`, `{"resource":"r","strategy":2,"refResource":" "}`, `{"resource":"r","strategy":3}`,
			`{"resource":"r","controlBehavior":4}`, `{"resource":"r","controlBehavior":1,"warmUpPeriodSec":0}`, `{"resource":"r","controlBehavior":3,"warmUpPeriodSec":-1}`,
			`{"resource":"r","maxQueueingTimeMs":-1}`, `{"resource":"r","maxQueueingTimeMs":2147483648}`, `{"resource":"r","maxQueueingTimeMs":1.5}`, `{"resource":"r","warmUpPeriodSec":3000000000}`,
			`{"resource":".*","regex":true,"controlBehavior":2}`, `{"resource":".*","regex":true,"clusterMode":true,"clusterConfig":{"flowId":1}}`,
			`{"resource":"r","statIntervalInMs":-1}`, `{"resource":"r","statBucketCount":0}`, `{"resource":"r","clusterMode":true}`, `{"resource":"r","clusterMode":true,"clusterConfig":{}}`,
			`{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":0}}`, `{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"sampleCount":0}}`,
			`{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"strategy":1}}`, `{"resource":"r","clusterConfig":{"thresholdType":2}}`, `{"resource":"r","clusterConfig":{"fallbackPolicy":"x"}}`,
			`{"resource":"r","clusterMode":true,"clusterConfig":{"flowId":1,"fallbackCount":-1}}`, `{"resource":"r","clusterMode":1}`, `{"resource":"r","clusterConfig":[]}`,
			`{"resource":"r","enabled":"true"}`, `{"resource":"r","mode":"dry"}`, `{"resource":"r","tags":[1]}`, `{"resource":"r","id":"1"}`, `{"resource":"r","id":1.5}`, `{"resource":"r","regex":"x"}`,
			`{"resource":"r","lowMemUsageThreshold":2}`, `{"resource":"r","lowMemUsageThreshold":2,"highMemUsageThreshold":1,"memLowWaterMarkBytes":1,"memHighWaterMarkBytes":2,"controlBehavior":1}`,
			`{"resource":"r","count":1,"threshold":1}`,
		},
	}
}

func degradeCorpus() rules {
	return rules{
		[]string{
			`{"resource":"r","timeWindow":1}`, `{"resource":"r","timeWindow":1,"grade":1,"count":1}`, `{"resource":"r","timeWindow":1,"grade":2,"count":100,"slowRatioThreshold":7}`,
			`{"resource":"r","timeWindow":1,"slowRatioThreshold":0,"minRequestAmount":1,"statIntervalMs":1000,"statBucketCount":10,"probeNum":2,"probeTimeoutMs":1}`, `{"resource":"*","timeWindow":10}`,
		},
		[]string{
			`{"resource":"r"}`, `{"timeWindow":1}`, `{"resource":"r","timeWindow":0}`, `{"resource":"r","timeWindow":null}`, `{"resource":"r","timeWindow":1.5}`, `{"resource":"r","timeWindow":1,"grade":3}`,
			`{"resource":"r","timeWindow":1,"grade":1,"count":1.1}`, `{"resource":"r","timeWindow":1,"slowRatioThreshold":1.1}`, `{"resource":"r","timeWindow":1,"grade":0,"slowRatioThreshold":-1}`,
			`{"resource":"r","timeWindow":1,"minRequestAmount":0}`, `{"resource":"r","timeWindow":1,"statIntervalMs":0}`, `{"resource":"r","timeWindow":1,"statBucketCount":0}`,
			`{"resource":"r","timeWindow":1,"probeNum":0}`, `{"resource":"r","timeWindow":1,"probeTimeoutMs":0}`, `{"resource":"r","timeWindow":1,"count":-1}`, `{"resource":"r","timeWindow":1,"slowRatioThreshold":"1"}`,
		},
	}
}

func paramCorpus() rules {
	return rules{
		[]string{
			`{"resource":"r","paramIdx":0}`, `{"resource":"r","paramIdx":-1,"count":5,"durationInSec":1,"burstCount":0}`, `{"resource":"r","paramKey":"u","grade":0,"controlBehavior":2}`,
			`{"resource":"r","paramIdx":0,"paramFlowItemList":[{"object":"1","count":1,"classType":"int"},{"object":"x","count":-1},5]}`, `{"resource":"r","paramIdx":0,"paramsMaxCapacity":0}`,
			`{"resource":"r","paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":1}}`, `{"resource":"r","paramIdx":null,"paramKey":"u"}`, `{"resource":"r","paramIdx":1,"paramKey":""}`,
		},
		[]string{
			`{"resource":"r"}`, `{"paramIdx":0}`, `{"resource":"r","paramIdx":"0"}`, `{"resource":"r","paramIdx":null}`, `{"resource":"r","paramIdx":0,"paramKey":"u"}`, `{"resource":"r","paramKey":""}`,
			`{"resource":"r","paramIdx":0,"grade":2}`, `{"resource":"r","paramIdx":0,"controlBehavior":1}`, `{"resource":"r","paramIdx":0,"durationInSec":0}`, `{"resource":"r","paramIdx":0,"burstCount":-1}`,
			`{"resource":"r","paramIdx":0,"maxQueueingTimeMs":-1}`, `{"resource":"r","paramIdx":0,"count":-1}`, `{"resource":"r","paramIdx":0,"paramFlowItemList":{}}`,
			`{"resource":".*","regex":true,"paramIdx":0,"controlBehavior":2}`, `{"resource":"r","paramIdx":0,"clusterMode":true,"clusterConfig":{"flowId":-1}}`,
		},
	}
}

func gatewayCorpus() rules {
	return rules{
		[]string{
			`{"resource":"a","count":50}`, `{"resource":"a","resourceMode":1,"grade":0,"intervalSec":60,"controlBehavior":2,"burst":1,"maxQueueingTimeoutMs":0}`,
			`{"resource":"a","paramItem":{"parseStrategy":2,"fieldName":"X"}}`, `{"resource":"a","paramItem":{"pattern":"a","matchStrategy":3}}`, `{"resource":"a","paramItem":null}`, `{"resource":"a","paramItem":{}}`,
			`{"resource":"a","clusterMode":true,"clusterConfig":{"flowId":1,"fallbackPolicy":"pass"}}`, `{"resource":"a","clusterMode":null,"clusterConfig":{"sampleCount":0,"flowId":null}}`,
			`{"resource":"a","intervalSec":2147483,"clusterMode":true,"clusterConfig":{"flowId":1,"windowIntervalMs":1000}}`,
		},
		[]string{
			`{}`, `{"resource":"a","resourceMode":2}`, `{"resource":"a","grade":2}`, `{"resource":"a","count":-1}`, `{"resource":"a","intervalSec":0}`, `{"resource":"a","controlBehavior":1}`, `{"resource":"a","burst":-1}`,
			`{"resource":"a","maxQueueingTimeoutMs":-1}`, `{"resource":"a","paramItem":{"parseStrategy":5}}`, `{"resource":"a","paramItem":{"parseStrategy":2}}`, `{"resource":"a","paramItem":{"parseStrategy":4,"fieldName":" "}}`,
			`{"resource":"a","paramItem":{"matchStrategy":4}}`, `{"resource":"a","paramItem":[]}`, `{"resource":"a","clusterMode":true}`, `{"resource":"a","clusterMode":1}`,
			`{"resource":"a","clusterMode":true,"clusterConfig":{}}`, `{"resource":"a","clusterMode":true,"clusterConfig":{"flowId":1,"windowIntervalMs":0}}`,
			`{"resource":"a","intervalSec":2147484,"clusterMode":true,"clusterConfig":{"flowId":1}}`, `{"resource":"a","clusterMode":true,"clusterConfig":{"flowId":1,"strategy":1}}`,
		},
	}
}

func apiCorpus() rules {
	return rules{
		[]string{`{"apiName":"a","predicateItems":[{"pattern":"/a/**","matchStrategy":1}]}`, `{"apiName":"a","predicateItems":[{}]}`},
		[]string{
			`{"apiName":"a"}`, `{"apiName":"a","predicateItems":[]}`, `{"predicateItems":[{"pattern":"/a"}]}`, `{"apiName":" ","predicateItems":[{}]}`, `{"apiName":"a","predicateItems":[5]}`,
			`{"apiName":"a","predicateItems":[{"matchStrategy":3}]}`, `{"apiName":"a","predicateItems":[{"pattern":1}]}`,
		},
	}
}
