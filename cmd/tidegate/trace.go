package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tidegate-go/tidegate/replay"
)

// traceCommand runs the subcommands for recorded scenarios.
func traceCommand(args []string, stdout, stderr io.Writer) int {
	return dispatch("tidegate trace", []command{
		{"verify", "replay recorded scenarios and compare the decisions", traceVerify},
	}, args, stdout, stderr)
}

// traceVerify replays the scenarios of a directory. It returns 0 if none failed, 1 if one did, 2 if the directory or
// the list of divergences cannot be read, or there is no scenario.
func traceVerify(args []string, stdout, stderr io.Writer) int {
	f := newFlags("trace verify", "[flags] DIR",
		"Replays every *.json file of the directory on an engine with a virtual clock. Prints each scenario that differs from\n"+
			"its recording, with the step (from 0) and both values, and last: N passed, M failed, K skipped.\n"+
			"Exits with 1 if a scenario failed, with 2 if the directory is unreadable or has none.", stderr)
	list := f.String("divergences", "", "`FILE` with the list of scenarios that are meant to differ, and how (default: the built-in list)")
	strict := f.Bool("strict", false, "ignore the list of divergences and count skipped scenarios as failed")
	if err := f.Parse(args); err != nil {
		return flagsFailed(err)
	}
	if f.NArg() != 1 {
		f.Usage()
		return exitUsage
	}
	options := replay.Options{Strict: *strict}
	if *list != "" {
		divergences, err := readDivergences(*list)
		if err != nil {
			say(stderr, "unreadable: %v", err)
			return exitUsage
		}
		options.Divergences = divergences
	}
	summary, err := replay.VerifyDir(f.Arg(0), options)
	if err != nil {
		say(stderr, "unreadable: %v", err)
		return exitUsage
	}
	if len(summary.Results) == 0 {
		say(stderr, "%s: there are no scenarios: no file is named *.json", f.Arg(0))
		return exitUsage
	}
	for _, r := range summary.Results {
		printResult(stdout, r)
	}
	say(stdout, "%s", summary)
	if summary.Failed > 0 {
		return exitFault
	}
	return exitOK
}

func readDivergences(path string) (*replay.Divergences, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	divergences, err := replay.ParseDivergences(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return divergences, nil
}

// printResult prints what is wrong with a scenario, nothing if it passed.
func printResult(w io.Writer, r replay.Result) {
	if r.Verdict == replay.Skipped {
		say(w, "%s: skipped: %s", r.Name, r.Reason)
	}
	if r.Verdict != replay.Failed {
		return
	}
	for _, difference := range r.Unexpected() {
		say(w, "%s: %v", r.Name, difference)
	}
	if r.Err != nil {
		say(w, "%s: failed: %v", r.Name, r.Err)
	}
}
