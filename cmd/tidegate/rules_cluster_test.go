package main

import (
	"strings"
	"testing"
)

func TestRulesCheckOfClusterDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, content string
		code          int
		want          string
	}{
		{"cluster-map", `[{"machineId":"a@8719","ip":"10.0.0.1","port":18730,"clientSet":["b@8719"]}]`, 0, "cluster-map[0] a@8719: loaded\n"},
		{"cluster-map", `[]`, 0, ""},
		{"cluster-map", `[{"machineId":"a","ip":"i","port":1},{"machineId":"b","ip":"i","port":0,"x":1}]`, 1, "cluster-map[0] a: refused: another element is refused, and the list counts as a whole\n" +
			"cluster-map[1] b: refused: port: must be 1 to 65535, not 0\nwarning: cluster-map[1] b: unknown member \"x\" is ignored\n"},
		{
			"cluster-map", `[{"machineId":"a","ip":"i","port":1,"clientSet":["c"]},{"machineId":"b","ip":"i","port":2,"clientSet":["c"]}]`, 0,
			"warning: FILE: [1].clientSet[0]: \"c\" is a client of group 0 already, and asks that one\ncluster-map[0] a: loaded\ncluster-map[1] b: loaded\n",
		},
		{"cluster-map", `{}`, 2, ""},
		{"cluster-map", `null`, 2, ""},
		{"cluster-map", `[`, 2, ""},
		{"cluster-client", `{"requestTimeout":20}`, 0, "cluster-client[0] -: loaded\n"},
		{"cluster-client", `{}`, 1, "cluster-client[0] -: refused: requestTimeout: is needed: milliseconds that a call waits for the token server, for instance 20\n"},
		{"cluster-client", `[]`, 2, ""},
		{"cluster-assign", `{"serverHost":"h","port":1}`, 0, "cluster-assign[0] -: loaded\nwarning: cluster-assign[0] -: unknown member \"port\" is ignored\n"},
		{"cluster-assign", `{"serverHost":" "}`, 1, "cluster-assign[0] -: refused: serverHost: must not be blank\n"},
		{"cluster-transport", `{"port":18730,"idleSeconds":600}`, 0, "cluster-transport[0] -: loaded\n"},
		{"cluster-transport", `{"port":"18730"}`, 1, "cluster-transport[0] -: refused: port: must be a whole number, not a string\n"},
		{"cluster-flow", `{"intervalMs":1000,"sampleCount":10}`, 0, "cluster-flow[0] -: loaded\n"},
		{"cluster-flow", `{"intervalMs":1000,"sampleCount":7}`, 1, "cluster-flow[0] -: refused: sampleCount: 7 does not divide intervalMs 1000\n"},
		{"cluster-namespaces", `["a","b"]`, 0, "cluster-namespaces[0] a: loaded\ncluster-namespaces[1] b: loaded\n"},
		{"cluster-namespaces", `["a",5]`, 1, "cluster-namespaces[0] a: refused: another element is refused, and the list counts as a whole\ncluster-namespaces[1] -: refused: must be a string, not the number 5\n"},
		{"cluster-namespaces", ``, 2, ""},
	} {
		path := file(t, "doc.json", c.content)
		code, stdout, stderr := tidegate("rules", "check", "-kind", c.kind, path)
		if code != c.code || stdout != strings.ReplaceAll(c.want, "FILE", path) || (code == 2) != strings.Contains(stderr, "unreadable: "+path) {
			t.Errorf("%s %q: exit %d, %q, %q; want %d, %q", c.kind, c.content, code, stdout, stderr, c.code, c.want)
		}
	}
	path := file(t, "map.yaml", "- {machineId: a, ip: i, port: 1}\n")
	if code, stdout, _ := tidegate("rules", "check", "-kind", "cluster-map", path); code != 0 || stdout != "cluster-map[0] a: loaded\n" {
		t.Errorf("exit %d, %q", code, stdout)
	}
	if code, _, stderr := tidegate("rules", "check", "-kind", "cluster-map", file(t, "map.yaml", "- a: [\n"), "absent.json"); code != 2 || strings.Count(stderr, "unreadable") != 2 {
		t.Errorf("exit %d, %q", code, stderr)
	}
	if code, _, stderr := tidegate("rules", "check", "-kind", "cluster", path); code != 2 || !strings.Contains(stderr, "isolation, cluster-map") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func TestRulesCheckOfClusterMember(t *testing.T) {
	t.Parallel()
	path := file(t, "doc.yaml", `flowRules: [{resource: a}]
cluster:
  map:
  - {machineId: a, ip: i, port: 70000}
  clientConfig: {timeout: 5}
`)
	code, stdout, _ := tidegate("rules", "check", path)
	want := "warning: FILE: cluster: unknown member \"clientConfig.timeout\" is ignored\n" +
		"error: FILE: line 4, column 33: cluster: map[0].port: must be 1 to 65535, not 70000\n" +
		"error: FILE: line 5, column 17: cluster: clientConfig.requestTimeout: is needed: milliseconds that a call waits for the token server, for instance 20\n" +
		"flow[0] a: loaded\n"
	if code != 1 || stdout != strings.ReplaceAll(want, "FILE", path) {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	path = file(t, "doc.json", `{"cluster":{"mode":0,"assign":{"serverHost":"h"}}}`)
	if code, stdout, _ := tidegate("rules", "check", path); code != 0 || stdout != "" {
		t.Errorf("exit %d, %q", code, stdout)
	}
}
