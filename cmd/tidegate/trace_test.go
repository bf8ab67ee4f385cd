package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	agreeing = `{"name":"NAME","startMs":1000,"rules":{"flow":[{"resource":"r","count":1}]},"steps":[
{"atMs":1000,"op":"burst","n":2,"resource":"r","expect":{"pass":1,"wait":0,"block":1,"seq":"1p1b","by":"flow"}}]}`
	differing = `{"name":"NAME","startMs":1000,"steps":[
{"atMs":1000,"op":"enter","id":"a","resource":"r","autoExit":true,"expect":{"decision":"pass"}},
{"atMs":1000,"op":"enter","id":"b","resource":"r","autoExit":true,"expect":{"decision":"block","by":"flow","rule":0}}]}`
	listed = `[{"scenario":"differs","rows":["x"],"reason":"y","steps":[{"step":1,"op":"enter","ours":{"decision":"pass","by":null,"rule":null}}]}]`
)

// traces writes files into a new directory; in each text NAME becomes the file's name without its ending.
func traces(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		text = strings.ReplaceAll(text, "NAME", strings.TrimSuffix(name, ".json"))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTraceVerify(t *testing.T) {
	t.Parallel()
	agree := traces(t, map[string]string{"agrees.json": agreeing, "README.md": "not a scenario"})
	differ := traces(t, map[string]string{"agrees.json": agreeing, "differs.json": differing, "garbage.json": "{"})
	one := traces(t, map[string]string{"differs.json": differing})
	unknown := traces(t, map[string]string{"op.json": strings.ReplaceAll(agreeing, `"burst"`, `"flood"`), "member.json": strings.ReplaceAll(agreeing, `"n"`, `"often":1,"n"`)})
	list := filepath.Join(traces(t, map[string]string{"list.json": listed}), "list.json")
	for name, c := range map[string]struct {
		args  []string
		code  int
		lines []string // of standard output
	}{
		"agreement":         {[]string{agree}, 0, []string{"1 passed, 0 failed, 0 skipped"}},
		"golden":            {[]string{"../../replay/testdata/golden"}, 0, []string{"151 passed, 0 failed, 0 skipped"}},
		"difference":        {[]string{differ}, 1, []string{`differs: step 1 (enter b of r): decision: recorded "block", got "pass"`, "garbage: failed: ", "1 passed, 2 failed, 0 skipped"}},
		"unknown words":     {[]string{unknown}, 1, []string{`op: failed: step 0: unknown op "flood"`, `member: failed: step 0: burst: unknown member "often"`, "0 passed, 2 failed, 0 skipped"}},
		"listed":            {[]string{"-divergences", list, one}, 0, []string{"1 passed, 0 failed, 0 skipped"}},
		"listed but strict": {[]string{"-divergences", list, "-strict", one}, 1, []string{"0 passed, 1 failed, 0 skipped"}},
		"no directory":      {[]string{filepath.Join(agree, "none")}, 2, nil},
		"nothing to verify": {[]string{traces(t, map[string]string{"README.md": "not a scenario"})}, 2, nil},
		"no list":           {[]string{"-divergences", filepath.Join(agree, "none"), agree}, 2, nil},
		"broken list":       {[]string{"-divergences", filepath.Join(agree, "agrees.json"), agree}, 2, nil},
		"no argument":       {nil, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr strings.Builder
			code := run(append([]string{"trace", "verify"}, c.args...), &stdout, &stderr)
			if code != c.code {
				t.Errorf("exit code %d, want %d; %s", code, c.code, stderr.String())
			}
			for _, line := range c.lines {
				if !strings.Contains("\n"+stdout.String(), "\n"+line) {
					t.Errorf("no line begins with %q in\n%s", line, stdout.String())
				}
			}
			if n := len(c.lines); n > 0 && !strings.HasSuffix(stdout.String(), c.lines[n-1]+"\n") {
				t.Errorf("last line of\n%s is not %q", stdout.String(), c.lines[n-1])
			}
			if (stderr.Len() > 0) != (c.code == 2) {
				t.Errorf("on stderr: %q", stderr.String())
			}
		})
	}
}
