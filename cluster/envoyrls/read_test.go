package envoyrls_test

import (
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/cluster/envoyrls"
)

func TestFlowIDs(t *testing.T) {
	t.Parallel()
	for want, identifier := range map[int64]string{
		3027203211: envoyrls.Identifier("foo", envoyrls.Entry{Key: "destination_cluster", Value: "service_httpbin"}),
		510526213:  envoyrls.Identifier("foo", envoyrls.Entry{Key: "generic_key", Value: "default"}),
		1042899935: envoyrls.Identifier("foo", envoyrls.Entry{Key: "a", Value: "b"}, envoyrls.Entry{Key: "c", Value: "d"}),
		2819752415: envoyrls.Identifier("foo", envoyrls.Entry{Key: "c", Value: "d"}, envoyrls.Entry{Key: "a", Value: "b"}),
		// Java: "\uD83D\uDE00".hashCode() == 1772899
		2147483647 + 1772899: "😀",
	} {
		if got := envoyrls.FlowID(identifier); got != want {
			t.Errorf("%s: %d, want %d", identifier, got, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"no YAML":         {"domain: [", "line"},
		"only a comment":  {"# nothing\n", "domain"},
		"a list":          {"- a\n", "line 1, column 1: the file must have members"},
		"no domain":       {"descriptors:\n- {key: a}\n", "domain is missing"},
		"blank domain":    {"domain: ' '\ndescriptors:\n- {key: a}\n", "domain is missing or blank"},
		"no descriptors":  {"domain: d\n", "no descriptors"},
		"none":            {"domain: d\ndescriptors: []\n", "no descriptors"},
		"no list":         {"domain: d\ndescriptors: {a: b}\n", "must be a list"},
		"no key":          {"domain: d\ndescriptors:\n- {key: a}\n- {value: a}\n", "line 4, column 3: the key"},
		"twice":           {"domain: d\ndescriptors:\n- {key: a, value: b}\n- {key: a, value: b}\n", "line 4"},
		"prefix twice":    {"domain: d\ndescriptors:\n- {key: a, value: b*}\n- {key: a, value: b*}\n", "line 4"},
		"key twice":       {"domain: d\ndescriptors:\n- {key: a}\n- {key: a}\n", "line 4"},
		"repeated member": {"domain: d\ndomain: e\n", "twice"},
		"unit":            {"domain: d\ndescriptors:\n- key: a\n  rate_limit: {unit: fortnight, requests_per_unit: 1}\n", "line 4, column 15: unit is \"fortnight\""},
		"no unit":         {"domain: d\ndescriptors:\n- {key: a, rate_limit: {requests_per_unit: 1}}\n", "unit"},
		"no number":       {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day}}\n", "requests_per_unit is missing"},
		"negative":        {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day, requests_per_unit: -1}}\n", "whole number"},
		"fraction":        {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day, requests_per_unit: 1.5}}\n", "whole number"},
		"too much":        {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day, requests_per_unit: 4294967296}}\n", "whole number"},
		"text":            {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day, requests_per_unit: many}}\n", "whole number"},
		"shadow":          {"domain: d\ndescriptors:\n- {key: a, shadow_mode: 1}\n", "true or false"},
		"unlimited unit":  {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unlimited: true, unit: day}}\n", "no unit"},
		"multiplier":      {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: year, unit_multiplier: 101, requests_per_unit: 1}}\n", "100 years"},
		"replaces none":   {"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day, requests_per_unit: 1, replaces: [{}]}}\n", "missing"},
		"replaces itself": {"domain: d\ndescriptors:\n- {key: a, rate_limit: {name: n, unit: day, requests_per_unit: 1, replaces: [{name: n}]}}\n", "itself"},
		"mixed":           {"domain: d\ndescriptors:\n- {key: a}\n- {resources: [{key: a, value: b}], count: 1}\n", "other format"},
		"mixed too":       {"domain: d\ndescriptors:\n- {resources: [{key: a, value: b}], count: 1}\n- {key: a}\n", "other format"},
		"no resources":    {"domain: d\ndescriptors:\n- {count: 1}\n", "resources are missing"},
		"no count":        {"domain: d\ndescriptors:\n- {resources: [{key: a, value: b}]}\n", "count is missing"},
		"negative count":  {"domain: d\ndescriptors:\n- {resources: [{key: a, value: b}], count: -0.5}\n", "0 or more"},
		"blank value":     {"domain: d\ndescriptors:\n- {resources: [{key: a, value: ' '}], count: 1}\n", "blank"},
		"endless alias":   {"domain: d\ndescriptors: &x\n- {key: a, descriptors: *x}\n", "contains itself"},
		"deep": {
			"domain: d\ndescriptors: " + strings.Repeat("[{key: a, descriptors: ", 100) + "[]" + strings.Repeat("}]", 100) + "\n",
			"nested",
		},
	} {
		_, err := envoyrls.Check([]byte(c.content))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", name, err, c.want)
		}
	}
}

func TestAllFaultsAreTold(t *testing.T) {
	t.Parallel()
	_, err := envoyrls.Check([]byte("domain: d\ndescriptors:\n- {value: a}\n- {key: a, shadow_mode: 1}\n- {value: b}\n"))
	if err == nil || strings.Count(err.Error(), "line ") != 3 {
		t.Errorf("want three faults: %v", err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"domain: d\nversion: 1\ndescriptors:\n- {key: a}\n":                                                                     `line 2: unknown member "version"`,
		"domain: d\ndescriptors:\n- {key: a, colour: red}\n":                                                                    `line 3: unknown member "colour"`,
		"domain: d\ndescriptors:\n- {key: a, rate_limit: {unit: day, requests_per_unit: 1, burst: 2}}\n":                        `line 3: unknown member "burst"`,
		"domain: d\ndescriptors:\n- {key: a, share_threshold: true}\n":                                                          "share_threshold",
		"domain: d\ndescriptors:\n- {resources: [{key: a, value: b}, {key: a, value: b}], count: 1}\n":                          "twice",
		"domain: d\ndescriptors:\n- {resources: [{key: a, value: b}], count: 1}\n- {resources: [{key: a, value: b}], count: 2}": "takes the place of the one in line 3",
	} {
		warnings, err := envoyrls.Check([]byte(content))
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("%q: %q, %v; want a warning with %q", content, warnings, err, want)
		}
	}
	for _, content := range []string{
		"domain: d\ndescriptors:\n- {key: a, value: null, detailed_metric: true, value_to_metric: true, rate_limit: null}\n",
		"domain: d\nx-unused: null\ndescriptors:\n- &a {key: a, value: b}\n- {<<: *a, value: c}\n- {<<: [*a], value: d}\n",
	} {
		if warnings, err := envoyrls.Check([]byte(content)); err != nil || len(warnings) > 0 {
			t.Errorf("%q: %q, %v", content, warnings, err)
		}
	}
}

// Values are texts as they stand in the file.
func TestScalarsAreTexts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, `
domain: 7
descriptors:
  - {key: port, value: 0080, rate_limit: {unit: day, requests_per_unit: 0}}
  - {key: debug, value: true, rate_limit: {unit: day, requests_per_unit: 0}}
  - {key: 1.0, value: 2024-01-02, rate_limit: {unit: day, requests_per_unit: 0}}
`)
	f.want(t, over, request("7", "port=0080"))
	f.want(t, over, request("7", "debug=true"))
	f.want(t, over, request("7", "1.0=2024-01-02"))
	f.want(t, ok, request("7", "port=80"))
}

func FuzzRuleFile(f *testing.F) {
	f.Add([]byte(sentinelFile))
	f.Add([]byte(nestedFile))
	f.Add([]byte("domain: d\ndescriptors:\n- &a {key: a, value: b*}\n- {<<: *a, value: c}\n"))
	f.Add([]byte("{domain: d, descriptors: [{key: k, rate_limit: {unit: week, unit_multiplier: 2, requests_per_unit: 0x10, replaces: [{name: x}]}}]}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		warnings, err := envoyrls.Check(content)
		again, errAgain := envoyrls.Check(content)
		if (err == nil) != (errAgain == nil) || len(warnings) != len(again) {
			t.Errorf("read twice: %v and %v", err, errAgain)
		}
	})
}
