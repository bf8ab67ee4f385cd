package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidegate-go/tidegate/benchmarks/guard"
	"github.com/tidegate-go/tidegate/benchmarks/rows"
)

// cases lists this project's cases on one resource; those on many differ by cache misses, not by instructions.
func cases() []string {
	alike := []string{"tidegate/no-rule-inbound-web", "tidegate/flow-reject-regex"} // as others here
	var names []string
	for _, c := range rows.Tidegate() {
		if c.Size() == 1 && !slices.Contains(alike, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// makeCalls makes the calls of a case in this process.
func makeCalls(name string, calls int) error {
	debug.SetGCPercent(-1)
	c, ok := guard.Find(rows.Tidegate(), name)
	if !ok {
		return fmt.Errorf("there is no case %q", name)
	}
	g, stop, err := c.New(c.Size())
	if err != nil {
		return fmt.Errorf("setting up %s: %w", name, err)
	}
	defer stop()
	nothing := func() error { return nil }
	for i := range c.Size() + calls {
		if (g.Do(0, uint64(i), nothing) != nil) != c.Refused {
			return fmt.Errorf("%s: a call was decided the other way", name)
		}
	}
	return nil
}

// perCall returns the slope between two numbers of calls.
func perCall(valgrind, name string) (int, error) {
	const few, many = 4_000, 16_000
	var low, high int
	var lowErr, highErr error
	var wg sync.WaitGroup
	wg.Go(func() { low, lowErr = count(valgrind, name, few) })
	wg.Go(func() { high, highErr = count(valgrind, name, many) })
	wg.Wait()
	return (high - low) / (many - few), errors.Join(lowErr, highErr)
}

// count returns the instructions of a process that makes so many calls. Valgrind now and then stumbles over the
// signals of Go's runtime, hence the repeats.
func count(valgrind, name string, calls int) (n int, err error) {
	for range 3 {
		if n, err = countOnce(valgrind, name, calls); err == nil {
			return n, nil
		}
	}
	return 0, err
}

func countOnce(valgrind, name string, calls int) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("finding this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "icount")
	if err != nil {
		return 0, fmt.Errorf("making room for callgrind: %w", err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command(valgrind, "--tool=callgrind", "--callgrind-out-file="+filepath.Join(dir, "out"),
		self, "-run", name, "-calls", strconv.Itoa(calls))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("counting %s: %w\n%s", name, err, output.Bytes())
	}
	found := regexp.MustCompile(`Collected : ([\d,]+)`).FindSubmatch(output.Bytes())
	if found == nil {
		return 0, fmt.Errorf("counting %s: callgrind told no number\n%s", name, output.Bytes())
	}
	return strconv.Atoi(strings.ReplaceAll(string(found[1]), ",", ""))
}
