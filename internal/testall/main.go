// Testall runs the tests of every module of the repository and ends with one line that counts them all.
//
// It needs the go command and nothing else. From the repository's root:
//
//	go run ./internal/testall                 all tests with the race detector, then the allocation tests without it
//	go run ./internal/testall -fuzz 30s       each fuzz target of every module, 30 s long
//
// A module is a directory with a go.mod. Each is tested by itself (GOWORK=off), as its users build it. Without a
// C compiler the race detector cannot be used; the tests then run without it, and the output says so.
//
// The last line is "N passed, M failed, K skipped". It counts tests, fuzz targets' seeds and examples that have no
// subtests of their own; a package that does not build, or fails outside a test, counts as one failed test. The exit
// code is 1 if anything failed, if a module with tests executed none of them, or if there was no test at all.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	root := flag.String("root", ".", "the repository's root `directory`")
	timeout := flag.Duration("timeout", 15*time.Minute, "how long one package's tests may take")
	fuzz := flag.Duration("fuzz", 0, "instead of the tests, run each fuzz target for this `long`")
	flag.Parse()

	mods, err := findModules(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		os.Exit(2)
	}
	r := &runner{out: os.Stdout, goTest: execGo, timeout: *timeout}
	var ok bool
	if *fuzz > 0 {
		ok = r.fuzzAll(mods, *fuzz)
	} else {
		reason := probeRace()
		ok = r.testAll(mods, reason)
	}
	if !ok {
		os.Exit(1)
	}
}
