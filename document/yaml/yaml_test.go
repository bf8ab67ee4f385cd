package yaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/chain"
	"github.com/tidegate-go/tidegate/document"
	"github.com/tidegate-go/tidegate/document/yaml"
)

const shop = `# the shop's rules
sentinelEnabled: true
slots: {authority: false}
defaults: &defaults
  limitApp: default
  count: 5
flowRules:
  - resource: GET:/orders/{id}
    count: 200
    description: checkout peak
  - <<: *defaults
    resource: yes
  - resource: slow
    count: 0.1
    controlBehavior: 2
    maxQueueingTimeMs: 30_000
systemRules:
  - highestCpuUsage: .85
`

func TestParse(t *testing.T) {
	t.Parallel()
	d, err := yaml.Parse([]byte(shop))
	if err != nil || len(d.Errors) > 0 {
		t.Fatalf("%v %v", err, d.Errors)
	}
	flow := d.Flow.Items
	if len(flow) != 3 || flow[0].Rule.Count != 200 || flow[1].Rule.Count != 5 || flow[1].Rule.Resource != "yes" || *flow[2].Rule.MaxQueueingTimeMs != 30000 {
		t.Errorf("flow rules %+v", flow)
	}
	if cpu := d.System.Items[0].Rule.HighestCpuUsage; cpu == nil || *cpu != 0.85 {
		t.Errorf("cpu %v", cpu)
	}
	if on, given := d.Slots[chain.KindAuthority]; on || !given || d.Enabled == nil || !*d.Enabled {
		t.Errorf("slots %v, enabled %v", d.Slots, d.Enabled)
	}
	if flow[2].At != (document.Position{Line: 13, Column: 5}) {
		t.Errorf("third rule at %v, want line 13, column 5", flow[2].At)
	}
}

func TestErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	d, err := yaml.Parse([]byte(`flowRules:
  - resource: a
    count: -1
  - resource: b
    clusterMode: true
    clusterConfig:
      flowId: 1
      sampleCount: 3
  - count: 1
systemRules: {}
degradeRules:
  - {resource: c, timeWindow: .inf}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"line 3, column 12: flowRules[0] a: count: must not be negative: -1",
		"line 8, column 20: flowRules[1] b: clusterConfig.sampleCount: 3 does not divide windowIntervalMs 1000",
		"line 9, column 5: flowRules[2]: resource: must not be blank",
		"line 10, column 14: systemRules: must be an array, not an object",
		"line 12, column 31: degradeRules[0] c: timeWindow: must be a whole number, not a string",
	}
	for i, e := range d.Errors {
		if i >= len(want) || e.Error() != want[i] {
			t.Errorf("error %d: %v", i, e)
		}
	}
	if len(d.Errors) != len(want) {
		t.Errorf("%d errors, want %d", len(d.Errors), len(want))
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "line 1, column 1: the text is empty",
		"# nothing\n":                  "the text is empty",
		"a: 1\nb: [\n":                 "not YAML",
		"a: 1\n\tb: 2\n":               "line 2, column 1: not YAML",
		"{}\n---\n{}\n":                "more than one YAML document",
		"a: 1\na: 2\n":                 "line 2, column 1: member \"a\" is there twice",
		"1: x\n":                       "line 1, column 1: a key must be a string",
		"true: x\n":                    "a key must be a string",
		"a: &a [*a]\n":                 "contains itself",
		"text":                         "must be an object or an array, not a string",
		"a: *b\n":                      "unknown anchor",
		"<<: 5\n":                      "<< needs a mapping",
		"x: &x\n  <<: *x\n":            "contains itself",
		"? [complex]\n: 1\n":           "a key must be a string",
		"<<: [{a: 1}, 5]\n":            "<< needs a mapping",
		"a: &a {x: 1}\n<<: [*a, *b]\n": "unknown anchor",
	} {
		d, err := yaml.Parse([]byte(text))
		if err == nil || d != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Faults of the notation are at the line where they are, or where what is never closed begins.
func TestSyntaxErrorsNameTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"[{a: 1}\n":                       1,
		"a: [1, 2\n":                      1,
		"a: 1\nb: [\n":                    2,
		"a: 1\nb:\n  - [1\n  - 2\nc: 3\n": 3,
		"flowRules:\n  - resource: a\n    count: 1\n   bad: x\n":            4,
		"flowRules:\n  - resource: a\n    count: 1\n  bad: x\n  worse: y\n": 4,
		"flowRules:\n- resource: a\n  count: 1\n   x: 2\n":                  4,
		"flowRules:\n  - resource: a\n  - resource: b\n    count: : 2\n":    4,
		"a: 1\nb: 2\n}\n":            3,
		"a: 1\nb: {x: 1\nc: 2\n":     2,
		"a: 'x\nb: 2\n":              1,
		"a: 1\nb: 2\n- c\n":          3,
		"a: 1\nfoo\nb: 1\n":          2,
		"a: 1\nb: &x\nc: *y\n":       3,
		"[\n  {a: 1},\n  {a: 2\n]\n": 3,
		"a: 1" + strings.Repeat("\nb: {x: 1}", 9) + "\n\n# text\n- c\n": 13,
	} {
		_, err := yaml.Parse([]byte(text))
		if at, ok := errors.AsType[*document.Error](err); !ok || at.At.Line != want || !strings.Contains(at.Reason, "not YAML: ") {
			t.Errorf("%q: %v, want line %d", text, err, want)
		}
	}
}

func TestAliasesCannotBlowUp(t *testing.T) {
	t.Parallel()
	for _, line := range []string{": &%b [*%a,*%a,*%a,*%a,*%a,*%a,*%a,*%a,*%a,*%a]\n", ": &%b {<<: [*%a,*%a,*%a,*%a,*%a,*%a,*%a,*%a,*%a,*%a]}\n"} {
		text := "a: &a {x: x}\n"
		for c := 'b'; c < 'q'; c++ {
			text += string(c) + strings.NewReplacer("%b", string(c), "%a", string(c-1)).Replace(line)
		}
		if _, err := yaml.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v, want it refused", line, err)
		}
	}
}

func TestParseArray(t *testing.T) {
	t.Parallel()
	d, err := yaml.ParseArray(chain.KindDegrade, []byte("- {resource: r, timeWindow: 1e1}\n"))
	if err != nil || len(d.Errors) > 0 || d.Degrade.Items[0].Rule.TimeWindow != 10 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := yaml.ParseArray(chain.KindFlow, []byte("a: 1\n")); err == nil {
		t.Error("a mapping is taken for an array")
	}
	if d, err = yaml.Parse([]byte("- {resource: r, timeWindow: 5}\n")); err != nil || d.Kind != chain.KindDegrade {
		t.Errorf("%+v, %v", d, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{shop, "[]", "a: &a [*a]", "- {resource: r, threshold: 1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := yaml.Parse(text)
		if (d == nil) == (err == nil) {
			t.Fatalf("document %v and error %v", d, err)
		}
	})
}
