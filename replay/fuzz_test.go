package replay_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tidegate-go/tidegate/replay"
)

// FuzzScenario plays whatever can be read as a scenario: no input may make the decoder or the engine panic or hang.
func FuzzScenario(f *testing.F) {
	for _, name := range []string{
		"breaker-stale-completion", "interplay-two-waits", "prioritized-nodes", "param-negative-index", "system-load-bbr",
		"authority-list-edges", "switch-off", "stats-clock-jump-back", "throttle-fractional", "warmup-1-p1-never-passes", "flow-regex",
	} {
		text, err := os.ReadFile(filepath.Join("testdata/golden", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(scenario(passing, refused)))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := replay.Parse(text)
		if err != nil {
			return
		}
		r := replay.Verify(s, replay.Options{Strict: true, MaxCalls: 2000})
		if r.Verdict == replay.Passed && (r.Err != nil || len(r.Differences) > 0) {
			t.Errorf("passed with %v, %v", r.Err, r.Differences)
		}
	})
}
