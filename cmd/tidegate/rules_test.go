package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tidegate runs the command in process.
func tidegate(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRulesCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content, kind string
		code                int
		want                string
	}{
		{"flow.json", `[{"resource":"a","count":1},{"resource":"a","count":1},{"resource":"b","mode":"observe"},{"resource":"c","enabled":false}]`, "", 0, "flow[0] a: loaded\nflow[1] a: duplicate\nwarning: flow[1] a: rule 0 comes first\nflow[2] b: observed\nflow[3] c: disabled\n"},
		{"flow.json", `[{"resource":"a","count":-1},{"count":1},{"resource":"b"}]`, "", 1, "flow[0] a: refused: count: must not be negative: -1\nflow[1] -: refused: resource: must not be blank\nflow[2] b: loaded\n"},
		{"degrade.json", `[{"resource":"a","timeWindow":1,"tags":["x"]}]`, "", 0, "degrade[0] a: loaded\n"},
		{"system.json", `[{"qps":1}]`, "", 0, "system[0] -: loaded\n"},
		{"golang.json", `[{"metricType":3,"triggerCount":10}]`, "", 0, "system[0] -: loaded\n"},
		{"warned.json", `[{"resource":"a","cout":1}]`, "", 0, "flow[0] a: loaded\nwarning: flow[0] a: unknown member \"cout\" is ignored\n"},
		{"lines.json", `[{"resource":"a\nb\u001b","c\nd":1},{"resource":" "}]`, "flow", 1, `flow[0] a\nb\x1b: loaded` + "\n" + `warning: flow[0] a\nb\x1b: unknown member "c\nd" is ignored` + "\nflow[1] -: refused: resource: must not be blank\n"},
		{
			"cluster.json", `[{"resource":"a","clusterMode":true,"clusterConfig":{"flowId":1}},{"resource":"b","clusterMode":true,"clusterConfig":{"flowId":1}},{"resource":"b","clusterMode":true,"clusterConfig":{}}]`, "", 1,
			"flow[0] a: loaded\nflow[1] b: loaded\nwarning: flow[1] b: clusterConfig.flowId 1 is that of rule 0 already: a token server keeps the last of them\nflow[2] b: refused: clusterConfig.flowId: must be above 0, not 0\n",
		},
		{"off.json", `{"slots":{"flow":false},"flowRules":[{"resource":"a"}]}`, "", 0, "flow[0] a: disabled\nwarning: flow[0] a: rules of this kind are switched off\n"},
		{"isolation.json", `[{"resource":"a","count":1}]`, "isolation", 0, "isolation[0] a: loaded\n"},
		{"empty.json", `[]`, "flow", 0, ""},
		{"null.json", `null`, "", 0, ""},
		{"bom.json", "\xef\xbb\xbf" + `[{"resource":"a"}]`, "", 0, "flow[0] a: loaded\n"},
		{"doc.json", `{"flowRules":[{"resource":"a"}],"systemRules":[{"qps":1}]}`, "", 0, "flow[0] a: loaded\nsystem[0] -: loaded\n"},
		{"doc.yaml", "flowRules:\n- resource: a\n  count: 1\n", "", 0, "flow[0] a: loaded\n"},
		{"flow.yml", "- {resource: a, count: 1}\n", "flow", 0, "flow[0] a: loaded\n"},
		{"doc.json", `{"flowRules":[{"resource":"a"}]}`, "flow", 2, ""},
		{"flow.json", `[{"resource":"a"`, "", 2, ""},
		{"flow.json", ``, "", 2, ""},
		{"flow.json", `"x"`, "", 2, ""},
	} {
		args := []string{"rules", "check"}
		if c.kind != "" {
			args = append(args, "-kind", c.kind)
		}
		code, stdout, stderr := tidegate(append(args, file(t, c.name, c.content))...)
		if code != c.code || stdout != c.want || (code == 2) != strings.Contains(stderr, "unreadable: ") {
			t.Errorf("%s %q: exit %d, %q, %q; want %d, %q", c.kind, c.content, code, stdout, stderr, c.code, c.want)
		}
	}
}

func TestRulesCheckOfBrokenParts(t *testing.T) {
	t.Parallel()
	path := file(t, "doc.json", `{"flowRules":{},"sentinelEnabled":"x","unknown":1,"degradeRules":[{"resource":"a","timeWindow":1}]}`)
	code, stdout, _ := tidegate("rules", "check", path)
	want := "warning: " + path + ": unknown member \"unknown\" is ignored\n" +
		"error: " + path + ": line 1, column 14: flowRules: must be an array, not an object\n" +
		"error: " + path + ": line 1, column 35: sentinelEnabled: must be true or false, not a string\n" +
		"degrade[0] a: loaded\n"
	if code != 1 || stdout != want {
		t.Errorf("exit %d\n%swant\n%s", code, stdout, want)
	}
}

func TestRulesCheckOfSeveralFiles(t *testing.T) {
	t.Parallel()
	good, bad := file(t, "a.json", `[{"resource":"a"}]`), file(t, "b.json", `[{"resource":"b","grade":9}]`)
	code, stdout, _ := tidegate("rules", "check", good, bad)
	if code != 1 || stdout != "flow[0] a: loaded\nflow[0] b: refused: grade: 9 is not one of [0 1]\n" {
		t.Errorf("exit %d, %q", code, stdout)
	}
	code, stdout, stderr := tidegate("rules", "check", bad, filepath.Join(t.TempDir(), "absent.json"), good)
	if code != 2 || !strings.Contains(stderr, "absent.json") || !strings.Contains(stdout, "flow[0] a: loaded") {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	path := file(t, "a.json", "[]")
	for _, c := range []struct {
		args []string
		code int
		want string // in the output to stderr, or to stdout for code 0
	}{
		{nil, 2, "usage: tidegate COMMAND"},
		{[]string{"help"}, 0, "rules"},
		{[]string{"nothing"}, 2, `unknown command "nothing"`},
		{[]string{"rules"}, 2, "usage: tidegate rules COMMAND"},
		{[]string{"rules", "-h"}, 0, "convert"},
		{[]string{"rules", "check"}, 2, "usage: tidegate rules check"},
		{[]string{"rules", "check", "-kind", "water", path}, 2, "must be one of flow, degrade"},
		{[]string{"rules", "check", "-kind", "custom", path}, 2, "must be one of flow, degrade"},
		{[]string{"rules", "check", "-nothing", path}, 2, "-nothing"},
		{[]string{"rules", "convert", path}, 2, "-to is needed: name the form of the result\nusage: tidegate rules convert -to FORM"},
		{[]string{"gateway"}, 2, "usage: tidegate gateway -config FILE\n"},
		{[]string{"version", "x"}, 2, "usage: tidegate version\n"},
		{[]string{"rules", "convert", "-to", "xml", path}, 2, `unknown form "xml"`},
		{[]string{"rules", "convert", "-to", "arrays"}, 2, "usage: tidegate rules convert"},
	} {
		code, stdout, stderr := tidegate(c.args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) || code == 0 && stdout == "" {
			t.Errorf("%q: exit %d, %q, %q; want %d and %q", c.args, code, stdout, stderr, c.code, c.want)
		}
	}
	if code, _, stderr := tidegate("rules", "check", "-h"); code != 0 || !strings.Contains(stderr, "-kind") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func TestRulesConvert(t *testing.T) {
	t.Parallel()
	flow, degrade := file(t, "a.json", `[{"resource":"a","count":1}]`), file(t, "b.json", `[{"resource":"b","timeWindow":1}]`)
	code, stdout, stderr := tidegate("rules", "convert", "-to", "golang", flow)
	if code != 0 || !strings.Contains(stdout, `"threshold":1`) || stderr != "" {
		t.Errorf("one result: exit %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, stderr = tidegate("rules", "convert", "-to", "arrays", flow, degrade); code != 2 || stdout != "" || !strings.Contains(stderr, "-o") {
		t.Errorf("two results without -o: exit %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, _ = tidegate("rules", "convert", "-to", "document", flow, degrade); code != 0 || !strings.Contains(stdout, `"degradeRules": [`) {
		t.Errorf("two files to a document: exit %d, %q", code, stdout)
	}
	dir := filepath.Join(t.TempDir(), "new", "dir")
	if code, stdout, stderr = tidegate("rules", "convert", "-to", "golang", "-o", dir, flow, degrade); code != 0 || stdout+stderr != "" {
		t.Errorf("-o: exit %d, %q, %q", code, stdout, stderr)
	}
	for _, name := range []string{"flow.json", "circuitbreaker.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if code, stdout, _ = tidegate("rules", "convert", "-to", "arrays", "-kind", "isolation", flow); code != 0 || !strings.Contains(stdout, `"a"`) {
		t.Errorf("-kind: exit %d, %q", code, stdout)
	}
	if code, _, _ = tidegate("rules", "convert", "-to", "arrays", "-o", flow, degrade); code != 2 {
		t.Errorf("a file as directory: exit %d", code)
	}
	if code, _, stderr = tidegate("rules", "convert", "-to", "arrays", "-kind", "flow", file(t, "d.json", `{}`)); code != 2 || !strings.Contains(stderr, "unreadable") {
		t.Errorf("an object as array: exit %d, %q", code, stderr)
	}
}

func TestRulesConvertOfNothing(t *testing.T) {
	t.Parallel()
	for _, c := range [][]string{{"-to", "arrays"}, {"-to", "golang"}, {"-to", "arrays", "-kind", "authority"}, {"-to", "golang", "-kind", "param"}} {
		args := append(append([]string{"rules", "convert"}, c...), file(t, "a.json", "[]"))
		if code, stdout, stderr := tidegate(args...); code != 0 || stdout != "[]\n" || stderr != "" {
			t.Errorf("%q: exit %d, %q, %q", c, code, stdout, stderr)
		}
	}
}

func TestRulesConvertLosses(t *testing.T) {
	t.Parallel()
	path := file(t, "a.json", `[{"resource":"a","count":1},{"resource":"b","count":1,"limitApp":"x"}]`)
	code, stdout, stderr := tidegate("rules", "convert", "-to", "golang", path)
	if code != 1 || !strings.Contains(stderr, "flow[1] b: left out: limitApp: ") || !strings.Contains(stdout, `"a"`) || strings.Contains(stdout, `"b"`) {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	ours := file(t, "b.json", `[{"resource":"a","count":1,"statIntervalInMs":5000}]`)
	code, stdout, stderr = tidegate("rules", "convert", "-to", "arrays", ours)
	if code != 1 || !strings.Contains(stderr, "flow[0] a: statIntervalInMs: ") || !strings.Contains(stdout, `"statIntervalInMs":5000`) {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	if code, _, _ = tidegate("rules", "convert", "-to", "arrays", "-lossy", ours); code != 0 {
		t.Errorf("-lossy: exit %d", code)
	}
	code, _, stderr = tidegate("rules", "convert", "-to", "golang", "-lossy", path)
	if code != 0 || !strings.Contains(stderr, "limitApp") {
		t.Errorf("-lossy: exit %d, %q", code, stderr)
	}
}
