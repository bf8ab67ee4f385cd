package replay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidegate-go/tidegate/replay"
)

func divergences(t *testing.T, steps string) *replay.Divergences {
	t.Helper()
	d, err := replay.ParseDivergences([]byte(`[{"scenario":"t","rows":["x"],"reason":"y","steps":[` + steps + `]}]`))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDivergencesAreChecked(t *testing.T) {
	t.Parallel()
	differs := scenario(passing, strings.Replace(refused, `"flow"`, `"degrade"`, 1))
	for name, c := range map[string]struct {
		text, steps string
		verdict     replay.Verdict
		want        string
	}{
		"as listed":         {differs, `{"step":1,"op":"enter","ours":{"by":"flow"}}`, replay.Passed, ""},
		"other value":       {differs, `{"step":1,"op":"enter","ours":{"by":"system"}}`, replay.Failed, `by: recorded "degrade", got "flow", listed "system"`},
		"not listed":        {differs, `{"step":1,"op":"enter","ours":{"rule":3}}`, replay.Failed, `by: recorded "degrade", got "flow"`},
		"no longer differs": {scenario(passing, refused), `{"step":1,"op":"enter","ours":{"by":"flow"}}`, replay.Failed, "does not differ any more"},
		"wrong op":          {differs, `{"step":1,"op":"exit","ours":{"by":"flow"}}`, replay.Failed, "has not"},
		"no such step":      {differs, `{"step":1,"op":"enter","ours":{"by":"flow"}},{"step":2,"op":"enter","ours":{"by":"flow"}}`, replay.Failed, "has not"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := verify(t, c.text, replay.Options{Divergences: divergences(t, c.steps)})
			if r.Verdict != c.verdict {
				t.Errorf("%v (%v), want %v", r.Verdict, r.Err, c.verdict)
			}
			texts := []string{}
			for _, d := range r.Unexpected() {
				texts = append(texts, d.String())
			}
			if r.Err != nil {
				texts = append(texts, r.Err.Error())
			}
			if got := strings.Join(texts, "\n"); !strings.Contains(got, c.want) {
				t.Errorf("%s\nwant %q", got, c.want)
			}
			if strict := verify(t, c.text, replay.Options{Strict: true}); (strict.Verdict == replay.Passed) != (c.text != differs) {
				t.Errorf("strict: %v", strict.Verdict)
			}
		})
	}
}

func TestBrokenDivergences(t *testing.T) {
	t.Parallel()
	const step = `{"step":1,"op":"enter","ours":{"by":"flow"}}`
	for name, text := range map[string]string{
		"no list":      `{}`,
		"member":       `[{"scenario":"a","rows":["x"],"reason":"y","steps":[` + step + `],"note":""}]`,
		"no scenario":  `[{"rows":["x"],"reason":"y","steps":[` + step + `]}]`,
		"no rows":      `[{"scenario":"a","reason":"y","steps":[` + step + `]}]`,
		"no reason":    `[{"scenario":"a","rows":["x"],"reason":" ","steps":[` + step + `]}]`,
		"no steps":     `[{"scenario":"a","rows":["x"],"reason":"y"}]`,
		"empty step":   `[{"scenario":"a","rows":["x"],"reason":"y","steps":[{"step":1,"op":"enter","ours":{}}]}]`,
		"step twice":   `[{"scenario":"a","rows":["x"],"reason":"y","steps":[` + step + `,` + step + `]}]`,
		"listed twice": `[{"scenario":"a","rows":["x"],"reason":"y","steps":[` + step + `]},{"scenario":"a","rows":["x"],"reason":"y","steps":[` + step + `]}]`,
	} {
		if _, err := replay.ParseDivergences([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// The project's own list names only scenarios that exist, and as many as are meant to differ.
func TestOwnDivergences(t *testing.T) {
	t.Parallel()
	own, err := replay.Own()
	if err != nil {
		t.Fatal(err)
	}
	list := own.Scenarios()
	if len(list) != 41 {
		t.Errorf("%d scenarios are listed, want 41", len(list))
	}
	for _, d := range list {
		s, err := replay.Load(filepath.Join("testdata/golden", d.Scenario+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, row := range d.Rows {
			if strings.Contains(row, "-") && !strings.Contains(strings.Join(s.ReliesOn, " "), row) {
				t.Errorf("%s: has no tag %q", d.Scenario, row)
			}
		}
	}
}

func TestVerifyDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"agrees.json": scenario(passing, refused), "differs.json": scenario(refused), "garbage.json": "{", "notes.txt": "{",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	sum, err := replay.VerifyDir(dir, replay.Options{})
	if err != nil || sum.String() != "1 passed, 2 failed, 0 skipped" {
		t.Fatalf("%v, %v", sum, err)
	}
	if r := sum.Results[2]; r.File != "garbage.json" || r.Name != "garbage" || r.Err == nil {
		t.Errorf("%+v", r)
	}
	if _, err := replay.VerifyDir(filepath.Join(dir, "none"), replay.Options{}); err == nil {
		t.Error("no error for a directory that does not exist")
	}
}
