package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// stored are the numbers to compare with. Another compiler or processor makes others.
type stored struct {
	Go           string         `json:"go"`
	Platform     string         `json:"platform"`
	Instructions map[string]int `json:"instructionsPerCall"`
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

func readStored(path string) (stored, error) {
	var s stored
	text, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("reading the stored numbers: %w", err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("reading the stored numbers in %s: %w", path, err)
	}
	return s, nil
}

// differs says why the numbers cannot be compared here, "" if they can.
func (s stored) differs() string {
	switch {
	case s.Go != runtime.Version():
		return fmt.Sprintf("the stored numbers are of %s, this is %s", s.Go, runtime.Version())
	case s.Platform != platform():
		return fmt.Sprintf("the stored numbers are of %s, this is %s", s.Platform, platform())
	}
	return ""
}

func (s stored) write(path string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the numbers: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the numbers: %w", err)
	}
	return nil
}
