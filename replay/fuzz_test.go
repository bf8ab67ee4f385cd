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
		"interplay-two-waits", "system-several-rules", "param-thread-collections", "breaker-regex", "breaker-clock-back",
		"throttle-below-half-rejected-on-load", "warmup-throttle-zero-slope", "multi-rules-qps-thread",
	} {
		text, err := os.ReadFile(filepath.Join("testdata/golden", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(scenario(passing, refused)))
	f.Add([]byte(scenario(`{"atMs":1700000000400,"op":"burst","n":3,"resource":"r","prioritized":true,"everyMs":200,"expect":{}}`)))
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
