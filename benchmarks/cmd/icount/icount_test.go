package main

import (
	"path/filepath"
	"runtime"
	"testing"
)

func TestStoredNumbers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "numbers.json")
	s := stored{Go: runtime.Version(), Platform: platform(), Instructions: map[string]int{"a": 7}}
	if err := s.write(path); err != nil {
		t.Fatal(err)
	}
	got, err := readStored(path)
	if err != nil || got.Instructions["a"] != 7 || got.differs() != "" {
		t.Errorf("read %+v (%v), differs: %q", got, err, got.differs())
	}
	got.Go = "go1.0"
	if got.differs() == "" {
		t.Error("numbers of another Go version are compared")
	}
}

func TestProjectNumbersKnowEveryCase(t *testing.T) {
	t.Parallel()
	s, err := readStored("../../instructions.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range cases() {
		if s.Instructions[name] == 0 {
			t.Errorf("no stored number for %s; run make instructions", name)
		}
	}
}

func TestMakeCalls(t *testing.T) {
	for _, name := range cases() {
		if err := makeCalls(name, 100); err != nil {
			t.Error(err)
		}
	}
}
