package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// execGo runs the go command in dir without a workspace.
func execGo(dir string, stdout, stderr io.Writer, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd.Run()
}

// probeRace builds and runs an empty program with the race detector, which is the only way to know that it works
// (it needs cgo, a C compiler and an address space it likes). It returns "" or why it does not work.
func probeRace() string {
	dir, err := os.MkdirTemp("", "testall")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	if err := writeProbe(dir); err != nil {
		return err.Error()
	}
	var out bytes.Buffer
	if err := execGo(dir, &out, &out, "run", "-race", "."); err != nil {
		return fmt.Sprintf("%s (%v)", strings.Join(strings.Fields(out.String()), " "), err)
	}
	return ""
}

func writeProbe(dir string) error {
	files := map[string]string{"go.mod": "module probe\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
