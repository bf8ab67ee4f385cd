package replay_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/tidegate-go/tidegate/replay"
)

var update = flag.Bool("update", false, "write what the engine decides into the steps of divergences.json")

// entry is an entry of divergences.json. Scenario, rows and reason are written by people; the steps are recorded by
// -update and then reviewed: each must follow from the rows.
type entry struct {
	Scenario string   `json:"scenario"`
	Rows     []string `json:"rows"`
	Reason   string   `json:"reason"`
	Steps    []ours   `json:"steps"`
}

type ours struct {
	Step int            `json:"step"`
	Op   string         `json:"op"`
	Ours map[string]any `json:"ours"`
}

func TestUpdateDivergences(t *testing.T) { //nolint:paralleltest // it writes the list that the other tests read
	if !*update {
		t.Skip("only with -update")
	}
	text, err := os.ReadFile("divergences.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []entry
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	out.WriteString("[\n")
	for i, e := range list {
		e.Steps = decisions(t, e.Scenario)
		if i > 0 {
			out.WriteString(",\n")
		}
		e.write(t, &out)
	}
	out.WriteString("\n]\n")
	if err := os.WriteFile("divergences.json", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// decisions returns what the engine decides otherwise than recorded.
func decisions(t *testing.T, scenario string) []ours {
	t.Helper()
	s, err := replay.Load(filepath.Join("testdata/golden", scenario+".json"))
	if err != nil {
		t.Fatal(err)
	}
	r := replay.Verify(s, replay.Options{Strict: true})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var steps []ours
	for _, d := range r.Differences {
		if n := len(steps); n == 0 || steps[n-1].Step != d.Step {
			steps = append(steps, ours{Step: d.Step, Op: d.Op, Ours: map[string]any{}})
		}
		steps[len(steps)-1].Ours[d.Field] = d.Got
	}
	return steps
}

// write writes the entry with one step per line.
func (e *entry) write(t *testing.T, out *bytes.Buffer) {
	t.Helper()
	line := func(v any) []byte {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		return bytes.TrimSpace(b.Bytes())
	}
	out.WriteString("{\"scenario\":")
	out.Write(line(e.Scenario))
	out.WriteString(",\n\"rows\":")
	out.Write(line(e.Rows))
	out.WriteString(",\n\"reason\":")
	out.Write(line(e.Reason))
	out.WriteString(",\n\"steps\":[")
	for i, s := range e.Steps {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(line(s))
	}
	out.WriteString("]}")
}
