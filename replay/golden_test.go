package replay_test

import (
	"path/filepath"
	"testing"

	"github.com/tidegate-go/tidegate/replay"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/golden/*.json")
	if err != nil || len(files) != 151 {
		t.Fatalf("%d scenarios, %v; want 151", len(files), err)
	}
	for _, file := range files {
		s, err := replay.Load(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			r := replay.Verify(s, replay.Options{})
			if r.Verdict == replay.Skipped {
				t.Skip(r.Reason)
			}
			if r.Err != nil {
				t.Error(r.Err)
			}
			for _, d := range r.Unexpected() {
				t.Error(d)
			}
		})
	}
}
